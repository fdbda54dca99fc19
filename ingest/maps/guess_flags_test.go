package maps_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest/maps"
)

// TestQuantitiesInStock: a number in stock says whether a product is available, in a
// guess as in a mapping, unless the numbers are codes.
func TestQuantitiesInStock(t *testing.T) {
	const guessed = "numbers in column \"stock\" are read as quantities"
	for name, c := range map[string]struct {
		column  string
		stocks  []string
		want    []string // outcomes; empty: rejected
		assumed string
	}{
		"quantities": {"stock", []string{"0", "39", "1", ""}, []string{"unavailable", "available", "available", "available"}, guessed},
		"and words":  {"stock", []string{"sold out", "39", "0"}, []string{"unavailable", "available", "unavailable"}, guessed},
		"German":     {"Lagerbestand", []string{"12", "0"}, []string{"available", "unavailable"}, `"Lagerbestand" are read as quantities`},
		"flags":      {"stock", []string{"0", "1"}, []string{"unavailable", "available"}, ""},
		"codes":      {"status", []string{"200", "404"}, []string{"available", "available"}, `"200" in column "status" is neither yes nor no: the column is not used`},
		"words":      {"stock", []string{"bald", "spaet"}, []string{"available", "available"}, `"bald" in column "stock" is neither yes nor no: the column is not used`},
	} {
		t.Run(name, func(t *testing.T) {
			text := "shop,sku,price,date," + c.column + "\n"
			for _, stock := range c.stocks {
				text += "shop.de,A,1.50,2026-11-20," + stock + "\n"
			}
			file := filepath.Join(t.TempDir(), "stock.csv")
			must.Do(t, os.WriteFile(file, []byte(text), 0o600))
			g := must.Get(maps.GuessMapping(file, "", guessNow))(t)
			if diff := cmp.Diff(c.want, outcomes(g.Rows)); diff != "" {
				t.Errorf("%s\n%s", diff, g.Text)
			}
			all := strings.Join(g.Assumptions, "\n")
			if !strings.Contains(all, c.assumed) || c.assumed == "" && strings.Contains(all, "stock") {
				t.Errorf("assumed:\n%s", all)
			}
		})
	}
}

// TestQuantitiesOfAMapping: numbers are quantities if the mapping has no number
// among its words.
func TestQuantitiesOfAMapping(t *testing.T) {
	file := filepath.Join(t.TempDir(), "stock.csv")
	must.Do(t, os.WriteFile(file, []byte("shop,sku,price,date,stock\ns.de,A,1,2026-11-20,0\ns.de,A,1,2026-11-21,7\ns.de,A,1,2026-11-22,-7\n"), 0o600))
	for stock, want := range map[string][]string{
		"stock": {"unavailable", "available", ""},
		"{column: stock, yes: [there], no: [gone]}": {"unavailable", "available", ""},
		`{column: stock, yes: ["1"], no: ["0"]}`:    {"unavailable", "", ""},
	} {
		m := must.Get(maps.ParseMapping([]byte("source: x\ncolumns: {site: shop, productKey: sku, price: price, capturedAt: {column: date, zone: UTC}, availability: " + stock +
			"}\ndefaultSite: {type: shop, country: DE, currency: EUR}\n")))(t)
		equals.Checkf(t, want, outcomes(must.Get(maps.Preview(file, m, guessNow))(t)), "%s", stock)
	}
}

func outcomes(rows []maps.Shown) (all []string) {
	for _, r := range rows {
		all = append(all, r.Outcome)
	}
	return all
}
