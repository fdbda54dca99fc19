package main

import (
	"strings"
	"testing"
)

// TestComplete: commands, flags and values are offered to the shells.
func TestComplete(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"logo":                        "logout",
		"history ":                    "download list",
		"history download 17 --ki":    "--kind",
		"history download 17 --kind ": "exports imports",
		"export --site a --format ":   "arrow auto csv ndjson parquet",
		"completion ":                 "bash fish zsh",
		"__comp":                      "",
		"results --site ":             "",
	} {
		out, errs, code := inProcess(t, append([]string{"__complete", "--"}, strings.Split(line, " ")...)...)
		if got := strings.Join(strings.Fields(out), " "); got != want || code != 0 {
			t.Errorf("%q: %q, want %q: %d %s", line, got, want, code, errs)
		}
	}
}
