package mcp_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/explorer"
)

// shown is what the page reads from an address.
type shown struct {
	View, Site, Items string
	Hours             int
	From, To          int64 // in ms
	Zone, Own, Filter string
	Order             string
	OrderID, Merchant string
	Brand, IsPrime    string
	OwnMerchant       string
	Since             string
	Unread            []string
}

// recall has the page's modules read its addresses.
func recall(t *testing.T, addresses []string) (all []shown) {
	t.Helper()
	var parts []string
	for _, a := range addresses {
		hash, ok := strings.CutPrefix(a, baseURL+explorer.PagePath)
		if !ok {
			t.Fatalf("%s is no address of the explorer", a)
		}
		parts = append(parts, hash)
	}
	text := must.Get(json.Marshal(parts))(t)
	filters := []explorer.Filter{}
	for _, p := range query.ResultsParameters {
		if p.Kind == query.FilterParameter {
			filters = append(filters, explorer.Filter{Name: p.Name, Type: p.Type(), Values: p.Values})
		}
	}
	inForm := must.Get(json.Marshal(filters))(t)
	out, err := exec.CommandContext(t.Context(), "node", "--no-warnings", "testdata/recall.mjs", "../explorer/web", string(text), string(inForm)).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	must.Do(t, json.Unmarshal(out, &all))
	return all
}

// Each answer has the address of the page that shows the same to people, and
// the page reads all of it.
func TestThePageWithTheSameQuestion(t *testing.T) {
	ms := func(text string) int64 {
		instant := must.Get(time.Parse(time.RFC3339, text))(t)
		return instant.UnixMilli()
	}
	from, to := "2026-11-20T00:00:00Z", "2026-11-21T12:00:00Z"
	const untilNow = -1
	cases := []struct {
		tool      string
		arguments object
		want      shown
		omits     []any
	}{
		{"list_sites", object{}, shown{View: "sites"}, nil},
		{"list_sites", object{"site": "shop-one"}, shown{View: "sites", Site: "shop-one"}, nil},
		{"list_items", object{"name": "marker & more"}, shown{View: "assortment", Filter: "marker & more"}, nil},
		{"list_items", object{"itemId": 11}, shown{View: "history", Items: "11"}, nil},
		{"list_asin_locales", object{}, shown{View: "assortment"}, nil},
		{"list_orders", object{}, shown{View: "orders"}, nil},
		{"list_orders", object{"orderId": 5}, shown{View: "orders", Order: "5"}, nil},
		{"list_orders", object{"alias": "shop window"}, shown{View: "orders", Filter: "shop window"}, nil},
		{"get_order_detail", object{"orderId": 5}, shown{View: "orders", Order: "5"}, nil},
		{"list_order_observation_quality", object{"orderId": 5, "site": "shop-one"}, shown{View: "orders", Order: "5", Site: "shop-one"}, []any{"site"}},
		{"list_results", object{"itemId": "11", "capturedFrom": from, "capturedTo": to}, shown{View: "history", Items: "11", From: ms(from), To: ms(to)}, nil},
		{
			"list_results",
			object{"ean": "4006381333931", "site": "shop-one", "capturedFrom": "2026-11-20", "capturedTo": "2026-11-20", "timezone": "Europe/Berlin"},
			shown{View: "history", Site: "shop-one", Items: "11", From: ms("2026-11-19T23:00:00Z"), To: ms("2026-11-20T22:59:59Z") + 999, Zone: "Europe/Berlin"},
			nil,
		},
		{"list_results", object{"itemId": "11", "brand": nil, "isPrime": nil, "capturedFrom": from, "capturedTo": to}, shown{View: "history", Items: "11", From: ms(from), To: ms(to)}, nil},
		{"list_results", object{"site": "shop-one", "latestPerPair": true}, shown{View: "latest", Site: "shop-one"}, []any{"latestPerPair"}},
		{"list_results", object{"pzn": "01234562", "latestObservationPerPair": true}, shown{View: "latest", Items: "12"}, nil},
		{"list_results", object{"orderId": 5, "latestObservationPerPair": true, "merchant": "A & B"}, shown{View: "latest", OrderID: "5", Merchant: "A & B"}, nil},
		{"list_results", object{"site": "shop-one", "latestObservationPerPair": true, "brand": "B", "isPrime": false}, shown{View: "latest", Site: "shop-one", Brand: "B", IsPrime: "false"}, nil},
		{"list_results", object{"site": "shop-one", "isPrime": false, "globalScope": false, "capturedFrom": from, "capturedTo": to}, shown{View: "assortment", Site: "shop-one", From: ms(from), To: ms(to)}, []any{"isPrime"}},
		{"list_results", object{"orderId": 5, "merchant": "A & B", "capturedFrom": from, "capturedTo": to, "limit": 5, "includeCoverage": true}, shown{View: "assortment", OrderID: "5", From: ms(from), To: ms(to)}, []any{"merchant"}},
		{"list_results", object{"orderId": 5, "itemId": 11, "merchant": "A & B", "manufacturer": "M", "capturedFrom": from, "capturedTo": to}, shown{View: "history", Items: "11", OrderID: "5", Merchant: "A & B", From: ms(from), To: ms(to)}, []any{"manufacturer"}},
		{"list_results", object{"site": "shop-one", "latestObservationPerPair": true, "capturedFrom": from, "capturedTo": to}, shown{View: "latest", Site: "shop-one"}, []any{"capturedFrom", "capturedTo"}},
		{"list_result_changes", object{"orderId": 5, "since": from, "until": to}, shown{View: "assortment", OrderID: "5", From: ms(from), To: ms(to)}, nil},
		{"list_result_changes", object{"site": "shop-one", "since": from, "until": to, "kind": "PRICE_UP"}, shown{View: "assortment", Site: "shop-one", From: ms(from), To: ms(to)}, []any{"kind"}},
		{"list_result_changes", object{"site": "shop-one", "since": from, "ownMerchant": "A & B"}, shown{View: "overview", Site: "shop-one", Since: from, OwnMerchant: "A & B"}, nil},
		{"list_result_changes", object{"orderId": 5, "since": from}, shown{View: "assortment", OrderID: "5", From: ms(from), To: untilNow}, nil},
		{"get_market_price_position", object{"orderId": 5}, shown{View: "assortment", OrderID: "5"}, nil},
		{"list_results", object{"site": "shop-one", "capturedFrom": from, "capturedTo": to}, shown{View: "assortment", Site: "shop-one", From: ms(from), To: ms(to)}, nil},
		{"list_result_changes", object{"itemId": 11, "since": from, "until": to}, shown{View: "history", Items: "11", From: ms(from), To: ms(to)}, nil},
		{"list_result_changes", object{"site": "shop-one", "since": from}, shown{View: "overview", Site: "shop-one", Since: from}, nil},
		{"get_market_price_position", object{"ean": "4006381333931", "candidatePrice": "1234.5"}, shown{View: "history", Items: "11", Own: "1,234.50"}, nil},
		{"get_market_price_position", object{"site": "shop-one"}, shown{View: "overview", Site: "shop-one"}, nil},
		{"describe_results_contract", object{}, shown{View: "overview"}, nil},
		{"list_order_export_history", object{"orderId": 5}, shown{View: "orders", Order: "5"}, nil},
		{"list_order_import_history", object{"orderId": "5"}, shown{View: "orders", Order: "5"}, nil},
		{"download_order_export_file", object{"orderId": 5, "name": "prices.csv"}, shown{View: "orders", Order: "5"}, []any{"name"}},
		{"download_order_import_file", object{"orderId": 5}, shown{View: "orders", Order: "5"}, nil},
	}
	agents := newAgents(t, newMarket())
	agents.put(query.Exports, 5, "prices.csv", "prices.csv", []byte("price\n"))
	agents.put(query.Imports, 5, "items.csv", "items.csv", []byte("item\n"))
	a := agents.agent(whole)
	var pages []string
	for _, c := range cases {
		summary := at(a.call(c.tool, c.arguments).ok(), "summary").(object)
		pages = append(pages, summary["page"].(string))
		omits, _ := summary["pageOmits"].([]any)
		equals.Checkf(t, c.omits, omits, "%s %v omits", c.tool, c.arguments)
	}
	for i, got := range recall(t, pages) {
		want := cases[i].want
		if want.Zone == "" { // the zone of the person that opens the page
			want.Zone = got.Zone
		}
		if want.From == 0 { // the page's default without a window
			want.Hours = 168
		}
		if age := time.Since(time.UnixMilli(got.To)); want.To == untilNow && age > -time.Minute && age < time.Minute {
			want.To = got.To
		}
		want.Unread = []string{}
		equals.Checkf(t, want, got, "%s %v: %s", cases[i].tool, cases[i].arguments, pages[i])
	}
	if r := a.call("get_order_detail", object{"orderId": 99}); strings.Contains(string(r.Structured), explorer.PagePath) {
		t.Errorf("a refusal has a page: %s", r.Structured)
	}
}
