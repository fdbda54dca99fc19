package maps

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"preismon/contracts"
	"preismon/contracts/event"
)

// published imports a text for the mandate M into a catalogue, which then holds
// the records published; it returns those of them that are of one kind.
func (s *Standing) published(t *testing.T, kind event.Kind, mapping, text string) (*Summary, []event.Payload) {
	t.Helper()
	m, err := ParseMapping([]byte(mapping))
	must(t, err)
	file := filepath.Join(t.TempDir(), "rows.csv")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	var all []event.Payload
	sum, err := Import(t.Context(), Request{File: file, Mapping: m, Mandate: "M", Login: "l", PasswordHash: phc, Standing: s.is}, func(_ context.Context, e *event.Event) error {
		if e.Kind == kind {
			s.Add(e.Data)
			all = append(all, e.Data)
		}
		return nil
	})
	must(t, err)
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
