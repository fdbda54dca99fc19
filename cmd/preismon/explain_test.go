package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
)

// explains: the read of a command is explained and not executed; a refusal is
// that of the command, and a command that reads nothing is not run.
func (d *demoTest) explains(t *testing.T) {
	p := d.within(t, "anna")
	for _, command := range []string{
		"results --site demo-markt-de.example --limit 7", "stream --site demo-markt-de.example", "stats --site demo-markt-de.example", "position",
		"changes --site demo-markt-de.example --follow", "items", "sites", "orders", "windows --site demo-markt-de.example --from 2026-01-01", "site-status", "order-status --files 2", "results --site demo-markt-de.example --format csv", "export", "lookup --item-id 1 --asin B000000001:de --timezone Europe/Berlin",
	} {
		out, errs := p.run(0, append([]string{"explain"}, strings.Fields(command)...)...)
		if !strings.HasPrefix(out, "request ") || !strings.Contains(out, "accepted            yes\n") || strings.Contains(out, `"itemId"`) || errs != "" {
			t.Errorf("%s: %s%s", command, out, errs)
		}
	}
	if out, _ := p.run(0, "explain", "results", "--site", "demo-markt-de.example", "--limit", "7"); !strings.Contains(out, "rows, at most       7\n") || !strings.Contains(out, "sealed              no\n") || !strings.Contains(out, "pairs   ") {
		t.Errorf("%s", out)
	}
	if out, _ := p.run(0, "explain", "lookup", "--item-id", "1", "--item-id", "2", "--asin", "B000000001:de"); !strings.Contains(out, "rows, at most       3\n") || !strings.Contains(out, "asins=B000000001%3Ade") {
		t.Errorf("a lookup: %s", out)
	}
	if _, errs := p.run(exitFailed, "explain", "lookup", "--ean", "x"); !strings.Contains(errs, "is not an EAN") {
		t.Errorf("a refused lookup: %s", errs)
	}
	many := filepath.Join(t.TempDir(), "eans")
	must.Do(t, os.WriteFile(many, []byte(strings.Repeat("4006381333931\n", 10_000)), 0o600))
	if _, errs := p.run(exitFailed, "explain", "lookup", "--file", many); !strings.Contains(errs, "too many identifiers to explain at once") {
		t.Errorf("of many: %s", errs)
	}
	if _, errs := p.run(exitFailed, "explain", "results", "--order-id", "x"); !strings.Contains(errs, "--order-id") || strings.Contains(errs, "orderId") {
		t.Errorf("%s", errs)
	}
	if out, errs, code := inProcess(t, "explain", strings.Join(append([]string{"sites"}, p.within...), " ")); code != 0 || !strings.HasPrefix(out, "request ") {
		t.Errorf("quoted: exit code %d: %s%s", code, out, errs)
	}
	for _, command := range []string{"up", "restore x", "login", "explain results", "no-such", "results --no-such"} {
		if out, errs, code := inProcess(t, "explain", command); code != exitUsage || out != "" || errs == "" {
			t.Errorf("%s: exit code %d: %s%s", command, code, out, errs)
		}
	}
}

// TestExplainOfParts: what a command reads in parts, because it is too broad for
// one request, is not refused; another command's is.
func TestExplainOfParts(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"request":%q,"accepted":false,"problem":{"code":"RESULTS_SCOPE_TOO_BROAD","detail":"Too much."},"narrower":["/v1/results?a","/v1/results?b"]}`, r.URL.Query().Get("path"))
	}))
	defer server.Close()
	const inOne = "As one request it is refused: Too much. (RESULTS_SCOPE_TOO_BROAD)\nThe command reads it in parts, like:\n  /v1/results?a\n  /v1/results?b\n"
	for _, c := range []struct {
		command, out, errs string
		code               int
	}{
		{"export --global-scope --from 2026-10-01 --to 2026-10-31", "accepted            in parts\n" + inOne, "", 0},
		{"results --site a", inOne, "", 0},
		{"movers --since 2026-10-01", "", "Too much.", exitFailed},
	} {
		out, errs, code := inProcess(t, append(append([]string{"explain"}, strings.Fields(c.command)...), "--url", server.URL, "--token", "any")...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) {
			t.Errorf("%s: exit code %d: %s%s", c.command, code, out, errs)
		}
	}
}
