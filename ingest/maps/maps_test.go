package maps_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest/maps"
)

func TestRowsBecomeObservations(t *testing.T) {
	r := mustImport(t, head, header+
		"a.example,1,4006381333931,Pen,2026-02-01T10:00:00Z,1.10,0.5,EUR,,S1,1,https://a.example/1,x\n"+
		"a.example,1,4006381333931,Pen,2026-02-01T10:00:00Z,1.20,,EUR,yes,S2,0,,x\n"+
		"a.example,1,4006381333931,Pen,2026-02-02T10:00:00Z,1.30,,EUR,no,,,,x\n"+
		"a.example,1,4006381333931,Pen,2026-02-03 10:00:00,,,,no,,,,x\n"+
		"a.example,2,,\"Cup\n  red \",2026-02-03,7,,,yes,,,,x\n"+
		"Shop B,77,4006381333931,Pen B,2026-02-03 10:00:00,150.00,,,,,,,x\n")
	equal(t, r.observed(), `
a.example Pen 2026-02-01T10:00:00Z priceObserved
  1.10 EUR +0.50 EUR [S1] [https://a.example/1] box=true
  1.20 EUR +- [S2] box=false
a.example Pen 2026-02-02T10:00:00Z unavailable
  1.30 EUR +-
a.example Pen 2026-02-03T09:00:00Z unavailable
a.example Cup red 2026-02-03T11:00:00Z priceObserved
  7.00 EUR +-
b.example Pen 2026-02-03T01:00:00Z priceObserved
  150 JPY +-`)
	if r.sum.Rows != 6 || r.sum.Accepted != 6 || r.sum.MultiLineRows != 1 || r.sum.SharedItems != 1 || r.sum.Items != 2 {
		t.Errorf("summary: %+v", r.sum)
	}
	equal(t, r.sum.String(), `
file.csv as "test"

Understood
  rows           6: 6 accepted, 0 rejected; 1 of several lines, 0 sorted
  observations   5, 1 with several offers; 5 offers
  outcomes       priceObserved 3, unavailable 2
  period         2026-02-01T10:00:00Z to 2026-02-03T11:00:00Z
  currencies     EUR 4, JPY 1
  items          2, 1 at several sites; from 3 products of the sites
  known by       1 EAN, 0 PZN, 0 ASIN, 1 only by their site's key
  pairs          3 at 2 sites
                 a.example                            5 rows         4 observations       2 items
                 b.example                             1 row          1 observation        1 item
  events         10, with 2 batches of observations and 2 orders
  orders         labelled "file"; a file with the same label (--label) adds to them

Columns
  site                 shop
  productKey           sku
  name                 name
  currency             cur
  merchant             seller
  url                  link
  ean                  ean
  capturedAt           at
  price                price
  shipping             ship
  availability         stock
  isBuyBox             box
  not used             extra

Doubtful
          3 rows     time without a zone: the mapping's zone assumed (lines 5, 6, 8)
          1 row      day without a time: the mapping's time of day assumed (line 6)
          2 rows     no currency: the site's or the mapping's assumed (lines 6, 8)
          1 row      unavailable, yet with a price: taken as unavailable, the price kept (line 4)
          1 row      without a price (line 5)

Rejected
  nothing`)
}

func TestRejectedRows(t *testing.T) {
	row := func(s string) string { return s + strings.Repeat(",", 12-strings.Count(s, ",")) + "\n" }
	for _, c := range []struct{ row, want string }{
		{row("x.example,1,,N,2026-02-01T10:00:00Z,1"), `site "x.example" is not among the sites of the mapping, and it has no defaultSite; sites and defaultSite give the facts of sites, sites.NAME.site another key`},
		{row(",1,,N,2026-02-01T10:00:00Z,1"), "no site; columns.site.value is used where the column is blank"},
		{row("a.example,,,N,2026-02-01T10:00:00Z,1"), "no product key; columns.productKey, columns.ean, columns.pzn or columns.asin may name a column that has one"},
		{row("a.example,1,,N,,1"), "no capture time; instead of a column, columns.capturedAt.value or columns.capturedAt.from says it"},
		{row("a.example,1,,N,yesterday,1"), `capture time "yesterday" is in none of the mapping's layouts; columns.capturedAt.layouts takes more forms`},
		{row("a.example,1,,N,1999-12-31T10:00:00Z,1"), `capture time "1999-12-31T10:00:00Z" lies before the year 2000; columns.capturedAt.layouts and columns.capturedAt.zone say how it is read`},
		{row("a.example,1,,N,2026-03-02T12:00:01Z,1"), `capture time "2026-03-02T12:00:01Z" lies in the future; columns.capturedAt.layouts and columns.capturedAt.zone say how it is read`},
		{row("a.example,1,,N,2026-02-01T10:00:00Z,1.234"), `price "1.234" has more than the 2 decimal digits of EUR; columns.price.decimal and columns.price.thousands say which mark is which, columns.currency the currency`},
		{row("Shop B,1,,N,2026-02-01T10:00:00Z,1.5"), `price "1.5" has more than the 0 decimal digits of JPY; columns.price.decimal and columns.price.thousands say which mark is which, columns.currency the currency`},
		{`a.example,1,,N,2026-02-01T10:00:00Z,"1,50"` + ",,,,,,,\n", `price "1,50" is not an amount like 12.34; columns.price.decimal, columns.price.thousands and columns.price.strip say how it is written`},
		{row("a.example,1,,N,2026-02-01T10:00:00Z,-1"), `price "-1" is not an amount like 12.34; columns.price.decimal, columns.price.thousands and columns.price.strip say how it is written`},
		{row("a.example,1,,N,2026-02-01T10:00:00Z,1,free"), `shipping "free" is not an amount like 12.34; columns.shipping.decimal, columns.shipping.thousands and columns.shipping.strip say how it is written, columns.shipping.zero which words mean 0`},
		{row("a.example,1,,N,2026-02-01T10:00:00Z,1,,XXX"), `currency "XXX" is no active ISO 4217 code; columns.currency.values translates what the column says`},
		{row("a.example,1,,N,2026-02-01T10:00:00Z,"), "no price, and nothing says that the product is unavailable; columns.price.missing: unavailable (or unknown) takes such rows"},
		{row("a.example,1,,N,2026-02-01T10:00:00Z,,,,yes"), "available, but without a price; columns.availability.no takes the word, if it means unavailable"},
		{row("a.example,1,,N,2026-02-01T10:00:00Z,1,,,maybe"), `availability "maybe" is in neither list of the mapping; columns.availability.yes and columns.availability.no take more words`},
		{row("a.example,1,,N,2026-02-01T10:00:00Z,1,,,," + strings.Repeat("m", 257)), "the merchant's name has 257 bytes, at most 256; columns.merchant may name a shorter one"},
		{row("a.example,1,,N\xff,2026-02-01T10:00:00Z,1"), "not UTF-8; csv.encoding: windows-1252 reads older files"},
		{"a.example,1\n", "2 fields, but the header has 13; csv.delimiter says what stands between fields, csv.lazyQuotes: true takes stray quotation marks"},
		{`a.example,"1"x` + strings.Repeat(",", 11) + "\n", `extraneous or missing " in quoted-field at column 13; csv.lazyQuotes: true takes quotation marks inside a field as they are`},
	} {
		good := row("a.example,9,,N,2026-02-01T10:00:00Z,1")
		r := mustImport(t, head, header+c.row+good)
		if items := all[contracts.Item](r); len(items) != 1 || r.sum.Products != 1 {
			t.Errorf("%q: %d items, %d products: a rejected row made one", c.row, len(items), r.sum.Products)
		}
		if !strings.Contains(r.rejects, `"line":2,`) {
			t.Errorf("%q: rejects %s", c.row, r.rejects)
		}
		want := strings.ReplaceAll(c.want, `"`, `\"`)
		if !strings.Contains(r.rejects, `"reason":"`+want+`"`) || r.sum.Rejected != 1 || r.sum.Accepted != 1 {
			t.Errorf("%q: %d rejected, %d accepted; %s\nwant %s", c.row, r.sum.Rejected, r.sum.Accepted, r.rejects, c.want)
		}
	}
}

func TestDuplicatesAndMixedCaptures(t *testing.T) {
	r := mustImport(t, head+"distinguish: [extra]\n", header+
		"a.example,1,,N,2026-02-01T10:00:00Z,1,,,,S1,,,p\n"+
		"a.example,1,,N,2026-02-01T10:00:00Z,1,,,,S1,,,p\n"+ // says the same
		"a.example,1,,N,2026-02-01T10:00:00Z,1,,,,S1,,,q\n"+ // distinguished
		"a.example,1,,N,2026-02-01T10:00:00Z,,,,no,S2,,,\n"+ // another outcome
		"a.example,1,,N,2026-02-02T10:00:00Z,,,,no,S2,,,\n"+
		"a.example,1,,N,2026-02-02T10:00:00Z,,,,no,S3,,,\n")
	equal(t, r.observed(), `
a.example N 2026-02-01T10:00:00Z priceObserved
  1.00 EUR +- [S1]
  1.00 EUR +- [S1]
a.example N 2026-02-02T10:00:00Z unavailable
  - +- [S2]
  - +- [S3]`)
	equal(t, r.rejects, `
{"line":3,"code":"exact duplicate","reason":"exact duplicate of line 2; distinguish names columns that distinguish offers","text":"a.example | 1 | 2026-02-01T10:00:00Z | S1 | 1.00 EUR"}
{"line":5,"code":"unavailable among offers","reason":"unavailable, while other rows of the same capture are offers; a capture has one outcome; columns.capturedAt.clock, or a layout with a time of day in columns.capturedAt.layouts, distinguishes captures","text":"a.example | 1 | 2026-02-01T10:00:00Z | S2 | no price"}`)
}

func TestNonAdjacentRowsOfOneCapture(t *testing.T) {
	r := mustImport(t, head, header+
		"a.example,1,,N,2026-02-02T10:00:00Z,3,,,,,,,\n"+
		"a.example,1,,N,2026-02-01T10:00:00Z,1,,,,S1,,,\n"+
		"a.example,2,,O,2026-02-01T10:00:00Z,5,,,,,,,\n"+
		"a.example,1,,N,2026-02-01T10:00:00Z,2,,,,S2,,,\n"+
		"a.example,1,,N,2026-02-01T10:00:00Z,1,,,,S1,,,\n")
	equal(t, r.observed(), `
a.example O 2026-02-01T10:00:00Z priceObserved
  5.00 EUR +-
a.example N 2026-02-01T10:00:00Z priceObserved
  1.00 EUR +- [S1]
  2.00 EUR +- [S2]
a.example N 2026-02-02T10:00:00Z priceObserved
  3.00 EUR +-`)
	if r.sum.SortedRows != 4 || r.sum.Rejected != 1 || !strings.Contains(r.rejects, "exact duplicate of line 3") {
		t.Errorf("%d sorted; %s", r.sum.SortedRows, r.rejects)
	}
}

func TestOptionsOfFields(t *testing.T) {
	r := mustImport(t, `
source: test
csv: {delimiter: tab}
columns:
  site: {value: shop.example}
  pzn: {column: pzn, pad: 8}
  asin: asin
  asinLocale: {column: loc, value: de}
  name: {columns: [a, b], join: " / "}
  brand: {column: b, values: {"-": ""}}
  capturedAt: {column: at, layouts: ["02.01.2006 15:04", unix], zone: Europe/Berlin}
  price: {column: p, decimal: ",", thousands: ".", strip: ["€", "ca."], missing: unknown}
  shipping: {column: s, minor: true, zero: [free]}
  deliveryText: {column: d, suffix: " days"}
  rating: r
defaultSite: {type: platform, country: DE, currency: EUR}
`, "\ufeffpzn\tasin\tloc\ta\tb\tat\tp\ts\td\tr\n"+
		"123406\t\t\tOne\t-\t01.02.2026 10:00\t 1.234,50 €\tfree\t3\t4,5\n"+
		"\tb0example1\t\tTwo\tX\t1769936400\tca. 5\t5\t\t4.26\n"+
		"\tb0example1\tit\tThree\tX\t1769936400\t\t\t\t\n")
	equal(t, r.observed(), `
shop.example One / - 2026-02-01T09:00:00Z priceObserved
  1234.50 EUR +0.00 EUR [3 days] [4,5]
shop.example Two / X 2026-02-01T09:00:00Z priceObserved
  5.00 EUR +0.05 EUR [4.26]
shop.example Three / X 2026-02-01T09:00:00Z unknown`)
	want := []*contracts.Item{
		{ItemID: contracts.DeriveID[contracts.ItemID]("pzn", "00123406"), PZN: "00123406", Name: "One / -"},
		{ItemID: contracts.DeriveID[contracts.ItemID]("asin", "de", "B0EXAMPLE1"), ASIN: "B0EXAMPLE1", ASINLocale: "de", Name: "Two / X", Brand: "X"},
		{ItemID: contracts.DeriveID[contracts.ItemID]("asin", "it", "B0EXAMPLE1"), ASIN: "B0EXAMPLE1", ASINLocale: "it", Name: "Three / X", Brand: "X"},
	}
	equals.Check(t, want, all[contracts.Item](r))
}

func TestIdentity(t *testing.T) {
	line := func(site, key, ean string) string {
		return site + "," + key + "," + ean + ",N,2026-02-01T10:00:00Z,1,,,,,,,\n"
	}
	r := mustImport(t, head, header+
		line("a.example", "1", "4006381333931")+ // one item at both sites
		line("Shop B", "x", "04006381333931")+
		line("a.example", "2", "012345678905")+ // GTIN-12 in three forms
		line("Shop B", "y", "0012345678905")+
		line("Shop B", "z", "12345678905")+
		line("a.example", "3", "96385074")+
		line("a.example", "4", "4006381333932")+ // wrong check digit
		line("a.example", "5", "400638133393")+ // and of a GTIN-12
		line("a.example", "6", "4006381")+
		line("a.example", "7", "2012345678903")+ // in-store
		line("a.example", "8", "0212345678909")+
		line("a.example", "9", "02345673")+
		line("a.example", "10", "4.00638E+12")+
		line("Shop B", "4", "")) // another site's key
	var items []string
	for _, it := range all[contracts.Item](r) {
		items = append(items, it.EAN)
	}
	equals.Check(t, []string{"4006381333931", "0012345678905", "96385074", "", "", "", "2012345678903", "0212345678909", "02345673", "", ""}, items)
	if r.sum.SharedItems != 2 || r.sum.EANs != 3 || r.sum.OwnKeys != 8 || r.sum.Observations != 13 {
		t.Errorf("shared %d, EAN %d, own keys %d, observations %d", r.sum.SharedItems, r.sum.EANs, r.sum.OwnKeys, r.sum.Observations)
	}
	got := map[string]int{}
	for _, c := range r.sum.Warnings {
		got[c.What] = c.N
	}
	want := map[string]int{
		"EAN of 11 digits, right with a 0 before it: taken as GTIN-12":                        1,
		"EAN of a range that each shop uses as it likes: kept, but an item of its site alone": 3,
		"EAN with a wrong check digit: kept as the site's own key":                            2,
		"EAN of a wrong length: kept as the site's own key":                                   1,
		"EAN that is no number: kept as the site's own key":                                   1,
		"EAN written in several lengths: one item":                                            2,
		"no currency: the site's or the mapping's assumed":                                    14,
	}
	equals.Check(t, want, got)
}

func TestCatalogue(t *testing.T) {
	csv := header +
		"a.example,1,,Old name,2026-02-01T10:00:00Z,1,,,,,,,\n" +
		"a.example,1,,New name,2026-02-02T10:00:00Z,1,,,,,,,\n" +
		"Shop B,5,,B5,2026-01-15T10:00:00Z,1,,,,,,,\n"
	r := mustImport(t, head, csv)
	var kinds []string
	for _, e := range r.events {
		kinds = append(kinds, string(e.Kind))
	}
	want := "site site mandate account item item order order observations observations"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("events %s\nwant %s", got, want)
	}
	mandate := all[contracts.Mandate](r)[0]
	if mandate.Name != "M" || mandate.MandateID != maps.MandateID("M") {
		t.Errorf("mandate %+v", mandate)
	}
	account := all[contracts.Account](r)[0]
	if account.LoginIdentifier != "me@example.com" || !account.Scope.WholeMandate() || len(account.Permissions) != 5 || account.MandateID != mandate.MandateID {
		t.Errorf("account %+v", account)
	}
	order := all[contracts.Order](r)[1]
	if order.Name != "Imported: b.example" || !order.Active || !order.CreatedAt.Equal(time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC)) || len(order.Items) != 1 || len(order.Sites) != 1 {
		t.Errorf("order %+v", order)
	}
	if name := all[contracts.Item](r)[0].Name; name != "New name" {
		t.Errorf("item is called %q", name)
	}

	again := mustImport(t, head, csv)
	for i, e := range r.events {
		if same := e.ID == again.events[i].ID; same == (e.Kind == event.KindAccount) {
			t.Errorf("second run: %s has id %s, before %s", e.Kind, again.events[i].ID, e.ID)
		}
	}

	// A minute later the catalogue is published again: another state may have come
	// in between. Observations are not.
	now = now.Add(time.Minute)
	later := mustImport(t, head, csv)
	for i, e := range r.events {
		equals.Is(t, (e.Kind == event.KindObservations), e.ID == later.events[i].ID, "a minute later: %s has id %s, before %s", e.Kind, later.events[i].ID, e.ID)
	}
	now = now.Add(-time.Minute)

	// Another label means another order, and no other difference.
	m, _ := maps.ParseMapping([]byte(head))
	file := filepath.Join(t.TempDir(), "other.csv.gz")
	must.Do(t, os.WriteFile(file, pack(csv), 0o600))
	other := must.Get(importFile(t, m, file))(t)
	if other.sum.Label != "other" {
		t.Errorf("label %q", other.sum.Label)
	}
	for i, e := range r.events {
		if same := e.ID == other.events[i].ID; same == (e.Kind == event.KindAccount || e.Kind == event.KindOrder) {
			t.Errorf("other label: same id of %s is %t", e.Kind, same)
		}
	}
}

func TestManyItemsMakeSeveralOrdersAndBatches(t *testing.T) {
	var b strings.Builder
	b.WriteString(header)
	const n = 46_000
	for i := range n {
		fmt.Fprintf(&b, "a.example,%d,,N%d,2026-02-01T10:00:00Z,%d,,,,,,,\n", i, i, i)
	}
	r := mustImport(t, head, b.String())
	orders := all[contracts.Order](r)
	if len(orders) != 2 || len(orders[0].Items)+len(orders[1].Items) != n || orders[0].Name != "Imported: a.example (part 2)" {
		t.Errorf("%d orders", len(orders))
	}
	equals.Is(t, n/500, len(all[contracts.Observations](r)), "batches")
}

func TestLargeCaptures(t *testing.T) {
	var b strings.Builder
	b.WriteString(header)
	for i := range 700 { // 900 bytes each, escaped 5,400
		fmt.Fprintf(&b, "a.example,1,,N,2026-02-01T10:00:00Z,%d,,,,,,https://a.example/?%s,\n", i, strings.Repeat("&", 900))
	}
	r := mustImport(t, head, b.String())
	if r.sum.Observations != 1 || r.sum.Accepted+r.sum.Rejected != 700 || r.sum.Accepted < 100 || len(r.sum.RejectedBy) != 2 {
		t.Errorf("%+v", r.sum)
	}
}
