package market_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/ingest/market"
)

type catalog struct {
	sites      map[contracts.SiteKey]contracts.Site
	items      map[contracts.ItemID]contracts.Item
	mandates   map[contracts.MandateID]contracts.Mandate
	accounts   map[string]contracts.Account
	orders     map[contracts.OrderID]contracts.Order
	references map[owned]contracts.ReferencePrices
	data       map[owned]contracts.CustomerData
	jobs       map[contracts.FileJobID]contracts.FileJob
	archives   map[contracts.ArchiveID]contracts.FileArchive
	imports    map[contracts.ArchiveID]bool
}

// owned is an item of a mandate.
type owned struct {
	mandate contracts.MandateID
	item    contracts.ItemID
}

func readCatalog(m *market.Market) catalog {
	c := catalog{
		map[contracts.SiteKey]contracts.Site{},
		map[contracts.ItemID]contracts.Item{},
		map[contracts.MandateID]contracts.Mandate{},
		map[string]contracts.Account{},
		map[contracts.OrderID]contracts.Order{},
		map[owned]contracts.ReferencePrices{},
		map[owned]contracts.CustomerData{},
		map[contracts.FileJobID]contracts.FileJob{},
		map[contracts.ArchiveID]contracts.FileArchive{},
		map[contracts.ArchiveID]bool{},
	}
	for e := range m.Catalog() {
		switch d := e.Data.(type) {
		case *contracts.Site:
			c.sites[d.Site] = *d
		case *contracts.Item:
			c.items[d.ItemID] = *d
		case *contracts.Mandate:
			c.mandates[d.MandateID] = *d
		case *contracts.Account:
			name, _, _ := strings.Cut(d.LoginIdentifier, "@")
			c.accounts[name] = *d
		case *contracts.Order:
			c.orders[d.OrderID] = *d
		case *contracts.ReferencePrices:
			c.references[owned{d.MandateID, d.ItemID}] = *d
		case *contracts.CustomerData:
			c.data[owned{d.MandateID, d.ItemID}] = *d
		case *contracts.FileJob:
			c.jobs[d.FileJobID] = *d
		case *contracts.FileArchive:
			c.archives[d.ArchiveID] = *d
			c.imports[d.ArchiveID] = e.Kind == event.KindImportArchive
		}
	}
	return c
}

var fullCatalog = sync.OnceValues(func() (*market.Market, catalog) {
	m, err := market.New(market.Config{Seed: 1, Now: now})
	if err != nil {
		panic(err)
	}
	return m, readCatalog(m)
})

// full returns the market of the demo, created once.
func full(t testing.TB) (*market.Market, catalog) {
	t.Helper()
	return fullCatalog()
}

// sees returns the items that an account sees at any site.
func (c *catalog) sees(a contracts.Account) map[contracts.ItemID]bool {
	ids := map[contracts.ItemID]bool{}
	for _, o := range c.orders {
		if o.MandateID != a.MandateID || !o.Active || !a.Scope.AllOrders && !slices.Contains(a.Scope.Orders, o.OrderID) {
			continue
		}
		for _, s := range o.Sites {
			if a.Scope.AllSites || slices.Contains(a.Scope.Sites, s) {
				for _, id := range o.Items {
					ids[id] = true
				}
			}
		}
	}
	return ids
}

func TestAccounts(t *testing.T) {
	m, c := full(t)
	if len(c.mandates) != 4 || len(c.accounts) != 9 || len(c.sites) != 14 || len(c.items) != 1_500 {
		t.Fatalf("%d mandates, %d accounts, %d sites, %d items", len(c.mandates), len(c.accounts), len(c.sites), len(c.items))
	}
	logins := map[string]bool{}
	for _, a := range m.Accounts() {
		name, _, _ := strings.Cut(a.LoginIdentifier, "@")
		rec := c.accounts[name]
		if logins[a.LoginIdentifier] || rec.LoginIdentifier != a.LoginIdentifier || c.mandates[rec.MandateID].Name != a.Mandate || a.Sees == "" {
			t.Errorf("login %+v, record %+v", a, rec)
		}
		logins[a.LoginIdentifier] = true
		if ok, err := argon2id.ComparePasswordAndHash(a.Password, rec.PasswordHash); !ok || err != nil {
			t.Errorf("%s: the password does not match its hash: %v", a.LoginIdentifier, err)
		}
		if !strings.HasPrefix(rec.PasswordHash, "$argon2id$v=19$m=19456,t=2,p=1$") {
			t.Errorf("hash %s", rec.PasswordHash)
		}
		if rec.Administrative != strings.HasPrefix(a.LoginIdentifier, "admin@") {
			t.Errorf("%s: administrative %t", a.LoginIdentifier, rec.Administrative)
		}
	}
	anna, bert, clara, emil := c.accounts["anna"], c.accounts["bert"], c.accounts["clara"], c.accounts["emil"]
	if !anna.Scope.WholeMandate() || len(c.sees(anna)) < 500 {
		t.Errorf("anna sees %d items by %+v", len(c.sees(anna)), anna.Scope)
	}
	if s := bert.Scope; s.AllOrders || len(s.Orders) != 1 || !s.AllSites || c.orders[s.Orders[0]].MandateID != bert.MandateID || len(c.sees(bert)) == 0 {
		t.Errorf("bert's scope %+v", s)
	}
	if s := clara.Scope; !s.AllOrders || s.AllSites || len(s.Sites) != 2 || len(c.sees(clara)) == 0 {
		t.Errorf("clara's scope %+v", s)
	}
	if slices.Contains(emil.Permissions, contracts.ReadFiles) || len(emil.Permissions) != 4 {
		t.Errorf("emil's permissions %v", emil.Permissions)
	}
	equals.Is(t, 0, len(c.sees(c.accounts["gustav"])), "gustav sees items")
	hanna := c.accounts["hanna"]
	if n, most := len(c.sees(hanna)), c.mandates[hanna.MandateID].Package.MaxItems; n <= most {
		t.Errorf("hanna's orders hold %d items, her package %d: the cap does not show", n, most)
	}
	shared := 0
	frida := c.accounts["frida"]
	for id := range c.sees(frida) {
		if c.sees(anna)[id] {
			shared++
		}
	}
	if frida.MandateID == anna.MandateID || shared != 80 {
		t.Errorf("anna and frida share %d items", shared)
	}
}

func TestReferences(t *testing.T) {
	_, c := full(t)
	have := map[string]int{}
	for key, r := range c.references {
		if _, ok := c.items[key.item]; !ok {
			t.Errorf("reference prices of an item that is none: %s", key.item)
		}
		sites, generic, types := 0, map[string]int{}, map[string]bool{}
		for i, p := range r.Prices {
			if p.AppliesToSite == "" {
				generic[string(p.CurrencyCode)+p.PriceType+p.ReferenceQuantity]++
			} else if sites++; c.sites[p.AppliesToSite].Site == "" {
				t.Errorf("a price for the site %q", p.AppliesToSite)
			}
			types[p.PriceType] = true
			have[string(p.CurrencyCode)]++
			for _, q := range r.Prices[:i] {
				if cmp.Equal(p, q) {
					have["duplicate"]++
				}
			}
		}
		switch {
		case len(r.Prices) == 0:
			have["empty"]++
		case len(r.Prices) == 1 && sites == 0:
			have["single"]++
		case len(types) > 1:
			have["several types"]++
		case sites > 0:
			have["per site"]++
		case slices.Max(slices.Collect(values(generic))) > 1:
			have["ambiguous or duplicate"]++
		}
	}
	for _, what := range []string{"empty", "single", "several types", "per site", "ambiguous or duplicate", "duplicate", "EUR", "JPY", "KWD"} {
		if have[what] == 0 {
			t.Errorf("no reference price is %s: %v", what, have)
		}
	}
	categories, priceLike, unsorted := map[contracts.MandateID]map[string]bool{}, 0, 0
	for _, d := range c.data {
		if categories[d.MandateID] == nil {
			categories[d.MandateID] = map[string]bool{}
		}
		if d.Category == "" {
			unsorted++
		} else {
			categories[d.MandateID][d.Category] = true
		}
		if d.Fields["Referenzpreis"] != "" {
			priceLike++
		}
	}
	if len(categories) != 3 || priceLike != 3 || unsorted == 0 {
		t.Errorf("categories %v, %d price-like fields, %d items in no category", categories, priceLike, unsorted)
	}
	for id, names := range categories {
		if len(names) < 3 {
			t.Errorf("mandate %s has the categories %v", id, names)
		}
	}
}

func values[K comparable, V any](m map[K]V) func(func(V) bool) {
	return func(yield func(V) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

func TestItems(t *testing.T) {
	_, c := full(t)
	have, locales := map[string]int{}, map[string]int{}
	asins, pzns := map[string]bool{}, map[string]bool{}
	eans := map[string][]contracts.Item{}
	for _, it := range c.items {
		if it.EAN != "" {
			have["ean"]++
			eans[it.EAN] = append(eans[it.EAN], it)
			if !contracts.ValidEAN(it.EAN) || len(it.EAN) != 13 || it.EAN[:2] != "29" {
				t.Errorf("ean %s", it.EAN)
			}
		}
		if it.PZN != "" {
			have["pzn"]++
			if !contracts.ValidPZN(it.PZN) || pzns[it.PZN] {
				t.Errorf("pzn %s", it.PZN)
			}
			pzns[it.PZN] = true
		}
		if it.ASIN != "" {
			have["asin"]++
			locales[it.ASINLocale]++
			if !contracts.ValidASIN(it.ASIN) || !strings.HasPrefix(it.ASIN, "ZDEMO") || asins[it.ASIN] {
				t.Errorf("asin %s", it.ASIN)
			}
			asins[it.ASIN] = true
		}
		if it.EAN == "" && it.PZN == "" && it.ASIN == "" {
			have["no identifier"]++
		}
		if it.Brand == "" {
			have["no brand"]++
		}
		if it.Manufacturer == "" {
			have["no manufacturer"]++
		}
		if len(it.Name) > 250 {
			have["long name"]++
		}
		for what, part := range map[string]string{"umlaut": "ü", "quote": `"`, "backslash": `\N`} {
			if strings.Contains(it.Name, part) {
				have[what]++
			}
		}
	}
	for _, list := range eans {
		if len(list) > 1 {
			have["shared ean"]++
		}
		for _, it := range list[1:] {
			if it.ASINLocale == list[0].ASINLocale {
				t.Errorf("%s and %s share the ean %s at one market", it.ItemID, list[0].ItemID, it.EAN)
			}
		}
	}
	for _, what := range []string{
		"ean", "pzn", "asin", "no identifier", "no brand", "no manufacturer", "long name",
		"umlaut", "quote", "backslash", "shared ean",
	} {
		if have[what] == 0 {
			t.Errorf("no item has: %s", what)
		}
	}
	if len(locales) != 3 || locales["de"] == 0 || locales["fr"] == 0 || locales["co.jp"] == 0 {
		t.Errorf("locales %v", locales)
	}
	t.Log(have, locales)
}

// Markets of different sizes know the same items by the same ids.
func TestItemsStayAtAnyScale(t *testing.T) {
	_, large := full(t)
	small := readCatalog(newMarket(t, market.Config{Seed: 1, Scale: 0.05}))
	for id, it := range small.items {
		if it.ASINLocale == "de" && !cmp.Equal(large.items[id], it) {
			t.Errorf("item %s is %+v and %+v", id, it, large.items[id])
		}
	}
}

func TestOrders(t *testing.T) {
	m, c := full(t)
	conflicts, inactive, legacy, unplanned := 0, 0, 0, 0
	for _, o := range c.orders {
		for _, id := range o.Items {
			if _, ok := c.items[id]; !ok {
				t.Fatalf("order %s has an item that is none", o.Alias)
			}
		}
		for _, s := range o.Sites {
			if c.sites[s].Site == "" {
				t.Fatalf("order %s has the site %q", o.Alias, s)
			}
		}
		if len(o.Items) == 0 {
			t.Errorf("order %s has no items", o.Alias)
		}
		if !o.Active {
			inactive++
			continue
		}
		if o.Legacy {
			legacy++
			held := 0
			for _, m := range o.Memberships {
				if m.Holds(o.Sites[0]) {
					held++
				}
			}
			if held != len(o.Items)-2 || len(o.Memberships) != len(o.Items)-1 {
				t.Errorf("order %s: %d of %d items are members, %d on record", o.Alias, held, len(o.Items), len(o.Memberships))
			}
		}
		if o.Schedule == nil {
			unplanned++
			continue
		}
		if len(o.Counters) != len(o.Sites) || o.Schedule.LastRunAt.After(now) || !o.Schedule.NextRunAt.After(now) {
			t.Errorf("order %s: %+v %+v", o.Alias, o.Schedule, o.Counters)
		}
		for _, n := range o.Counters {
			if n.ConfiguredObservations == 0 {
				t.Errorf("order %s is never captured at %s", o.Alias, n.Site)
			}
			if n.ProcessedObservations > n.ExpectedProcessedByNow || n.ExpectedProcessedByNow > n.ConfiguredObservations {
				conflicts++
			}
		}
	}
	if conflicts != 1 || inactive != 1 || legacy != 1 || unplanned != 1 {
		t.Errorf("%d counters in conflict, %d inactive orders, %d of an older system, %d without a plan; want one each", conflicts, inactive, legacy, unplanned)
	}

	// The counters follow the day: none due at its start, all at its end.
	midnight := now.Truncate(24 * time.Hour)
	for at, due := range map[time.Time]func(contracts.SiteCounters) bool{
		midnight: func(n contracts.SiteCounters) bool { return n.ExpectedProcessedByNow == 0 },
		midnight.Add(24*time.Hour - time.Second): func(n contracts.SiteCounters) bool {
			return n.ExpectedProcessedByNow >= n.ConfiguredObservations-1
		},
	} {
		for e := range m.Orders(at) {
			o := e.Data.(*contracts.Order)
			for _, n := range o.Counters {
				if o.Alias != "freiwahl" && o.Alias != "neuheiten" && !due(n) {
					t.Errorf("order %s at %s: %+v", o.Alias, at, n)
				}
			}
		}
	}
}
