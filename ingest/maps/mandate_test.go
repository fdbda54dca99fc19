package maps_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/ingest/maps"
)

// importedFor imports a file for a mandate, and returns its products, its site
// and its orders.
func importedFor(t *testing.T, r maps.Request) (items map[contracts.ItemID]bool, site contracts.SiteKey, orders []*contracts.Order) {
	t.Helper()
	r.Login, r.PasswordHash = "me", phc("c2FsdHNhbHQ")
	items = map[contracts.ItemID]bool{}
	sum, err := maps.Import(t.Context(), r, func(_ context.Context, e *event.Event) error {
		switch one := e.Data.(type) {
		case *contracts.Item:
			items[one.ItemID] = true
		case *contracts.Site:
			site = one.Site
		case *contracts.Order:
			orders = append(orders, one)
		}
		return nil
	})
	if err != nil || sum.Rejected > 0 {
		t.Fatalf("%v: %s", err, sum)
	}
	return items, site, orders
}

// TestMandatesShareNothingGuessed: two customers who import files of the same
// name with a guessed mapping share neither products nor a site; a second
// import by the same customer finds both again, and a mapping of an earlier
// version keeps its meaning.
func TestMandatesShareNothingGuessed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.csv")
	must.Do(t, os.WriteFile(file, []byte("sku,name,seen_at,price\nA,Pen,2026-02-01T09:00:00Z,1.20\n"), 0o600))
	g := must.Get(maps.GuessMapping(file, "One", guessNow))(t)
	if g.Rows[0].Site != "one_prices" {
		t.Errorf("shown as %+v", g.Rows[0])
	}
	seen := map[contracts.ItemID]string{}
	for mandate, want := range map[string]contracts.SiteKey{"One": "one_prices", "Two & Co": "two-co_prices", "prices": "prices", "株式会社": ""} {
		items, site, _ := importedFor(t, maps.Request{File: file, Mapping: g.Mapping, Mandate: mandate})
		again, _, _ := importedFor(t, maps.Request{File: file, Mapping: g.Mapping, Mandate: mandate})
		if want != "" && site != want || want == "" && !strings.HasPrefix(string(site), "mandate-") {
			t.Errorf("%s: site %s", mandate, site)
		}
		for id := range items {
			if other, ok := seen[id]; ok || !again[id] {
				t.Errorf("%s: product %d, which %q has, too", mandate, id, other)
			}
			seen[id] = mandate
		}
	}
	earlier := must.Get(maps.ParseMapping([]byte(strings.NewReplacer("{mandate}/", "", "{mandate}_", "").Replace(string(g.Text)))))(t)
	one, site, _ := importedFor(t, maps.Request{File: file, Mapping: earlier, Mandate: "One"})
	two, _, _ := importedFor(t, maps.Request{File: file, Mapping: earlier, Mandate: "Two & Co"})
	for id := range one {
		if !two[id] || site != "prices" || id != contracts.DeriveID[contracts.ItemID]("key", "prices", "prices", "A") {
			t.Errorf("product %d of site %s", id, site)
		}
	}
}

// TestOwnSiteOfAnother: a mandate whose name is in short that of another one does
// not get the other's guessed site; who has it already keeps it.
func TestOwnSiteOfAnother(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.csv")
	must.Do(t, os.WriteFile(file, []byte("ean,name,seen_at,price\n4006381333931,Pen,2026-02-01T09:00:00Z,1.20\n"), 0o600))
	g := must.Get(maps.GuessMapping(file, "", guessNow))(t)
	var orders []*contracts.Order
	imported := func(mandate string, m *maps.Mapping) error {
		_, err := maps.Import(t.Context(), maps.Request{
			File: file, Mapping: m, Mandate: mandate, Login: "me", PasswordHash: phc("c2FsdHNhbHQ"),
			Standing: func(context.Context, func(contracts.ItemID) bool) (*maps.Standing, error) {
				s := maps.NewStanding(mandate)
				for _, o := range orders {
					s.Add(o)
				}
				return s, nil
			},
		}, func(_ context.Context, e *event.Event) error {
			if o, ok := e.Data.(*contracts.Order); ok {
				orders = append(orders, o)
			}
			return nil
		})
		return err
	}
	must.Do(t, imported("Müller GmbH", g.Mapping))
	if err := imported("Muller GmbH", g.Mapping); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), `the site muller-gmbh_prices, made from the mandate's name "Muller GmbH"`) || !strings.Contains(err.Error(), "columns.site.value") {
		t.Errorf("a name that is the same in short: %v", err)
	}
	must.Do(t, imported("Müller GmbH", g.Mapping))
	must.Do(t, imported("Meier", g.Mapping))

	shared := *g.Mapping
	shared.Columns.Site.Value = "muller-gmbh_prices" // given in the mapping
	must.Do(t, imported("Muller GmbH", &shared))
	must.Do(t, imported("Muller GmbH", g.Mapping))
	must.Do(t, imported("Müller GmbH", g.Mapping))
}

// TestAQuoteThatIsNotClosed: the rejection names the lines that the quote
// swallows.
func TestAQuoteThatIsNotClosed(t *testing.T) {
	row := "a.example,%s,,Pen,2026-02-01 09:00:00,1.20,,EUR,yes,,,,\n"
	text := header + strings.ReplaceAll(row, "%s", "A") + "a.example,B,,\"Pen,2026-02-01\n" + strings.ReplaceAll(row, "%s", "C") + strings.ReplaceAll(row, "%s", "D")
	r := mustImport(t, head+"csv: {lazyQuotes: true}\n", text)
	if want := "a quotation mark is not closed; lines 3 to 5 are lost"; !strings.Contains(r.rejects, want) {
		t.Errorf("%s\nhas no %q", r.rejects, want)
	}
}

// TestDomainsBeyondASCII: a shop's domain with an umlaut is converted to its
// name in the DNS; what is not a domain is rejected.
func TestDomainsBeyondASCII(t *testing.T) {
	rows := "müller.de,A,,Pen,2026-02-01 09:00:00,1.20,,EUR,yes,,,,\nXN--MLLER-KVA.de,B,,Cup,2026-02-01 09:00:00,2.20,,EUR,yes,,,,\n" +
		"Käse Meier,C,,Cup,2026-02-01 09:00:00,2.20,,EUR,yes,,,,\n"
	r := mustImport(t, head+"defaultSite: {type: shop, country: DE, currency: EUR}\n", header+rows)
	if len(r.sum.Sites) != 1 || r.sum.Sites[0].Site != "xn--mller-kva.de" || r.sum.Sites[0].Rows != 2 {
		t.Errorf("sites %+v", r.sum.Sites)
	}
	if got := r.sum.String(); !strings.Contains(got, "1 row      site (line 4)\n") || !strings.Contains(got, "line 4: site ") || !strings.Contains(got, "sites.NAME.site another key") {
		t.Errorf("it says:\n%s", got)
	}
}
