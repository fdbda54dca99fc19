package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// searches: products are found by words, and a search that finds nothing or is
// refused says what to do.
func (d *demoTest) searches(t *testing.T) {
	t.Run("search", func(t *testing.T) {
		p := d.within(t, "anna")
		whole, _ := p.run(0, "items")
		upper, _ := p.run(0, "items", "BRUMMER", "fernseher") // it is spelled Brümmer
		if n := strings.Count(upper, "\n"); n == 0 || n == strings.Count(whole, "\n") {
			t.Errorf("%d items of %d", n, strings.Count(whole, "\n"))
		}
		for line := range strings.Lines(upper) {
			if !strings.Contains(line, "Brümmer") || !strings.Contains(line, "Fernseher") || !strings.Contains(whole, line) {
				t.Errorf("found %s", line)
			}
		}
		_, behind, _ := strings.Cut(whole, `"ean":"`)
		ean, _, _ := strings.Cut(behind, `"`)
		coded := `"ean":"` + ean + `"` // several products may share it
		if by, _ := p.run(0, "items", ean); by == "" || strings.Count(by, "\n") != strings.Count(whole, coded) || strings.Count(by, coded) != strings.Count(whole, coded) {
			t.Errorf("by the EAN %s: %s", ean, by)
		}
		if two, _ := p.run(0, "items", "--limit", "2"); strings.Count(two, "\n") != 2 || !strings.HasPrefix(whole, two) {
			t.Errorf("two items: %s", two)
		}
		if one, _ := p.run(0, "position", "--limit", "1"); strings.Count(one, "\n") != 1 {
			t.Errorf("one position: %s", one)
		}
	})
	t.Run("nothing found", func(t *testing.T) {
		p := d.within(t, "anna")
		out, errs := p.run(0, "results", "--site", "demo-markt-de.example", "--from", "2001-01-01", "--to", "2001-01-02")
		if out != "" || !strings.Contains(errs, "from 2001-01-01T00:00:00.000Z to 2001-01-02T23:59:59.999Z.\nThe newest row is of 20") || !strings.Contains(errs, "try --from 20") {
			t.Errorf("%q, %s", out, errs)
		}
		for _, command := range [][]string{{"stream"}, {"export"}, {"export", "-o", filepath.Join(t.TempDir(), "none.csv")}} {
			out, errs := p.run(0, append(command, "--site", "demo-markt-de.example", "--from", "2001-01-01", "--to", "2001-01-02")...)
			if out != "" || !strings.Contains(errs, "Nothing was captured from 2001-01-01") || !strings.Contains(errs, "try --from 20") {
				t.Errorf("%s: %q, %q", command, out, errs)
			}
		}
		if _, errs := p.run(0, "results", "--global-scope", "--from", "2001-01-01", "--to", "2001-01-02"); !strings.Contains(errs, "The newest capture is of 20") || !strings.Contains(errs, "try --site ") {
			t.Errorf("of all: %s", errs)
		}
		if _, errs := p.run(0, "results", "--site", "no-such-site"); !strings.Contains(errs, "Nor at any other time") {
			t.Errorf("no such site: %s", errs)
		}
	})
	t.Run("flags in refusals", func(t *testing.T) {
		p := d.within(t, "anna")
		if _, errs := p.run(exitFailed, "results", "--order-id", "x"); !strings.Contains(errs, "--order-id") || strings.Contains(errs, "orderId") {
			t.Errorf("%s", errs)
		}
		file := filepath.Join(t.TempDir(), "x.parquet")
		if _, errs := p.run(exitFailed, "export", "-o", file, "--from", "2026-01-01"); !strings.Contains(errs, "or --global-scope with both bounds") || strings.Contains(errs, "globalScope") {
			t.Errorf("%s", errs)
		}
		if _, err := os.Stat(file + ".part"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("nothing was written, and a file is left: %v", err)
		}
		if _, errs := p.run(exitUsage, "results", "--limt", "3"); !strings.Contains(errs, "See `preismon results --help`") {
			t.Errorf("%s", errs)
		}
	})
}
