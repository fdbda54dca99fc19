package maps

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
)

// published imports a text for the mandate M into a catalogue, which then holds
// the records published; it returns those of them that are of one kind.
func (s *Standing) published(t *testing.T, kind event.Kind, mapping, text string) (*Summary, []event.Payload) {
	t.Helper()
	m := must.Get(ParseMapping([]byte(mapping)))(t)
	file := filepath.Join(t.TempDir(), "rows.csv")
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	var all []event.Payload
	sum := must.Get(Import(t.Context(), Request{File: file, Mapping: m, Mandate: "M", Login: "l", PasswordHash: phc, Standing: s.is}, func(_ context.Context, e *event.Event) error {
		if e.Kind == kind {
			s.Add(e.Data)
			all = append(all, e.Data)
		}
		return nil
	}))(t)
	return sum, all
}

// TestFactsOfSitesStay: an import publishes a site that is new, and changes the
// facts of one only if its mapping names it and nobody else has it; it then does
// so whatever came in between.
func TestFactsOfSitesStay(t *testing.T) {
	const (
		columns   = "source: s\ncolumns: {site: site, productKey: key, capturedAt: {column: at, layouts: [unix]}, price: price}\n"
		guessed   = columns + "defaultSite: {type: shop, country: DE, currency: EUR}\n"
		named     = columns + "sites:\n  market.example: {name: The market, type: marketplace, country: DE, currency: EUR, canonicalCountryMarket: true}\n"
		renamed   = columns + "sites:\n  market.example: {name: Another, type: shop, country: DE, currency: EUR}\n"
		rows      = "site,key,at,price\nmarket.example,a,1700000000,1.50\n"
		theMarket = "The market"
	)
	standing := NewStanding("M")
	for i, c := range []struct {
		mapping   string
		published bool
		name      string // that it has then
		kept      int
	}{
		{guessed, true, "market.example", 0}, // new
		{guessed, false, "market.example", 0},
		{named, true, theMarket, 0},
		{guessed, false, theMarket, 1},
		{renamed, true, "Another", 0},
		{named, true, theMarket, 0},
		{named, false, theMarket, 0},
	} {
		sum, sites := standing.published(t, event.KindSite, c.mapping, rows)
		if got := standing.Sites["market.example"]; len(sites) > 0 != c.published || got.Name != c.name || sum.KeptSites != c.kept {
			t.Errorf("import %d published %v, kept %d, and the site is %+v", i, sites, sum.KeptSites, got)
		}
		if text := sum.String(); strings.Contains(text, "kept sites     1 site as the catalogue has them") != (c.kept > 0) {
			t.Errorf("import %d says:\n%s", i, text)
		}
	}
	standing.Add(&contracts.Order{OrderID: 1, MandateID: 2, Sites: []contracts.SiteKey{"market.example"}})
	if sum, sites := standing.published(t, event.KindSite, renamed, rows); len(sites) > 0 || sum.KeptSites != 1 {
		t.Errorf("another mandate has it, and published is %v", sites)
	}
}

// TestItemsKeepWhatAFileDoesNotSay: a file without names, brands or PZNs erases
// none; what it does say is put in force, whatever came in between; and nothing
// is published of an item that is as it should be.
func TestItemsKeepWhatAFileDoesNotSay(t *testing.T) {
	const (
		start  = "source: s\ncolumns:\n  site: {value: a.example}\n  capturedAt: {value: 2026-02-01T09:00:00Z}\n  price: price\n  ean: ean\n"
		end    = "sites: {a.example: {type: shop, country: DE, currency: EUR}}\n"
		full   = start + "  pzn: pzn\n  asin: asin\n  asinLocale: {value: de}\n  name: name\n  brand: brand\n  manufacturer: maker\n" + end
		header = "ean,pzn,asin,name,brand,maker,price\n"
		first  = "4006381333931,12345678,B0EXAMPLE1,Pen,Inventa,Works,1.50\n"
	)
	item := contracts.Item{EAN: "4006381333931", PZN: "12345678", ASIN: "B0EXAMPLE1", ASINLocale: "de", Name: "Pen", Brand: "Inventa", Manufacturer: "Works"}
	renamed := item
	renamed.Name = "Marker"
	standing := NewStanding("M")
	for i, c := range []struct {
		mapping, text string
		published     int
		want          contracts.Item
	}{
		{full, header + first, 1, item},
		{full, header + first, 0, item},
		{start + end, "ean,price\n4006381333931,1.40\n", 0, item},
		{start + "  name: name\n" + end, "ean,name,price\n4006381333931,Marker,1.40\n", 1, renamed},
		{full, header + first, 1, item},
	} {
		sum, items := standing.published(t, event.KindItem, c.mapping, c.text)
		for id, got := range standing.Items {
			c.want.ItemID = id
			if *got != c.want || len(standing.Items) != 1 || len(items) != c.published || sum.Named > 0 {
				t.Errorf("import %d published %d items, and it is %+v, want %+v", i, len(items), got, c.want)
			}
		}
	}
}

// TestNamesOfOthersStay: a product that others see keeps its name.
func TestNamesOfOthersStay(t *testing.T) {
	const (
		mapping = "source: s\ncolumns: {site: site, productKey: key, name: key, capturedAt: {column: at, layouts: [unix]}, price: price}\n" +
			"defaultSite: {type: shop, country: DE, currency: EUR}\n"
		rows = "site,key,at,price\ns,a,1700000000,1.50\ns,b,1700000000,1.50\n"
	)
	standing := NewStanding("M")
	if _, items := standing.published(t, event.KindItem, mapping, rows); len(items) != 2 {
		t.Fatalf("published %v", items)
	}
	var theirs contracts.ItemID
	for id, it := range standing.Items {
		if it.Name == "a" {
			theirs = id
		}
		it.Name = "renamed"
	}
	standing.Add(&contracts.Order{OrderID: 1, MandateID: 2, Items: []contracts.ItemID{theirs}})
	sum, items := standing.published(t, event.KindItem, mapping, rows)
	if len(items) != 1 || items[0].(*contracts.Item).Name != "b" || sum.Named != 1 || standing.Items[theirs].Name != "renamed" {
		t.Errorf("published %v, %s", items, sum)
	}
}
