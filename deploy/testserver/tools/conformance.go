package tools

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Conformance is a run of the MCP conformance suite. It compares how scenarios
// end with the list in a file. The list has a line for each scenario, and one
// for each of its checks that does not apply:
//
//	tools-list
//	tools-list some-check: why it does not apply
//	ping: why none of its checks applies
//
// A scenario that is not in the list, or that is but did not run, fails the
// test, as does one that does not apply but passes. Checks that the suite skips
// or warns about count as failed. Lines with # are comments.
type Conformance struct {
	Of     string   // what is tested: "server" or "authorization"
	Args   []string // which one, and which scenarios
	List   string
	Partly bool      // scenarios that are not in the list do not matter
	Output io.Writer // receives the suite's output while it runs
}

// Run fails the test if the suite and the list disagree.
func (c Conformance) Run(tb testing.TB) {
	tb.Helper()
	c.judge(tb, c.run(tb))
}

// run returns the checks of each scenario that has run.
func (c Conformance) run(tb testing.TB) map[string][]conformanceCheck {
	tb.Helper()
	results := tb.TempDir()
	run := Node(tb, append([]string{Program(tb, "conformance"), c.Of, "-o", results}, c.Args...)...)
	var out bytes.Buffer
	run.Dir, run.Stdout, run.Stderr = results, &out, &out
	if c.Output != nil {
		run.Stdout = io.MultiWriter(&out, c.Output)
	}
	err := run.Run() // fails if a scenario does
	ended := conformanceResults(tb, results)
	if len(ended) == 0 {
		tb.Fatalf("no scenario has run: %v\n%s", err, out.String())
	}
	return ended
}

func (c Conformance) judge(tb testing.TB, ended map[string][]conformanceCheck) {
	tb.Helper()
	listed, excused := conformanceList(tb, c.List)
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if _, run := ended[name]; !run {
			tb.Errorf("%s: %s has not run", c.List, name)
		}
	}
	scenarios, checks, inapplicable := 0, 0, 0
	for _, name := range slices.Sorted(maps.Keys(ended)) {
		if !listed[name] {
			if c.Partly {
				continue
			}
			tb.Errorf("%s does not list %s", c.List, name)
		}
		passed, not := compareChecks(tb, name, ended[name], excused[name])
		scenarios, checks, inapplicable = scenarios+1, checks+passed, inapplicable+not
	}
	tb.Logf("conformance: %s: %d scenarios, %d checks pass, %d do not apply", filepath.Base(c.List), scenarios, checks, inapplicable)
}

// conformanceCheck is what the suite reports about one check.
type conformanceCheck struct {
	ID      string `json:"id"`
	Status  string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED, INFO
	Message string `json:"errorMessage"`
}

// compareChecks requires that checks with a reason do not pass, and all others
// do. The empty id is a reason for all of them except one: messages always
// follow the schema. It returns the number of those that pass, and of those that
// do not and need not.
func compareChecks(tb testing.TB, scenario string, checks []conformanceCheck, excused map[string]bool) (passed, inapplicable int) {
	tb.Helper()
	failed := map[string]bool{}
	for _, c := range checks {
		switch {
		case c.Status == "SUCCESS":
			passed++
		case c.Status == "INFO":
		case !excused[c.ID] && (!excused[""] || c.ID == "wire-schema-valid"):
			tb.Errorf("%s: %s is %s: %s", scenario, c.ID, c.Status, c.Message)
			failed[c.ID] = true
		default:
			failed[c.ID] = true
			inapplicable++
		}
	}
	if passed == 0 && len(failed) == 0 && !excused[""] {
		tb.Errorf("%s: no check has passed: %+v", scenario, checks)
	}
	for id := range excused {
		if id == "" && len(failed) == 0 && passed > 0 || id != "" && !failed[id] {
			tb.Errorf("%s %s: passes, and the list says that it does not apply", scenario, id)
		}
	}
	return passed, inapplicable
}

// conformanceResults reads the checks of each scenario, which are in folders
// named server-SCENARIO-TIME or authorization-server-SCENARIO-TIME.
func conformanceResults(tb testing.TB, folder string) map[string][]conformanceCheck {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*server-*", "checks.json"))
	if err != nil {
		tb.Fatal(err)
	}
	ended := map[string][]conformanceCheck{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		_, name, _ := strings.Cut(filepath.Base(filepath.Dir(file)), "server-")
		name = name[:len(name)-len("-2006-01-02T15-04-05-000Z")]
		var checks []conformanceCheck
		if err := json.Unmarshal(text, &checks); err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		ended[name] = checks
	}
	return ended
}

func conformanceList(tb testing.TB, file string) (listed map[string]bool, excused map[string]map[string]bool) {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	listed, excused = map[string]bool{}, map[string]map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		what, reason, _ := strings.Cut(line, ": ")
		scenario, check, _ := strings.Cut(what, " ")
		if reason == "" && check != "" || excused[scenario][check] {
			tb.Errorf("%s: %q has no reason, or stands there twice", file, line)
		}
		listed[scenario] = true
		if reason == "" {
			continue
		}
		if excused[scenario] == nil {
			excused[scenario] = map[string]bool{}
		}
		excused[scenario][check] = true
	}
	return listed, excused
}
