package prometheus_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
)

// TestRunbookAddress: the command of the how-to puts an address into the link
// of every alert, and changes nothing else in the rules.
func TestRunbookAddress(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile("../docs/how-to/watch.md"))(t)
	command := regexp.MustCompile("```sh\n(sed .*)\n```").FindSubmatch(text)
	rules, err := os.ReadFile("alerts.yml")
	if command == nil || err != nil {
		t.Fatalf("command %q, %v", command, err)
	}
	root := t.TempDir()
	file := filepath.Join(root, "deploy", "prometheus", "alerts.yml")
	must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must.Do(t, os.WriteFile(file, rules, 0o644))
	run := exec.CommandContext(t.Context(), "sh", "-c", string(command[1]))
	run.Dir = root
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := must.Get(os.ReadFile(file))(t)
	if want := strings.ReplaceAll(string(rules), "https://prices.example.com", "https://prices.example.org"); string(got) != want || strings.Count(want, "prices.example.org/docs/runbook#") < 15 {
		t.Errorf("the rules are now\n%s", got)
	}
}
