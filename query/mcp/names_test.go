package mcp_test

import (
	"fmt"
	"slices"
	"testing"

	"preismon/contracts"
)

// named adds items with names to order 5, with ids from 100 on, and one that
// only mandate 2 sees.
func named(names ...string) *market {
	m := newMarket()
	for i, name := range names {
		id := contracts.ItemID(100 + i)
		m.items = append(m.items, contracts.Item{ItemID: id, Name: name, Brand: "Brandt"})
		m.orders[0].Items = append(m.orders[0].Items, id)
	}
	m.items = append(m.items, contracts.Item{ItemID: 9000, Name: "Ibuprofen foreign"})
	m.orders[3].Items = append(m.orders[3].Items, 9000)
	return m
}

// An agent finds a product in one call by what people call it.
func TestItemsByName(t *testing.T) {
	m := named("Ibuprofen 400 mg", "Ibuprofen 600 mg", "Crème Café", "Straßenkreide", "Dolo-Ibuprofenol 400", "Zahnbürste")
	m.data = append(m.data, contracts.CustomerData{MandateID: 1, ItemID: 101, Category: "pain"})
	a := newAgents(t, m).agent(whole)
	for _, c := range []struct {
		arguments  object
		ids        []string
		misspelled bool
	}{
		{object{"name": "ibuprofen"}, []string{"100", "101", "104"}, false},
		{object{"name": "400 IBUPROFEN"}, []string{"100", "104"}, false},
		{object{"name": "ibuporfen"}, []string{"100", "101"}, true},
		{object{"name": "cafe creme"}, []string{"102"}, false},
		{object{"name": "strassenkreide"}, []string{"103"}, false},
		{object{"name": "zahnburste brandt"}, []string{"105"}, false},
		{object{"name": "ibuprofen 500"}, nil, false},
		{object{"name": "foreign"}, nil, false}, // mandate 2 sees one
		{object{"name": "ibuprofen", "category": "pain"}, []string{"101"}, false},
		{object{"name": "ibuprofen", "itemId": 104}, []string{"104"}, false},
	} {
		page := a.call("list_items", c.arguments).ok()
		var ids []string
		for _, i := range list(page, "data") {
			ids = append(ids, at(i, "itemId").(string))
		}
		misspelled, _ := at(page, "search", "misspelled").(bool)
		if !slices.Equal(ids, c.ids) || at(page, "search", "matches") != float64(len(c.ids)) || misspelled != c.misspelled {
			t.Errorf("%v: %v %v", c.arguments, ids, page["search"])
		}
	}
	a.call("list_items", object{"name": "!!"}).failed("MVP_VALIDATION_ERROR")
}

// Pages of a search have every match once, and each says how many there are.
func TestItemsByNameInPages(t *testing.T) {
	var names []string
	for i := range 25 {
		names = append(names, fmt.Sprintf("%sMarker %d", []string{"", "Text"}[i%2], i))
	}
	a := newAgents(t, named(names...)).agent(whole)
	var ids []string
	arguments := object{"name": "marker", "limit": 4}
	for {
		page := a.call("list_items", arguments).ok()
		if at(page, "search", "matches") != 26.0 {
			t.Fatalf("search %v", page["search"])
		}
		for _, i := range list(page, "data") {
			ids = append(ids, at(i, "itemId").(string))
		}
		cursor, more := at(page, "completeness", "nextCursor").(string)
		if !more {
			break
		}
		arguments["cursor"] = cursor
	}
	if len(ids) != 26 || ids[0] != "11" || ids[1] != "100" || ids[14] != "101" {
		t.Errorf("%d: %v", len(ids), ids)
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 26 {
		t.Error("one is there twice")
	}
}
