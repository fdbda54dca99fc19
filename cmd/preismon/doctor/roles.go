package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// role is what a process reports at its admin address, and what was found there.
type role struct {
	at     string
	found  []Finding
	Ready  bool
	Checks map[string]string
	About  struct {
		Keys *Keys
	}
}

// Keys are the ids of a query node's keys, the one that signs or seals first. An
// id identifies a key and reveals nothing of its content.
type Keys struct {
	Token  []string `json:"token"`
	Cursor []string `json:"cursor"`
}

// roles checks each process: whether it is ready, its open files and its
// archives; then whether the query nodes among them have the same keys.
func (s *Site) roles(ctx context.Context) (found []Finding) {
	var nodes []role
	for _, r := range each(s.Admins, func(at string) role { return s.role(ctx, at) }) {
		found = append(found, r.found...)
		if r.About.Keys != nil {
			nodes = append(nodes, r)
		}
	}
	switch {
	case len(nodes) > 0:
		return append(found, keys(nodes)...)
	case len(s.Nodes) > 0:
		return append(found, one("keys", Unknown, s.command("doctor --admin URL")+" # of each query node", "no query node was asked at its admin address")...)
	}
	return found
}

// role reads what a process reports about itself, ready or not, and checks it.
func (s *Site) role(ctx context.Context, at string) role {
	r := role{at: at}
	body, err := ask(ctx, at+"/readyz", http.StatusOK, http.StatusServiceUnavailable)
	if err == nil {
		err = json.Unmarshal(body, &r)
	}
	if err != nil {
		return role{at: at, found: one("role", Bad, "preismon health --admin-listen "+host(at)+" # on its machine", "%s: %v", at, err)}
	}
	r.found = append(r.ready(), openFiles(ctx, at)...)
	if r.About.Keys != nil {
		r.found = append(r.found, s.archives(r)...)
	}
	return r
}

func (r role) ready() []Finding {
	const check = "role"
	if r.Ready {
		return one(check, OK, "", "%s is ready", r.at)
	}
	var lacks []string
	for _, name := range slices.Sorted(maps.Keys(r.Checks)) {
		if says := r.Checks[name]; says != "ok" {
			lacks = append(lacks, name+": "+says)
		}
	}
	return one(check, Bad, "curl -sS "+r.at+"/readyz # and see its log", "%s is not ready: %s", r.at, strings.Join(lacks, "; "))
}

// archives checks those of a query node.
func (s *Site) archives(r role) (found []Finding) {
	for _, name := range slices.Sorted(maps.Keys(r.Checks)) {
		if !strings.HasPrefix(name, "archive") {
			continue
		}
		if says := r.Checks[name]; says != "ok" {
			found = append(found, one(name, Bad, s.archivesCommand("audit --archives")+" # once it can be reached, and --archive of the node is right", "%s cannot read it: %s", r.at, says)...)
			continue
		}
		found = append(found, one(name, OK, "", "%s can read it", r.at)...)
	}
	if found == nil {
		return one("archive", Warning, "preismon query --archive PLACE ...", "%s has none: it can send no archived file", r.at)
	}
	return found
}

// keys compares those of the query nodes: each must accept what any other signs
// or seals. Nodes that sign differently but accept each other's keys are in the
// middle of a rotation.
func keys(nodes []role) []Finding {
	const check = "keys"
	const mend = "preismon query --token-key FILE --cursor-key KEY --verify-keys FILE --verify-cursor-keys KEY ... # the same keys for all query nodes, the others to verify while a key is rotated"
	var found []Finding
	rotates := false
	for _, a := range nodes {
		for _, b := range nodes {
			rotates = rotates || !slices.Equal(a.About.Keys.Token, b.About.Keys.Token) || !slices.Equal(a.About.Keys.Cursor, b.About.Keys.Cursor)
			if !takes(b.About.Keys.Token, a.About.Keys.Token) {
				found = append(found, one(check, Bad, mend, "%s refuses the tokens that %s gives: it knows no key %s", b.at, a.at, first(a.About.Keys.Token))...)
			}
			if !takes(b.About.Keys.Cursor, a.About.Keys.Cursor) {
				found = append(found, one(check, Bad, mend, "%s refuses the cursors and logins of agents that %s gives: it knows no key %s", b.at, a.at, first(a.About.Keys.Cursor))...)
			}
		}
	}
	switch {
	case found != nil:
		return found
	case rotates:
		return one(check, OK, "", "of %d query nodes; they differ, and each takes what the others sign: a rotation is under way", len(nodes))
	}
	const same = "of %d query nodes, the same on each"
	if k := nodes[0].About.Keys; len(k.Token) > 1 || len(k.Cursor) > 1 {
		return one(check, OK, "", same+"; verified only: %s. Drop a token key --token-lifetime after it signed last, and a cursor key after 30 days", len(nodes),
			strings.Join(slices.Concat(k.Token[min(1, len(k.Token)):], k.Cursor[min(1, len(k.Cursor)):]), ", "))
	}
	return one(check, OK, "", same, len(nodes))
}

// takes reports whether a node that knows keys accepts what the first of others signs.
func takes(knows, others []string) bool {
	return len(others) > 0 && slices.Contains(knows, others[0])
}

// host returns the address of a URL.
func host(at string) string {
	if u, err := url.Parse(at); err == nil && u.Host != "" {
		return u.Host
	}
	return at
}

func first(ids []string) string {
	if len(ids) == 0 {
		return "at all"
	}
	return ids[0]
}

// openFiles checks how many more files a process may open; sockets count too.
func openFiles(ctx context.Context, at string) []Finding {
	const check = "open files"
	body, err := ask(ctx, at+"/metrics", http.StatusOK)
	if err != nil {
		return one(check, Unknown, "curl -sS "+at+"/metrics", "%v", err)
	}
	open, most, err := parseFiles(body)
	if err != nil {
		return one(check, Unknown, "curl -sS "+at+"/metrics", "%s: %v", at, err)
	}
	return one(check, beyond(open/most, 0.7, 0.9), "ulimit -n 65536 # before it starts; ss -tnp shows who holds so many connections", "%s has %.0f of at most %.0f", at, open, most)
}

// parseFiles parses the two gauges as Prometheus' client writes them: a name and
// a number.
func parseFiles(metrics []byte) (open, most float64, err error) {
	for line := range strings.Lines(string(metrics)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "process_open_fds":
			open, err = strconv.ParseFloat(value, 64)
		case "process_max_fds":
			most, err = strconv.ParseFloat(value, 64)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	if most == 0 {
		return 0, 0, errors.New("this system does not report how many files a process has open")
	}
	return open, most, nil
}

// ask returns the body of an answer that has one of the statuses.
func ask(ctx context.Context, url string, statuses ...int) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err == nil && !slices.Contains(statuses, resp.StatusCode) {
		err = fmt.Errorf("%s: %s", url, resp.Status)
	}
	return body, err
}
