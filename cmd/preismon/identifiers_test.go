package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestListsOfIdentifiers: files that editors of Windows wrote are read like
// others, with the byte order mark before them and carriage returns in them.
func TestListsOfIdentifiers(t *testing.T) {
	const text = "\ufeff4006381333931\r\n\r\n4006381333948\r\n"
	want := []string{"4006381333931", "4006381333948"}
	found, err := (&lookupCmd{File: "-", Kind: "ean"}).identifiers(strings.NewReader(text))
	if err != nil || !slices.Equal(found, []identifier{{"ean", want[0]}, {"ean", want[1]}}) {
		t.Errorf("lookup: %q, %v", found, err)
	}
	name := filepath.Join(t.TempDir(), "items.txt")
	must(t, os.WriteFile(name, []byte(text), 0o600))
	if all, err := listed("--add-items", []string{"@" + name}); err != nil || !slices.Equal(all, want) {
		t.Errorf("--add-items: %q, %v", all, err)
	}
}
