package maps

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// TestSpread: excerpts are spread evenly over a text of any length, with the
// first at its beginning.
func TestSpread(t *testing.T) {
	const size, most = 8, 6
	for length := range 2000 {
		text := make([]byte, 0, length+8)
		for i := 0; len(text) < length; i += 8 {
			text = binary.BigEndian.AppendUint64(text, uint64(i))
		}
		kept := must.Get(spread(bytes.NewReader(text[:length]), size, most))(t)
		var at []uint64
		for _, e := range kept {
			if len(e) == size {
				at = append(at, binary.BigEndian.Uint64(e))
			}
		}
		if len(kept) > most || length >= size && (len(at) == 0 || at[0] != 0) || length > 4*size*most && len(at) < most/2 {
			t.Fatalf("of %d bytes: %v", length, at)
		}
		for i := range at {
			if len(at) > 1 && (at[i] != uint64(i)*at[1] || uint64(length) >= at[len(at)-1]+at[1]+size) {
				t.Fatalf("of %d bytes: %v", length, at)
			}
		}
	}
}

// TestGuessLooksEverywhere: a mapping also covers what shops write further down
// a long file: codes, forms of times, encoding, words for availability.
func TestGuessLooksEverywhere(t *testing.T) {
	var b strings.Builder
	b.WriteString("site,sku,ean,title,seen_at,price,available\n")
	for i := range 30_000 {
		fmt.Fprintf(&b, "first.example,A-%d,,Pen %d,2026-10-01T%02d:00:00Z,1.29,\n", i, i, i%24)
	}
	for i := range 10_000 {
		fmt.Fprintf(&b, "second.example,B-%d,4006381333931,Stift grün %d,2026-10-01 %02d:00:00,1.19,lieferbar\n", i, i, i%24)
	}
	for i := range 30_000 {
		fmt.Fprintf(&b, "third.example,C-%d,,\"Pen,\nlong\",2026-10-01T%02d:00:00Z,1.09,\n", i, i%24)
	}
	text := must.Get(charmap.Windows1252.NewEncoder().String(b.String()))(t)
	file := filepath.Join(t.TempDir(), "long.csv")
	must.Do(t, os.WriteFile(file, []byte(text), 0o644))
	g := must.Get(GuessMapping(file, "", time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)))(t)
	for _, line := range []string{`ean: "ean"`, `layouts: ["rfc3339", "datetime"]`, "encoding: windows-1252", `yes: ["lieferbar"]`, "zone: UTC"} {
		if !strings.Contains(string(g.Text), line) {
			t.Errorf("the mapping has no %s:\n%s", line, g.Text)
		}
	}
	if strings.Contains(string(g.Text), "lazyQuotes") { // all of them enclose fields
		t.Errorf("the mapping takes quotation marks as they come:\n%s", g.Text)
	}
	if all := strings.Join(g.Assumptions, "\n"); !strings.Contains(all, "several forms") || !strings.Contains(all, "have no zone") {
		t.Errorf("assumptions: %s", all)
	}
}

// TestGuessByRows: a guess is about the rows of a file: a line that is none does not
// count, and a value of one row does not outweigh those of many.
func TestGuessByRows(t *testing.T) {
	var b strings.Builder
	b.WriteString("Händler;SKU;Preis;Datum\n")
	for i := range 500 {
		if i == 250 {
			b.WriteString("-- Übertrag Seite 2 --\n\"-- Übertrag --\";-;;unbekannt\n")
		}
		fmt.Fprintf(&b, "shop-%d.de;A-%d;1,50;%d.11.2026\n", i%4, i, 20+i%3)
	}
	file := filepath.Join(t.TempDir(), "pages.csv")
	must.Do(t, os.WriteFile(file, []byte(b.String()), 0o644))
	g := must.Get(GuessMapping(file, "", time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)))(t)
	for _, line := range []string{`site: "Händler"`, `layouts: ["2.1.2006"]`} {
		if !strings.Contains(string(g.Text), line) {
			t.Errorf("the mapping has no %s:\n%s", line, g.Text)
		}
	}
}

// TestCurrencyMarks: what a mark is taken for is a currency that a mapping may
// name.
func TestCurrencyMarks(t *testing.T) {
	for mark, code := range currencyMarks {
		if code != crowns && !contracts.Currency(code).Valid() {
			t.Errorf("%s: %s is no currency", mark, code)
		}
		equals.Is(t, code, currencyOf(strings.ToLower(mark)+" *"), "%s", mark)
	}
}
