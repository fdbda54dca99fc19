package maps_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
	"preismon/ingest/maps"
)

// TestGuessedAmounts: three digits behind the only mark are thousands, unless the
// currency has three decimals, and what could be otherwise is said.
func TestGuessedAmounts(t *testing.T) {
	for name, c := range map[string]struct {
		rows    []string // quoted amounts
		want    string   // of the first
		assumed string   // empty: nothing about the marks
	}{
		"German":         {[]string{"2.500", "1.234"}, "2500.00 EUR", `"1.234" could have a thousands separator or a decimal mark: assuming that "." separates thousands (columns.price.decimal and thousands)`},
		"English":        {[]string{"1,234", "2,500"}, "1234.00 EUR", `assuming that "," separates thousands`},
		"yen":            {[]string{"¥1,234"}, "1234 JPY", `assuming that "," separates thousands`},
		"dinar":          {[]string{"1.234 KWD", "2.500 KWD"}, "1.234 KWD", `"2.500 KWD" has three digits behind the mark ".", which is assumed to be the decimal mark`},
		"francs":         {[]string{"Fr. 12.50", "Fr. 1'234.50"}, "12.50 CHF", ""},
		"about":          {[]string{"ca. 12,50", "13,50"}, "12.50 EUR", ""},
		"dashes":         {[]string{"12,- €", "1.299,-", "12,--"}, "12.00 EUR", ""},
		"Swiss dashes":   {[]string{"Fr. 1'012.-", "Fr. 12.50", "12.–"}, "1012.00 CHF", ""},
		"shown":          {[]string{"1.234", "12,50"}, "1234.00 EUR", ""},
		"contradictory":  {[]string{"2.500", "12.50"}, "2.50 EUR", `"2.500" has three digits behind the mark "."`},
		"less than one":  {[]string{"0.500", "0.750"}, "0.50 EUR", ""},
		"no thousands":   {[]string{"1234.500"}, "1234.50 EUR", ""},
		"both, one most": {[]string{"1.234", "2.500", "1,234"}, "1234.00 EUR", `"." separates thousands`},
	} {
		t.Run(name, func(t *testing.T) {
			text := "Shop;Artikelnummer;Preis;Datum\n"
			for _, amount := range c.rows {
				text += "laden.example;A;" + amount + ";24.11.2026\n"
			}
			file := filepath.Join(t.TempDir(), "amounts.csv")
			must.Do(t, os.WriteFile(file, []byte(text), 0o600))
			g := must.Get(maps.GuessMapping(file, "", guessNow))(t)
			if got := g.Rows[0].Price + " " + g.Rows[0].Currency; got != c.want {
				t.Errorf("%s, want %s\n%s", got, c.want, g.Text)
			}
			about := slices.DeleteFunc(slices.Clone(g.Assumptions), func(s string) bool { return !strings.Contains(s, "mark") && !strings.Contains(s, "thousands") })
			if all := strings.Join(about, "\n"); !strings.Contains(all, c.assumed) || c.assumed == "" && all != "" {
				t.Errorf("assumed:\n%s", all)
			}
		})
	}
}

// TestWordsBesideAmounts: what is left out beside an amount is said, unless it only
// names the currency, and that different words mean different prices.
func TestWordsBesideAmounts(t *testing.T) {
	for name, c := range map[string]struct {
		rows []string
		want string // empty: nothing is said
	}{
		"from":      {[]string{"ab 12,50 €", "13,50 €"}, `"ab" beside amounts in column "Preis" is left out`},
		"per month": {[]string{"19,99 €/Monat"}, `"€/monat" beside amounts`},
		"kinds":     {[]string{"ab 12,50 €", "Ab 13,50 €", "statt 99,00 €", "UVP 49,99"}, `["ab" "statt" "uvp"] beside amounts in column "Preis" are left out, but mean different prices`},
		"about":     {[]string{"~ 12,50 €"}, `"~" beside amounts`},
		"currency":  {[]string{"12,50 €*", "EUR 13,50", "1,20 Euro"}, ""},
		"francs":    {[]string{"Fr 12,50", "12,50 SFr", "Fr. 12,50"}, ""},
		"a dot":     {[]string{"ca. 12,50 €"}, `"ca." beside amounts in column "Preis" is left out`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "words.csv")
			text := "Shop;Artikelnummer;Preis;Datum\n"
			for _, amount := range c.rows {
				text += "laden.example;A;" + amount + ";24.11.2026\n"
			}
			must.Do(t, os.WriteFile(file, []byte(text), 0o600))
			all := strings.Join(must.Get(maps.GuessMapping(file, "", guessNow))(t).Assumptions, "\n")
			if !strings.Contains(all, c.want) || c.want == "" && strings.Contains(all, "beside") {
				t.Errorf("assumed:\n%s", all)
			}
		})
	}
}

// TestRejectedAmountsAsWritten: the reason of a rejection has the amount as it stands
// in the file.
func TestRejectedAmountsAsWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "amounts.csv")
	must.Do(t, os.WriteFile(file, []byte("shop;sku;price;date\ns.de;A;12,-;2026-11-20\ns.de;B;-1,50;2026-11-20\ns.de;C;1.234,567 €;2026-11-20\n"), 0o600))
	m := must.Get(maps.ParseMapping([]byte(`source: x
csv: {delimiter: ";"}
columns: {site: shop, productKey: sku, capturedAt: {column: date, zone: UTC}, price: {column: price, decimal: ",", thousands: ".", strip: ["€"]}}
defaultSite: {type: shop, country: DE, currency: EUR}
`)))(t)
	rows := must.Get(maps.Preview(file, m, guessNow))(t)
	for i, want := range []string{`price "12,-" is not an amount`, `price "-1,50" is not an amount`, `price "1.234,567 €" has more than the 2 decimal digits of EUR`} {
		if !strings.HasPrefix(rows[i].Reject, want) {
			t.Errorf("%s, want %s", rows[i].Reject, want)
		}
	}
}

// TestBlankCurrency: what a blank currency is taken for is said, where there is a
// price.
func TestBlankCurrency(t *testing.T) {
	for text, want := range map[string]bool{
		"A,1.20,EUR,2026-11-20\nB,1.20,USD,2026-11-20\nC,1.30,,2026-11-20\n": true,
		"A,1.20,EUR,2026-11-20\nC,,,2026-11-20\n":                            false,
	} {
		file := filepath.Join(t.TempDir(), "currencies.csv")
		must.Do(t, os.WriteFile(file, []byte("sku,price,currency,date\n"+text), 0o600))
		all := strings.Join(must.Get(maps.GuessMapping(file, "", guessNow))(t).Assumptions, "\n")
		if strings.Contains(all, `rows without a currency in column "currency": assuming EUR (columns.currency.value)`) != want {
			t.Errorf("%s\n%s", text, all)
		}
	}
}
