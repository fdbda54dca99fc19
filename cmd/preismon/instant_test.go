package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestHoursAndDaysAgo: commands take times like now-24h and now-7d. Movers since
// then end now, so that seven days are not more than the 168 hours that the server
// allows; of a longer time the refusal says what can be given.
func TestHoursAndDaysAgo(t *testing.T) {
	t.Parallel()
	var asked url.Values
	refused := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked == nil { // the first request of a command
			asked = r.URL.Query()
		}
		if refused {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"code":"RESULTS_SCOPE_TOO_BROAD","detail":"since lies too long before until."}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"data":[],"paging":{},"query":{"token":"t"}}`)
	}))
	defer server.Close()
	for _, c := range []struct {
		command, parameter string
		want               time.Duration // before now; -1: the text as it is
	}{
		{"movers --since now-7d", "since", 168 * time.Hour},
		{"movers --since now-7d", "until", 0},
		{"movers --since now-7d --until now-24h", "until", 24 * time.Hour},
		{"movers --since 2026-03-01", "since", -1},
		{"stats --from now-2d --to now-3h", "capturedFrom", 48 * time.Hour},
		{"stats --from now-2d --to now-3h", "capturedTo", 3 * time.Hour},
		{"results --from now-2d", "capturedFrom", 48 * time.Hour},
		{"windows --from now-2d", "capturedFrom", 48 * time.Hour},
		{"item-summary 1 --from now-2d --to now-1h", "capturedTo", time.Hour},
		{"history list 1 --from now-2d", "dateFrom", 48 * time.Hour},
	} {
		asked = nil
		_, errs, code := inProcess(t, append(strings.Fields(c.command), "--url", server.URL, "--token", "any", "--format", "ndjson")...)
		got := asked.Get(c.parameter)
		at, err := time.Parse(time.RFC3339, got)
		if off := time.Since(at) - c.want; code != 0 || c.want >= 0 && (err != nil || off < 0 || off > time.Minute) || c.want < 0 && got != "2026-03-01" {
			t.Errorf("%s: %s is %q, exit code %d: %s", c.command, c.parameter, got, code, errs)
		}
	}
	refused = true
	_, errs, _ := inProcess(t, "movers", "--since", "2026-03-01", "--url", server.URL, "--token", "any")
	if !strings.Contains(errs, "Give --site, --item-id or --order-id, or a later --since: now-7d is") {
		t.Errorf("%s", errs)
	}
}
