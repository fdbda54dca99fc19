package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"

	"preismon/deploy/testserver/must"
)

// TestListsOfIdentifiers: files that programs of Windows wrote are read like
// others: with a byte order mark, with carriage returns, in UTF-16.
func TestListsOfIdentifiers(t *testing.T) {
	want := []string{"4006381333931", "4006381333948"}
	plain := want[0] + "\r\n\r\n" + want[1] + "\r\n"
	wide := must.Get(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(plain))(t)
	for _, text := range []string{plain, "\ufeff" + plain, wide} {
		found, err := (&lookupCmd{File: "-", Kind: "ean"}).identifiers(strings.NewReader(text))
		if err != nil || !slices.Equal(found, []identifier{{"ean", want[0], 1}, {"ean", want[1], 3}}) {
			t.Errorf("lookup of %q: %v, %v", text, found, err)
		}
		name := filepath.Join(t.TempDir(), "items.txt")
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
		if all, err := listed("--add-items", []string{"@" + name}); err != nil || !slices.Equal(all, want) {
			t.Errorf("--add-items of %q: %q, %v", text, all, err)
		}
	}
}
