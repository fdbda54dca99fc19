package store

import (
	"testing"

	"preismon/contracts"
	"preismon/query"
)

// TestScopeStatements shows the SQL and the values of the reads of a scope
// under selectors.
func TestScopeStatements(t *testing.T) {
	whole := query.Visibility{Mandate: 7, Versions: []uint64{3}, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
	narrow := query.Visibility{Mandate: 7, Versions: []uint64{3}, Scope: contracts.AccountScope{Orders: []contracts.OrderID{1, 2}, Sites: []contracts.SiteKey{"a.example", "b.example"}}}
	for name, st := range map[string]statement{
		"pairs_by_site_whole":  pairsBySite(whole, query.Selectors{}),
		"pairs_by_site_narrow": pairsBySite(narrow, query.Selectors{Order: 2, EAN: "96385074", Site: "it's"}),
		"scope_items_narrow":   scopeItems(narrow, query.Selectors{Order: 2, ASIN: "B000000001", ASINLocale: "de"}, 61),
		"items_named_narrow": itemsNamed(narrow, query.ItemNames{
			EANs: []string{"96385074", "0000096385074"}, PZNs: []string{"12345678"}, ASINs: [][2]string{{"B000000001", "de"}}, Items: []contracts.ItemID{5, 6},
		}),
	} {
		t.Run(name, func(t *testing.T) { goldenStatement(t, name, st) })
	}
}
