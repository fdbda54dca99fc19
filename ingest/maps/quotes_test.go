package maps_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/ingest/maps"
)

// TestStrayQuotesLoseNoLine: a text that begins with a quotation mark holds no
// other line, and one that is enclosed, also over several lines, stays one; a
// line that cannot be told from it is rejected by its number.
func TestStrayQuotesLoseNoLine(t *testing.T) {
	const head, last = "sku;name;date;price\n", "sku;price;date;name\n"
	for name, c := range map[string]struct {
		text     string
		accepted int
		name     string // of the first product
		rejects  string
	}{
		"middle":   {head + "1;\"Rohr 1/2\" lang;2026-03-01;10,00\n2;\"Schraube\";2026-03-01;20,00\n3;Mutter;2026-03-01;30,00\n", 3, `"Rohr 1/2" lang`, ""},
		"two":      {head + "1;\"Rohr 1/2\" lang;\"2026-03-01\";10,00\r\n2;\"Schraube\";2026-03-01;20,00\r\n", 2, `"Rohr 1/2" lang`, ""},
		"last":     {last + "A;10,00;2026-03-01;\"Faust\" Goethe\nB;20,00;2026-03-01;Werther\nC;30,00;2026-03-01;Egmont\n", 3, `"Faust" Goethe`, ""},
		"enclosed": {head + "1;\"Rohr 1/2\" lang\";2026-03-01;10,00\n2;\"a;\"\"b\"\"\";2026-03-01;20,00\n", 2, `Rohr 1/2" lang`, ""},
		"lines":    {head + "1;\"Rohr 1/2\" lang,\nblau\";2026-03-01;10,00\n2;Zoll\";2026-03-01;20,00\n", 2, `Rohr 1/2" lang, blau`, ""},
		"open":     {last + "Z;1,00;2026-03-01;5\"\nA;10,00;2026-03-01;\"Faust\nB;20,00;2026-03-01;\"Werther\"\nC;30,00;2026-03-01;Egmont\n", 2, `5"`, "lines 3 to 4 are lost"},
		"the end":  {last + "Z;1,00;2026-03-01;5\"\nA;10,00;2026-03-01;\"Faust\nB;20,00;2026-03-01;Werther\n", 1, `5"`, "lines 3 to 4 are lost"},
	} {
		file := filepath.Join(t.TempDir(), "x.csv")
		must.Do(t, os.WriteFile(file, []byte(c.text), 0o600))
		g := must.Get(maps.GuessMapping(file, "", guessNow))(t)
		var rejects strings.Builder
		sum := must.Get(maps.Check(t.Context(), maps.Request{File: file, Mapping: g.Mapping, Rejects: &rejects, Now: func() time.Time { return guessNow }}))(t)
		if sum.Accepted != c.accepted || (sum.Rejected > 0) != (c.rejects != "") || !strings.Contains(rejects.String(), c.rejects) || g.Rows[0].Product != c.name {
			t.Errorf("%s: %d accepted, first %+v, rejected: %q", name, sum.Accepted, g.Rows[0], rejects.String())
		}
	}
}

// TestStrayQuotesAfterMuch: excerpts of a long file are read like its beginning.
func TestStrayQuotesAfterMuch(t *testing.T) {
	var b strings.Builder
	b.WriteString("shop;sku;price;date;name\n")
	for i := range 60_000 {
		fmt.Fprintf(&b, "shop.de;%d;10,00;2026-03-01;\"Faust\" Goethe %d\n", i, i)
	}
	file := filepath.Join(t.TempDir(), "x.csv")
	must.Do(t, os.WriteFile(file, []byte(b.String()), 0o600))
	g := must.Get(maps.GuessMapping(file, "", guessNow))(t)
	sum := must.Get(maps.Check(t.Context(), maps.Request{File: file, Mapping: g.Mapping, Now: func() time.Time { return guessNow }}))(t)
	if sum.Rows != 60_000 || sum.Accepted != sum.Rows {
		t.Errorf("%d of %d", sum.Accepted, sum.Rows)
	}
}
