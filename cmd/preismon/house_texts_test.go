package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
)

// TestGlossaryIsShort: more words than these nobody learns. A row may have
// several, separated by commas.
func TestGlossaryIsShort(t *testing.T) {
	const most = 40
	text := must.Get(os.ReadFile(filepath.Join(rootFolder, "contracts", "glossary.md")))(t)
	terms := 0
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 4 && !strings.HasPrefix(cells[1], "-") && cells[1] != " Word " {
			terms += len(strings.Split(cells[1], ","))
		}
	}
	if terms < most/2 || terms > most {
		t.Errorf("the glossary has %d terms, at most %d", terms, most)
	}
}

// TestReadmeIsShort: the rest is in deploy/docs.
func TestReadmeIsShort(t *testing.T) {
	const most = 700
	text := must.Get(os.ReadFile(filepath.Join(rootFolder, "README.md")))(t)
	if n := len(strings.Fields(string(text))); n > most {
		t.Errorf("the README has %d words, at most %d", n, most)
	}
}

// TestFilesAreShort: a longer file says why, in its first comment.
func TestFilesAreShort(t *testing.T) {
	const most, reason = 400, "Long: "
	files := ownFiles(t, "*.go", "*.mjs", "*.js", "*.jsx")
	if len(files) < 500 {
		t.Fatalf("only %d files", len(files))
	}
	for _, name := range files {
		text := must.Get(os.ReadFile(filepath.Join(rootFolder, name)))(t)
		first, _, _ := strings.Cut(string(text), "import ")
		if lines := strings.Count(string(text), "\n"); lines > most && !strings.Contains(first, reason) {
			t.Errorf("%s has %d lines, at most %d, and its first comment gives no reason by %q", name, lines, most, reason)
		}
	}
}

// ownFiles returns the files of the tree whose names match, relative to its root.
func ownFiles(t *testing.T, patterns ...string) []string {
	cmd := exec.Command("git", append([]string{"ls-files", "--cached", "--others", "--exclude-standard"}, patterns...)...)
	cmd.Dir = rootFolder
	out := must.Get(cmd.Output())(t)
	return strings.Fields(string(out))
}
