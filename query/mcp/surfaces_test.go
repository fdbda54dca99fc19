package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// twin is a question for both surfaces.
type twin struct {
	tool, path string // {orderId} in the path is an argument too
	arguments  object
}

func (q twin) rest() string {
	path, values := q.path, url.Values{}
	for name, value := range q.arguments {
		if strings.Contains(path, "{"+name+"}") {
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(fmt.Sprint(value)))
			continue
		}
		values.Set(name, fmt.Sprint(value))
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return path
}

var twins = []twin{
	{"list_sites", "/v1/sites", nil},
	{"list_sites", "/v1/sites", object{"limit": 2}},
	{"list_sites", "/v1/sites", object{"site": "shop-far"}},
	{"list_items", "/v1/items", nil},
	{"list_items", "/v1/items", object{"asin": "B000000001", "asinLocale": "de"}},
	{"list_items", "/v1/items", object{"itemId": 15}},
	{"list_asin_locales", "/v1/items/asin-locales", nil},
	{"list_orders", "/v1/orders", object{"includeMonitoring": true, "includeCoverage": true}},
	{"list_orders", "/v1/orders", object{"alias": "main"}},
	{"list_orders", "/v1/orders", object{"orderId": 8}},
	{"get_order_detail", "/v1/orders/{orderId}", object{"orderId": 5}},
	{"list_order_observation_quality", "/v1/orders/{orderId}/observation-quality", object{"orderId": 6, "site": "market-uk"}},
	{"list_order_observation_quality", "/v1/orders/{orderId}/observation-quality", object{"orderId": 5}},
	{"list_results", "/v1/results", object{"limit": 20}},
	{"list_results", "/v1/results", object{"site": "market-de", "sort": "asc", "timezone": "Asia/Tokyo", "capturedFrom": "2026-01-01", "limit": 5}},
	{"list_results", "/v1/results", object{"latestPerPair": true}},
	{"list_results", "/v1/results", object{"itemId": 15}},
	{"list_results", "/v1/results", object{
		"ean": "4006381333931", "latestObservationPerPair": true, "includeCoverage": true, "includeOrderIds": true, "includeCustomerData": true,
		"includeExportFields": true, "includeIdentity": true,
	}},
	{"describe_results_contract", "/v1/results/capabilities", nil},
	{"list_order_export_history", "/v1/orders/{orderId}/exports/history", object{"orderId": 5, "dateFrom": "2026-03-01", "exportName": "Daily"}},
	{"list_order_import_history", "/v1/orders/{orderId}/imports/history", object{"orderId": 5, "name": "a.csv"}},
}

// GEN-03a, GEN-03b, TOOL-02: the same question has the same answer, for every
// account that may ask it.
func TestBothSurfacesAnswerTheSame(t *testing.T) {
	a := newAgents(t, newMarket())
	a.put("export", 5, "a.csv", "a.csv", []byte("x"))
	a.put("import", 5, "a.csv", "a.csv", []byte("y"))
	for _, account := range []contracts.AccountID{whole, oneOrder, foreigner} {
		for _, q := range twins {
			agent := a.agent(account)
			over := agent.get(q.rest())
			got := agent.call(q.tool, q.arguments)
			var want, have object
			must.Do(t, json.Unmarshal([]byte(over.body), &want))
			have = got.members()
			if got.IsError != (over.status != 200) {
				t.Errorf("%s %v as %d: isError %t, REST %d", q.tool, q.arguments, account, got.IsError, over.status)
			}
			delete(have, "summary")
			delete(have, "completeness")
			delete(have, "recovery")
			delete(have, "note")
			if q.tool == "list_order_observation_quality" {
				for _, pair := range list(have, "data") {
					delete(pair.(object), "nextDueAt") // which REST does not return
				}
			}
			windowless(want)
			windowless(have)
			equals.Checkf(t, want, have, "%s %v as %d", q.tool, q.arguments, account)
		}
	}
}

// windowless removes what differs from call to call: bounds that default to
// now, and sealed cursors.
func windowless(page object) {
	if query, ok := page["query"].(object); ok {
		delete(query, "capturedFrom")
		delete(query, "capturedTo")
	}
	if paging, ok := page["paging"].(object); ok && paging["nextCursor"] != nil {
		paging["nextCursor"] = "sealed"
	}
}

// GEN-03c, RES-13, MCP-16a: the same wrong question has the same refusal, and a
// tool reports it in its result.
func TestBothSurfacesRefuseTheSame(t *testing.T) {
	a := newAgents(t, newMarket()).agent(whole)
	for _, q := range []twin{
		{"list_sites", "/v1/sites", object{"limit": 0}},
		{"list_sites", "/v1/sites", object{"limit": "many"}},
		{"list_sites", "/v1/sites", object{"cursor": "made-up"}},
		{"list_sites", "/v1/sites", object{"nonsense": true}},
		{"list_items", "/v1/items", object{"asin": "B000000001"}},
		{"list_items", "/v1/items", object{"ean": "12"}},
		{"list_orders", "/v1/orders", object{"includeCoverage": "maybe"}},
		{"get_order_detail", "/v1/orders/{orderId}", object{"orderId": 8}},
		{"get_order_detail", "/v1/orders/{orderId}", object{"orderId": "none"}},
		{"list_order_observation_quality", "/v1/orders/{orderId}/observation-quality", object{"orderId": 5, "reasonCode": "BAD"}},
		{"list_results", "/v1/results", object{"category": "office"}},
		{"list_results", "/v1/results", object{"limit": 10001}},
		{"list_results", "/v1/results", object{"globalScope": true}},
		{"list_results", "/v1/results", object{"globalScope": true, "capturedFrom": "2026-01-01", "capturedTo": "2026-02-01"}},
		{"list_results", "/v1/results", object{"globalScope": true, "capturedFrom": "2026-01-01", "capturedTo": "2026-01-02", "site": "shop-one"}},
		{"list_results", "/v1/results", object{"capturedFrom": "2026-01-01"}},
		{"list_results", "/v1/results", object{"latestPerPair": true, "latestObservationPerPair": true}},
		{"list_order_export_history", "/v1/orders/{orderId}/exports/history", object{"orderId": 5, "dateFrom": "2026-03-02", "dateTo": "2026-03-01"}},
		{"list_order_import_history", "/v1/orders/{orderId}/imports/history", object{"orderId": 5, "exportName": "Daily"}},
		{"download_order_export_file", "/v1/orders/{orderId}/exports/history/download", object{"orderId": 5}},
		{"download_order_import_file", "/v1/orders/{orderId}/imports/history/download", object{"orderId": 8, "latest": true}},
	} {
		over := a.get(q.rest())
		var want object
		must.Do(t, json.Unmarshal([]byte(over.body), &want))
		got := a.call(q.tool, q.arguments)
		have := got.members()
		delete(have, "recovery")
		if diff := cmp.Diff(want, have); !got.IsError || over.status < 400 || diff != "" {
			t.Errorf("%s %v: isError %t, REST %d: %s", q.tool, q.arguments, got.IsError, over.status, diff)
		}
	}
}

// GEN-03b, VIS-04: naming another's data returns none of it.
func TestNoToolWidensTheScope(t *testing.T) {
	a := newAgents(t, newMarket())
	a.put("export", 5, "a.csv", "a.csv", []byte("secret of order 5"))
	agent := a.agent(foreigner)
	for _, c := range []twin{
		{"list_sites", "", object{"site": "shop-one"}},
		{"list_items", "", object{"itemId": 11}},
		{"list_items", "", object{"ean": "4006381333931"}},
		{"list_items", "", object{"category": "office"}},
		{"list_items", "", object{"discoverCategories": true, "itemId": 11}},
		{"list_orders", "", object{"orderId": 5}},
		{"get_order_detail", "", object{"orderId": 5}},
		{"list_order_observation_quality", "", object{"orderId": 5}},
		{"list_results", "", object{"itemId": 11, "includeExportFields": true, "includeIdentity": true, "includeCustomerData": true}},
		{"list_results", "", object{"site": "shop-one"}},
		{"list_results", "", object{"orderId": 5, "latestPerPair": true}},
		{"list_result_changes", "", object{"since": "2026-11-21T00:00:00Z", "orderId": 5}},
		{"list_result_changes", "", object{"since": "2026-11-21T00:00:00Z", "itemId": 11}},
		{"get_market_price_position", "", object{"itemId": 11, "candidatePrice": "1", "includeCustomerReference": true}},
		{"get_market_price_position", "", object{}},
		{"get_market_price_position", "", object{"orderId": 5, "ownMerchant": "Merchant"}},
		{"list_order_export_history", "", object{"orderId": 5}},
		{"download_order_export_file", "", object{"orderId": 5, "latest": true}},
	} {
		got := agent.call(c.tool, c.arguments)
		if n := len(list(got.members(), "data")) + len(list(got.members(), "positions")); n > 0 {
			t.Errorf("%s %v gives %d records: %s", c.tool, c.arguments, n, got.Structured)
		}
		told := strings.ReplaceAll(string(got.Structured), `"ownMerchant"`, "") // an argument that the page omits
		for _, secret := range []string{"Marker", "Main", "Merchant", "office", "shelf", "a.csv", "secret of"} {
			if strings.Contains(told, secret) {
				t.Errorf("%s %v tells %q: %s", c.tool, c.arguments, secret, got.Structured)
			}
		}
	}
	if locales := list(agent.call("list_asin_locales", nil).ok(), "data"); len(locales) != 0 {
		t.Error(locales)
	}
}

// An account without the permission gets a tool error, not an HTTP error.
func TestPermissions(t *testing.T) {
	a := newAgents(t, newMarket()).agent(sitesOnly)
	a.call("list_sites", nil).ok()
	for name, arguments := range map[string]object{
		"list_items": nil, "list_asin_locales": nil, "list_orders": nil, "get_order_detail": {"orderId": 5},
		"list_order_observation_quality": {"orderId": 5}, "list_results": nil, "list_result_changes": {"since": "2026-11-01T00:00:00Z", "itemId": 11},
		"get_market_price_position": {"itemId": 11, "candidatePrice": "1"}, "describe_results_contract": nil,
		"list_order_export_history": {"orderId": 5}, "list_order_import_history": {"orderId": 5},
		"download_order_export_file": {"orderId": 5}, "download_order_import_file": {"orderId": 5},
	} {
		a.call(name, arguments).failed("AUTH_FORBIDDEN")
	}
}
