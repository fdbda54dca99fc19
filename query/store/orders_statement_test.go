package store

import (
	"testing"

	"preismon/contracts"
	"preismon/query"
)

// TestOrderStatements shows the SQL and the values of the reads of orders and
// items, for an account that sees all of its mandate and for one that does not.
func TestOrderStatements(t *testing.T) {
	whole := query.Visibility{Mandate: 7, Versions: []uint64{3}, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
	narrow := query.Visibility{Mandate: 7, Versions: []uint64{3}, Scope: contracts.AccountScope{Orders: []contracts.OrderID{1, 2}, Sites: []contracts.SiteKey{"a.example", "b.example"}}}
	several := query.Visibility{Mandate: 7, Versions: []uint64{3, 4, 5}, Scope: whole.Scope}
	two := []contracts.OrderID{2, 9}
	for name, st := range map[string]statement{
		"orders_whole":             ordersStatement(whole, query.OrdersQuery{After: 4, Limit: 101}),
		"orders_narrow":            ordersStatement(narrow, query.OrdersQuery{OrderID: 2, Alias: "it's\t\\N", Limit: 101}),
		"order_scope_whole":        orderScope(whole, two, 10_001),
		"order_scope_narrow":       orderScope(narrow, two, 10_001),
		"order_sites_narrow":       orderSites(narrow, two, 10_001),
		"order_pairs_whole":        orderPairs(1, whole, query.OrderPairsQuery{Orders: two, Limit: 10_000}),
		"order_pairs_narrow":       orderPairs(1, narrow, query.OrderPairsQuery{Orders: two[:1], Site: "b.example", After: contracts.Pair{Item: 5, Site: "a.example"}, Limit: 11}),
		"order_pairs_shards":       orderPairs(3, several, query.OrderPairsQuery{Orders: two, Limit: 10_000}),
		"memberships_narrow":       memberships(narrow, two, []contracts.ItemID{5, 6}),
		"item_candidates":          itemCandidates(narrow, query.ItemsQuery{EAN: "96385074", ASIN: "B000000001", ASINLocale: "de", After: 8, Limit: 2_001}),
		"item_candidates_category": itemCandidates(narrow, query.ItemsQuery{ASINLocale: "de", Category: "it's", After: 8, Limit: 2_001}),
		"categories_narrow":        categories(narrow, query.CategoriesQuery{Limit: 1_001}),
		"categories_one":           categories(whole, query.CategoriesQuery{Category: "Garden", Limit: 1}),
		"items_of_narrow":          itemsOf(narrow, []contracts.ItemID{9, 10}, 101),
	} {
		t.Run(name, func(t *testing.T) { goldenStatement(t, name, st) })
	}
}
