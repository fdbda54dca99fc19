// Package chromium opens pages in a real browser with scripts for Playwright,
// and reports what is wrong with them. A script is a file of the test; what all
// of them share is harness.mjs, which they import as './harness.mjs'.
package chromium

import (
	_ "embed"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"preismon/deploy/testserver/tools"
)

//go:embed harness.mjs
var harness []byte

var screenshots = flag.String("screenshots", "", "folder for pictures of the pages that browsers show")

// Run runs a script, which gets the plan as JSON. Each problem that it
// reports fails the test; its other output is decoded into said, unless that is nil.
func Run(tb testing.TB, script string, plan, said any) {
	tb.Helper()
	program := tools.Chromium(tb)
	argument, err := json.Marshal(plan)
	if err != nil {
		tb.Fatal(err)
	}
	pictures := *screenshots
	if pictures != "" {
		if pictures, err = filepath.Abs(pictures); err != nil {
			tb.Fatal(err)
		}
	}
	dir := tools.Scripts(tb, filepath.Dir(script))
	if err := os.WriteFile(filepath.Join(dir, "harness.mjs"), harness, 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), "node", filepath.Join(dir, filepath.Base(script)), program, pictures, string(argument))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("%s: %v\n%s", script, err, stderr.String())
	}
	var found struct {
		Failures []string
		Said     json.RawMessage
	}
	err = json.Unmarshal(out, &found)
	if err == nil && said != nil {
		err = json.Unmarshal(found.Said, said)
	}
	if err != nil {
		tb.Fatalf("%s: %v: %s", script, err, out)
	}
	for _, f := range found.Failures {
		tb.Error(f)
	}
}
