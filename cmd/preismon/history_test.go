package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHistoryByAlias: the files of an order are found by its alias, if one order
// has it.
func TestHistoryByAlias(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/v1/orders":
			fmt.Fprint(w, map[string]string{
				"main": `{"data":[{"orderId":"7"}],"paging":{}}`, "both": `{"data":[{"orderId":"7"},{"orderId":"8"}],"paging":{}}`,
			}[r.URL.Query().Get("alias")])
		case "/v1/orders/7/exports/history":
			fmt.Fprint(w, `{"data":[{"name":"a"}],"paging":{}}`)
		case "/v1/orders/7/exports/history/download":
			fmt.Fprint(w, "text")
		case "/ext/v1/explain":
			fmt.Fprintf(w, `{"request":%q,"accepted":true}`, r.URL.Query().Get("path"))
		default:
			t.Errorf("asked for %s", r.URL)
		}
	}))
	defer server.Close()
	for _, c := range []struct{ command, out, says string }{
		{"history list main", `{"name":"a"}`, ""},
		{"history list 7", `{"name":"a"}`, ""},
		{"history download main -o -", "text", ""},
		{"explain history list main", "/v1/orders/7/exports/history", ""},
		{"history list both", "", `order: 2 orders have the alias "both"; preismon orders shows the id of each`},
	} {
		out, errs, code := inProcess(t, append(strings.Fields(c.command), "--url", server.URL, "--token", "any")...)
		if (code != 0) != (c.says != "") || !strings.Contains(out, c.out) || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit code %d: %s%s", c.command, code, out, errs)
		}
	}
}
