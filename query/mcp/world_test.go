package mcp_test

import (
	"fmt"
	"time"

	"preismon/contracts"
	"preismon/query"
)

// newMarket is a small market. Mandate 1 has order 5 (items 11, 12 at the
// German market and shop-one) and order 6 (items 13, 14 at all sites); order 7
// is not active. Mandate 2 has order 8 with item 15 at shop-far.
func newMarket() *market {
	all := contracts.Permissions()
	scope := func(mandate contracts.MandateID, orders ...contracts.OrderID) query.Visibility {
		return query.Visibility{
			Mandate: mandate, Versions: []uint64{1}, Applied: true,
			Scope: contracts.AccountScope{AllOrders: len(orders) == 0, Orders: orders, AllSites: true},
		}
	}
	access := func(id contracts.AccountID, v query.Visibility, may []contracts.Permission) *query.Access {
		return &query.Access{Account: id, Permissions: may, Visibility: v}
	}
	created := time.Date(2026, 1, 15, 8, 0, 0, 0, time.UTC)
	m := &market{
		accounts: map[contracts.AccountID]*query.Access{
			whole:     access(whole, scope(1), all),
			oneOrder:  access(oneOrder, scope(1, 5), all),
			sitesOnly: access(sitesOnly, scope(1), []contracts.Permission{contracts.ReadSites}),
			foreigner: access(foreigner, scope(2), all),
		},
		sites: []contracts.Site{
			{Site: "market-de", Name: "Market Germany", SiteType: contracts.Marketplace, CountryCode: "DE", CurrencyCode: "EUR", Operator: "Market", CanonicalCountryMarket: true},
			{Site: "market-uk", Name: "Market Kingdom", SiteType: contracts.Marketplace, CountryCode: "GB", CurrencyCode: "GBP", Operator: "Market", CanonicalCountryMarket: true},
			{Site: "shop-far", Name: "Shop Far", SiteType: contracts.Shop, CountryCode: "US", CurrencyCode: "USD"},
			{Site: "shop-one", Name: "Shop One", SiteType: contracts.Shop, CountryCode: "DE", CurrencyCode: "EUR"},
		},
		items: []contracts.Item{
			{ItemID: 11, EAN: "4006381333931", Name: "Marker", Brand: "Example"},
			{ItemID: 12, PZN: "01234562", Name: "Tablets", Manufacturer: "Maker"},
			{ItemID: 13, ASIN: "B000000001", ASINLocale: "de", Name: "Book"},
			{ItemID: 14, ASIN: "B000000001", ASINLocale: "co.uk", Name: "Book"},
			{ItemID: 15, EAN: "96385074", Name: "Foreign"},
		},
		orders: []contracts.Order{
			{OrderID: 5, MandateID: 1, Alias: "main", Name: "Main", Active: true, CreatedAt: created, Items: []contracts.ItemID{11, 12}, Sites: []contracts.SiteKey{"market-de", "shop-one"}, Schedule: &contracts.Schedule{IntervalMinutes: 60}},
			{OrderID: 6, MandateID: 1, Name: "Books", Active: true, CreatedAt: created, Items: []contracts.ItemID{13, 14}, Sites: []contracts.SiteKey{"market-de", "market-uk", "shop-one"}},
			{OrderID: 7, MandateID: 1, Name: "Ended", CreatedAt: created},
			{OrderID: 8, MandateID: 2, Name: "Other", Active: true, CreatedAt: created, Items: []contracts.ItemID{15}, Sites: []contracts.SiteKey{"shop-far"}},
		},
		data: []contracts.CustomerData{
			{MandateID: 1, ItemID: 11, Category: "office", Fields: map[string]string{"shelf": "A 4"}},
			{MandateID: 1, ItemID: 13, Category: "books"},
			{MandateID: 2, ItemID: 15, Category: "secret"},
		},
		prices: []contracts.ReferencePrices{
			{MandateID: 1, ItemID: 11, Prices: []contracts.ReferencePrice{{AmountMinor: 1234, CurrencyCode: "EUR", PriceType: "purchase"}}},
			{MandateID: 1, ItemID: 12, Prices: []contracts.ReferencePrice{{AmountMinor: 100, CurrencyCode: "EUR"}, {AmountMinor: 200, CurrencyCode: "EUR"}}},
		},
	}
	// Every pair except (12, shop-one) has a capture each hour for 30 hours,
	// the newest 30 minutes ago; item 12 at market-de was unavailable last.
	start := moment().Add(-30 * time.Minute)
	for hour := range 30 {
		for i, pair := range []contracts.Pair{
			{Item: 11, Site: "market-de"},
			{Item: 11, Site: "shop-one"},
			{Item: 12, Site: "market-de"},
			{Item: 13, Site: "market-de"},
			{Item: 13, Site: "market-uk"},
			{Item: 15, Site: "shop-far"},
		} {
			r := observed{
				Pair: pair, at: start.Add(-time.Duration(hour) * time.Hour), seq: uint64(1000 - hour*10 + i), outcome: contracts.PriceObserved,
				price: int64(1000 + 10*i - hour), currency: "EUR", merchant: fmt.Sprintf("Merchant %d", i), buyBox: contracts.Flag(i % 3), title: "A title",
			}
			if pair.Site == "market-uk" {
				r.currency = "GBP"
			}
			if pair.Item == 12 && hour == 0 {
				r.outcome, r.price, r.currency, r.merchant = contracts.Unavailable, -1, "", ""
			}
			m.rows = append(m.rows, r)
		}
	}
	return m
}

// moment returns the current time in the resolution of captures.
func moment() time.Time { return time.Now().UTC().Truncate(contracts.Resolution) }
