package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
)

// TestChecklistNamesTests: each line of the security checklist names tests, and
// each of these tests exists.
func TestChecklistNamesTests(t *testing.T) {
	text := must.Get(os.ReadFile("../../deploy/docs/reference/security-checklist.md"))(t)
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	known := map[string]bool{}
	must.Do(t, filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(source, -1) {
			known[string(m[1])] = true
		}
		return err
	}))
	lines := 0
	named := regexp.MustCompile(`\b(?:Test|Fuzz)\w+`)
	for _, row := range regexp.MustCompile(`(?m)^\| \d+ \|.*$`).FindAllString(string(text), -1) {
		lines++
		tests := named.FindAllString(row, -1)
		if len(tests) == 0 {
			t.Errorf("no test: %s", row)
		}
		for _, name := range tests {
			if !known[name] {
				t.Errorf("there is no %s: %s", name, row)
			}
		}
	}
	if lines != 40 {
		t.Errorf("%d lines, the checklist has 40", lines)
	}
}
