package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestReasonsForNoRows: positions and statistics without a record say what was
// looked at, and the likely reason, also where the answer is not a table.
func TestReasonsForNoRows(t *testing.T) {
	t.Parallel()
	newest := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch row := `{"capturedAt":"` + newest + `"}`; {
		case r.URL.Path != "/v1/results" || newest == "":
			fmt.Fprint(w, `{"data":[],"paging":{},"query":{}}`)
		case r.URL.Query().Get("capturedFrom") == "1970-01-02":
			fmt.Fprintf(w, `{"data":[%s],"paging":{},"query":{}}`, row)
		default:
			fmt.Fprint(w, `{"data":[],"paging":{},"query":{"capturedFrom":"2026-10-01T00:00:00.000Z","capturedTo":null}}`)
		}
	}))
	defer server.Close()
	recent := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	for _, c := range []struct{ command, newest, says string }{
		{"position --site a", "", "Your reference prices were compared with offers captured in the last 168 hours.\nNothing was captured at any time, as far as you can see.\n"},
		{"position --site a", "2026-01-01T00:00:00.000Z", "The newest capture is of 2026-01-01T00:00:00.000Z, which is older.\n"},
		{"position --site a", recent, "Probably none of the products has a reference price: `preismon ingest` publishes them; --own-site and --own-merchant compare offers instead.\n"},
		{"position --site a --own-site b", recent, "The offers at b were compared with offers captured in the last 168 hours.\nProbably none of them is current, or nobody else has a current offer.\n"},
		{"position --site a --own-merchant Me", recent, "The offers of Me were compared"},
		{"stats --site a", recent, "Nothing was captured from 2026-10-01T00:00:00.000Z to now.\nThe newest row is of " + recent},
	} {
		newest = c.newest
		for _, format := range []string{"table", "ndjson"} {
			out, errs, code := inProcess(t, append(strings.Fields(c.command), "--format", format, "--url", server.URL, "--token", "any")...)
			if code != 0 || out != "" || !strings.Contains(errs, c.says) || strings.Contains(errs, "No rows.") != (format == "table") {
				t.Errorf("%s, %s: exit code %d: %s%s", c.command, format, code, out, errs)
			}
		}
	}
}
