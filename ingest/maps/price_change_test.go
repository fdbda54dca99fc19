package maps

import (
	"fmt"
	"path/filepath"
	"testing"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
)

// Changes by a file are listed by product and site, the greatest move first,
// without what is late, new, already known or unknown.
func TestPriceChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.csv")
	var m memory
	expect := func(what string, rows []string, want ...string) {
		t.Helper()
		var got []string
		for _, c := range m.grows(t, file, rows, false).Changes {
			got = append(got, c.String())
		}
		equals.Slices(t, want, got, "%s", what)
	}
	expect("new products", []string{"s0,a,1700000000,10.00,1,m", "s0,b,1700000000,10.00,1,m", "s1,a,1700000000,10.00,1,m", "s0,c,1700000000,10.00,1,m"})
	expect("nothing new", []string{"s0,a,1700000000,10.00,1,m"})
	expect("the newest counts, of its offers the cheapest", []string{
		"s0,a,1700000060,5.00,1,m", "s0,a,1700000120,9.00,1,m", "s0,a,1700000120,8.00,1,n", // two offers
		"s0,b,1700000060,11.00,1,m",
		"s1,a,1699999999,1.00,1,m", // late
		"s0,c,1700000060,10.00,1,m",
		"s0,d,1700000060,10.00,1,m", // new
	}, "a at s0: 10.00 EUR -> 8.00 EUR (-20.0 %)", "b at s0: 10.00 EUR -> 11.00 EUR (+10.0 %)")
	expect("sold out", []string{"s0,b,1700000180,11.00,0,m", "s0,a,1700000180,4.00,1,m"},
		"b at s0: 11.00 EUR -> unavailable", "a at s0: 8.00 EUR -> 4.00 EUR (-50.0 %)")
	expect("back", []string{"s0,b,1700000240,12.00,1,m"}, "b at s0: unavailable -> 12.00 EUR")
	if c := (PriceChange{Was: &contracts.Money{AmountMinor: 1, CurrencyCode: "EUR"}, Is: &contracts.Money{AmountMinor: 2, CurrencyCode: "JPY"}}); fmt.Sprint(c) != " at : 0.01 EUR -> 2 JPY" {
		t.Errorf("two currencies are compared: %s", c)
	}
}
