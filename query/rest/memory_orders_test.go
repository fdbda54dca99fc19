package rest_test

import (
	"context"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/query"
)

// What the store in memory knows of searches and orders: order 5, whose pairs
// are items 11 and 12 at two sites, and order 6, which is not active.

func (m *memory) ItemCandidates(_ context.Context, _ query.Visibility, q query.ItemsQuery) (found []contracts.ItemID, err error) {
	for _, i := range m.items {
		s := query.Selectors{Item: q.ItemID, EAN: q.EAN, PZN: q.PZN, ASIN: q.ASIN, ASINLocale: q.ASINLocale}
		if i.ItemID > q.After && selects(s, i) && len(found) < q.Limit {
			found = append(found, i.ItemID)
		}
	}
	return found, m.ask("ItemCandidates")
}

func (m *memory) VisibleItems(ctx context.Context, _ query.Visibility, items []contracts.ItemID, limit int) ([]contracts.Item, error) {
	found, err := m.ItemRecords(ctx, items)
	return found[:min(len(found), limit)], err
}

func (m *memory) ASINLocales(context.Context, query.Visibility, int) ([]string, error) {
	return []string{"co.uk", "de"}, m.ask("ASINLocales")
}

func (m *memory) Orders(_ context.Context, _ query.Visibility, q query.OrdersQuery) (found []contracts.Order, err error) {
	created := time.Date(2026, 1, 15, 8, 0, 0, 0, time.UTC)
	for _, o := range []contracts.Order{
		{OrderID: 5, Alias: "main", Name: "Main", Active: true, CreatedAt: created, Schedule: &contracts.Schedule{IntervalMinutes: 60}},
		{OrderID: 6, Name: "Ended", CreatedAt: created},
	} {
		if o.OrderID > q.After && (q.OrderID == 0 || o.OrderID == q.OrderID) && (q.Alias == "" || o.Alias == q.Alias) && len(found) < q.Limit {
			found = append(found, o)
		}
	}
	return found, m.ask("Orders")
}

func (m *memory) OrderScope(context.Context, query.Visibility, []contracts.OrderID, int) (query.OrderScope, error) {
	return query.OrderScope{References: 2, Candidates: 4}, m.ask("OrderScope")
}

func (m *memory) OrderSites(context.Context, query.Visibility, []contracts.OrderID, int) ([]query.OrderSite, error) {
	return []query.OrderSite{{Order: 5, Site: "shop-one"}, {Order: 5, Site: "market-de"}}, m.ask("OrderSites")
}

func (m *memory) OrderPairs(_ context.Context, _ query.Visibility, q query.OrderPairsQuery) (found []query.OrderPair, err error) {
	for _, p := range []contracts.Pair{{Item: 11, Site: "market-de"}, {Item: 11, Site: "shop-one"}, {Item: 12, Site: "market-de"}, {Item: 12, Site: "shop-one"}} {
		if p.Compare(q.After) > 0 && (q.Site == "" || q.Site == p.Site) && slices.Contains(q.Orders, 5) && len(found) < q.Limit {
			found = append(found, query.OrderPair{Pair: p, Orders: []contracts.OrderID{5}, CapturedAt: time.Now(), Outcome: contracts.PriceObserved})
		}
	}
	return found, m.ask("OrderPairs")
}

func (m *memory) Memberships(context.Context, query.Visibility, []contracts.OrderID, []contracts.ItemID) (map[contracts.OrderID]map[contracts.ItemID]contracts.Membership, error) {
	return nil, m.ask("Memberships")
}
