package maps_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"

	"preismon/deploy/testserver/must"
	"preismon/ingest/maps"
)

// TestPreviewReadsAsTheImport: rows are shown as the mapping says they are
// read, also where a guess would read them otherwise.
func TestPreviewReadsAsTheImport(t *testing.T) {
	const rows = "shop;sku;price;at\nladen.de;grün;1.20;2026-03-01\nladen.de;B;1.20;2026-03-01;\nladen.de;C \"1\";1.20;2026-03-01\n"
	const columns = "\ncolumns: {site: shop, productKey: sku, price: price, capturedAt: {column: at, zone: UTC}}\ndefaultSite: {type: shop, country: DE, currency: EUR}\n"
	windows := must.Get(charmap.Windows1252.NewEncoder().String(rows))(t)
	for name, c := range map[string]struct{ text, csv, want string }{
		"as guessed":    {rows, `{delimiter: ";", lazyQuotes: true}`, `2 grün, 3 5 fields, 4 C "1"`},
		"quotes":        {rows, `{delimiter: ";"}`, "2 grün, 3 5 fields, 4 bare"},
		"delimiter":     {rows, "{}", "the file has no column"},
		"not UTF-8":     {windows, `{delimiter: ";", lazyQuotes: true}`, `2 not UTF-8, 3 5 fields, 4 C "1"`},
		"Latin-1":       {windows, `{delimiter: ";", lazyQuotes: true, encoding: latin-1}`, `2 grün, 3 5 fields, 4 C "1"`},
		"UTF-8":         {rows, `{delimiter: ";", encoding: windows-1252}`, "the file is in UTF-8, and not in windows-1252"},
		"mark of UTF-8": {"\ufeff" + strings.Replace(rows, "ü", "ue", 1), `{delimiter: ";", encoding: latin-1}`, "the file is in UTF-8, and not in latin-1"},
		"no rows":       {rows[:strings.Index(rows, "\n")+1], `{delimiter: ";"}`, "a header and no rows"},
	} {
		file := filepath.Join(t.TempDir(), "x.csv")
		must.Do(t, os.WriteFile(file, []byte(c.text), 0o600))
		m := must.Get(maps.ParseMapping([]byte("source: s\ncsv: " + c.csv + columns)))(t)
		shown, err := maps.Preview(file, m, guessNow)
		_, also := maps.Check(t.Context(), maps.Request{File: file, Mapping: m})
		if err != nil {
			if also == nil || err.Error() != also.Error() || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, and imported: %v", name, err, also)
			}
			continue
		}
		must.Do(t, also)
		var got []string
		for _, s := range shown {
			got = append(got, strings.TrimSpace(string(rune('0'+s.Line))+" "+s.Product+s.Reject))
		}
		wants := strings.Split(c.want, ", ")
		for i, want := range wants {
			if len(got) != len(wants) || !strings.HasPrefix(got[i], strings.TrimSpace(want)) {
				t.Errorf("%s: %q, want %q", name, got, wants)
			}
		}
	}
}
