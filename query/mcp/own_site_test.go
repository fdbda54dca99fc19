package mcp_test

import (
	"slices"
	"strings"
	"testing"
)

// A caller with a shop of its own compares that shop's offers, as in the read of
// /ext/v1/position.
func TestPositionsOfTheOwnSite(t *testing.T) {
	m := broad(3, 1)
	a := newAgents(t, m).agent(whole)
	page := a.call("get_market_price_position", object{"ownSite": "shop-one"}).ok()
	if got := at(page, "query", "beside"); got != "site" {
		t.Errorf("compared with %v", got)
	}
	for _, p := range list(page, "data") {
		if at(p, "ownSite") != "shop-one" || at(p, "cheapest", "site") == "shop-one" {
			t.Errorf("%v", p)
		}
	}
	if len(list(page, "data")) != 3 {
		t.Errorf("%d positions", len(list(page, "data")))
	}
	a.call("get_market_price_position", object{"ownSite": "Shop One"}).failed("MVP_VALIDATION_ERROR")
	a.call("get_market_price_position", object{"ownSite": "shop-one", "ownMerchant": "M"}).failed("MVP_VALIDATION_ERROR")
	a.call("get_market_price_position", object{"ownSite": "shop-one", "candidatePrice": "1", "itemId": 100}).failed("MVP_VALIDATION_ERROR")
}

// An argument that a tool does not have is not replaced by one of which it says
// more: ownSite is no site.
func TestSimilarArguments(t *testing.T) {
	a := newAgents(t, newMarket()).agent(whole)
	for _, c := range []struct {
		tool, argument, similar string
	}{
		{"list_results", "ownSite", ""},
		{"list_results", "otherOrderId", ""},
		{"list_results", "compared_site", ""},
		{"list_sites", "mySite", ""},
		{"list_results", "orderID", "orderId"},
		{"list_results", "sites", "site"},
		{"list_results", "item_id", "itemId"},
		{"list_results", "siteKey", "site"},
	} {
		p := a.call(c.tool, object{c.argument: "x"}).failed("MVP_VALIDATION_ERROR")
		if p.Recovery == nil {
			t.Errorf("%s: no recovery", c.argument)
			continue
		}
		said, found := strings.CutPrefix(p.Recovery.Guidance, "In place of ")
		similar := strings.FieldsFunc(said, func(r rune) bool { return strings.ContainsRune(" :,.", r) })
		if found != (c.similar != "") || found && !slices.Contains(similar[1:], c.similar) {
			t.Errorf("%s of %s: %s", c.argument, c.tool, p.Recovery.Guidance)
		}
	}
}
