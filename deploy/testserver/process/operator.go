package process

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

var operator = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Ask sends a request to the operators' surface. If it does not answer, the
// status is 0 and the body says why.
func (r *Role) Ask(path string) (status int, body string) {
	ctx, cancel := context.WithTimeout(context.Background(), r.Asks)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.Admin()+path, nil)
	if err != nil {
		return 0, err.Error()
	}
	resp, err := operator.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// Ready reports whether the role says that it is ready.
func (r *Role) Ready() bool {
	status, _ := r.Ask("/readyz")
	return status == http.StatusOK
}

// Leads reports whether a projector says that it leads.
func (r *Role) Leads() bool { return r.Metrics()["preismon_projector_leader"] == 1 }

// Metrics returns them by name and labels; nil if the role does not answer.
func (r *Role) Metrics() map[string]float64 {
	status, text := r.Ask("/metrics")
	if status != http.StatusOK {
		return nil
	}
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		end := max(0, strings.LastIndexByte(line, ' '))
		if v, err := strconv.ParseFloat(strings.TrimSpace(line[end:]), 64); err == nil {
			all[line[:end]] = v
		}
	}
	return all
}

var goroutineTotal = regexp.MustCompile(`^goroutine profile: total (\d+)`)

// Goroutines returns the number of those of the process; -1 if it does not answer.
func (r *Role) Goroutines() int {
	_, body := r.Ask("/debug/pprof/goroutine?debug=1")
	if m := goroutineTotal.FindStringSubmatch(body); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return -1
}
