package mcp_test

import (
	"strings"
	"testing"
)

// A note reports a selector that names nothing, with similar keys among those
// that the caller sees; what only others see is treated like what does not
// exist.
func TestAWrongKeyIsSaidToBeOne(t *testing.T) {
	a := newAgents(t, newMarket())
	for _, c := range []struct {
		tool      string
		arguments object
		note      string
	}{
		{"list_results", object{"site": "market-dd"}, `site "market-dd" is not among those you see. Similar: market-de (Market Germany), market-uk (Market Kingdom).`},
		{"list_results", object{"site": "shop-onne", "latestPerPair": true}, `site "shop-onne" is not among those you see. Similar: shop-one (Shop One).`},
		{"list_results", object{"site": "nowhere"}, `site "nowhere" is not among those you see: check it with list_sites.`},
		{"list_results", object{"orderId": 55}, `orderId "55" is not among those you see. Similar: 5 (Main).`},
		{"list_results", object{"itemId": 111}, `itemId "111" is not among those you see. Similar: 11 (Marker).`},
		{"list_results", object{"ean": "4006381333913"}, `ean "4006381333913" is not among those you see. Similar: 4006381333931 (Marker).`},
		{"list_results", object{"pzn": "01234526"}, `pzn "01234526" is not among those you see. Similar: 01234562 (Tablets).`},
		{"list_results", object{"itemId": 12, "ean": "4006381333931"}, `itemId "12 with ean 4006381333931" is not among those you see: check it with list_items.`},
		{"list_results", object{"itemId": 11, "site": "market-uk"}, "None of your orders watches this product at this site; each is watched elsewhere."},
		{"list_results", object{"itemId": 12, "site": "shop-one"}, ""}, // watched, and without a result
		{"list_results", object{"itemId": 11, "site": "shop-one"}, ""},
		{"list_result_changes", object{"site": "market-dd", "since": "2026-11-01T00:00:00Z"}, `site "market-dd" is not among those you see. Similar: market-de (Market Germany), market-uk (Market Kingdom).`},
		{"list_sites", object{"site": "market-kingdom"}, `site "market-kingdom" is not among those you see. Similar: market-uk (Market Kingdom).`},
		{"list_items", object{"asin": "B000000011", "asinLocale": "de"}, `asin "B000000011" is not among those you see. Similar: B000000001 (co.uk, Book), B000000001 (de, Book).`},
		{"list_orders", object{"orderId": 99}, `orderId "99" is not among those you see: check it with list_orders.`},
		{"list_orders", object{"alias": "mian"}, `alias "mian" is not among those you see. Similar: main (Main).`},
		{"list_orders", object{"alias": "main"}, ""},
		{"list_order_observation_quality", object{"orderId": 5, "site": "shop-0ne"}, `site "shop-0ne" is not among those you see. Similar: shop-one (Shop One).`},
	} {
		answer := a.agent(whole).call(c.tool, c.arguments).ok()
		if note, _ := answer["note"].(string); note != c.note {
			t.Errorf("%s %v:\n%s, want\n%s", c.tool, c.arguments, note, c.note)
		}
	}
	note := at(a.agent(whole).call("get_market_price_position", object{"itemId": 111, "candidatePrice": "1"}).ok(), "note").(string)
	if !strings.HasPrefix(note, `itemId "111" is not among those you see. Similar: 11 (Marker).`) || !strings.Contains(note, "No current offer") {
		t.Errorf("position: %s", note)
	}
	p := a.agent(whole).call("get_order_detail", object{"orderId": 55}).failed("ORDER_NOT_FOUND")
	if p.Recovery == nil || !strings.Contains(p.Recovery.Guidance, "Similar: 5 (Main).") {
		t.Errorf("recovery %+v", p.Recovery)
	}
	p = a.agent(whole).call("download_order_export_file", object{"orderId": "main"}).failed("ORDER_NOT_FOUND")
	if p.Recovery == nil || p.Recovery.Guidance != "orderId is the number that list_orders gives." {
		t.Errorf("recovery %+v", p.Recovery)
	}
}

// VIS-03: no note reveals what others see, or what the caller's account may not
// list.
func TestNotesRevealNothingOfOthers(t *testing.T) {
	a := newAgents(t, newMarket())
	foreign := func(site, order, item string) (all []string) {
		for _, arguments := range []object{{"site": site}, {"orderId": order}, {"itemId": item}} {
			note, _ := a.agent(oneOrder).call("list_results", arguments).ok()["note"].(string)
			all = append(all, note)
		}
		return all
	}
	there, nowhere := foreign("shop-far", "8", "15"), foreign("shop-fas", "9", "19")
	for i, note := range there {
		mine := strings.NewReplacer("shop-far", "shop-fas", `"8"`, `"9"`, `"15"`, `"19"`).Replace(note)
		if note == "" || mine != nowhere[i] || strings.Contains(note, "Far") || strings.Contains(note, "Foreign") {
			t.Errorf("%s\n%s", note, nowhere[i])
		}
	}
}
