package mcp_test

import (
	"slices"
	"testing"
	"time"

	"preismon/contracts"
)

// What changed, and where the caller stands, is told with the names of the
// products in one call, if a table asks for them.
func TestRecordsWithProductNames(t *testing.T) {
	m := broad(3, 4)
	m.items[slices.IndexFunc(m.items, func(i contracts.Item) bool { return i.ItemID == 102 })].Name = ""
	a := newAgents(t, m).agent(whole)
	for tool, arguments := range map[string]object{
		"list_result_changes":       {"since": moment().Add(-50 * time.Hour).Format(time.RFC3339), "globalScope": true},
		"get_market_price_position": {"ownSite": "shop-one"},
	} {
		arguments["fields"] = []string{"itemId", "productName"}
		page := a.call(tool, arguments).ok()
		ids := map[any]bool{}
		for _, row := range list(page, "rows") {
			cells := row.([]any)
			ids[cells[0]] = true
			if want := map[bool]any{true: nil, false: "Thing"}[cells[0] == "102"]; cells[1] != want {
				t.Errorf("%s: %v, want %v", tool, cells, want)
			}
		}
		if len(ids) != 3 {
			t.Errorf("%s: products %v", tool, ids)
		}
		arguments["limit"] = 1
		if rows := list(a.call(tool, arguments).ok(), "rows"); len(rows) != 1 || len(rows[0].([]any)) != 2 {
			t.Errorf("%s: rows %v", tool, rows)
		}
	}
}
