package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGlossaryIsShort: more words than these nobody learns. A row may have
// several, separated by commas.
func TestGlossaryIsShort(t *testing.T) {
	const most = 40
	text, err := os.ReadFile(filepath.Join(rootFolder, "contracts", "glossary.md"))
	must(t, err)
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
	text, err := os.ReadFile(filepath.Join(rootFolder, "README.md"))
	must(t, err)
	if n := len(strings.Fields(string(text))); n > most {
		t.Errorf("the README has %d words, at most %d", n, most)
	}
}
