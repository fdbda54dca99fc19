package main

import (
	"strings"
	"testing"
)

// explains: the read of a command is explained and not executed; a refusal is
// that of the command, and a command that reads nothing is not run.
func (d *demoTest) explains(t *testing.T) {
	p := d.within(t, "anna")
	for _, command := range []string{
		"results --site demo-markt-de.example --limit 7", "stream --site demo-markt-de.example", "stats --site demo-markt-de.example", "position",
		"changes --site demo-markt-de.example --follow", "items", "sites", "orders", "windows --site demo-markt-de.example --from 2026-01-01", "site-status", "order-status --files 2", "results --site demo-markt-de.example --format csv", "export",
	} {
		out, errs := p.run(0, append([]string{"explain"}, strings.Fields(command)...)...)
		if !strings.HasPrefix(out, "request ") || !strings.Contains(out, "accepted            yes\n") || strings.Contains(out, `"itemId"`) || errs != "" {
			t.Errorf("%s: %s%s", command, out, errs)
		}
	}
	if out, _ := p.run(0, "explain", "results", "--site", "demo-markt-de.example", "--limit", "7"); !strings.Contains(out, "rows, at most       7\n") || !strings.Contains(out, "sealed              no\n") || !strings.Contains(out, "pairs   ") {
		t.Errorf("%s", out)
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
