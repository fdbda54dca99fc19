package mcp_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
)

// many is a market with the given number of offers for one product at one shop.
func many(offers int) *market {
	m := newMarket()
	rng := rand.New(rand.NewPCG(7, 8)) //nolint:gosec // a test
	for i := range offers {
		m.rows = append(m.rows, observed{
			Pair: contracts.Pair{Item: 11, Site: "shop-one"}, at: moment().Add(-time.Duration(i) * time.Minute), seq: uint64(30_000 + i),
			outcome: contracts.PriceObserved, price: int64(rng.IntN(100_000)), currency: "EUR", merchant: fmt.Sprintf("Händler %d", rng.IntN(9)), title: "Marker 12 Stück",
		})
	}
	return m
}

// part returns a field of a record, by the name that a table uses.
func part(record any, field string) any {
	member, nested, ok := strings.Cut(field, ".")
	value := at(record, member)
	if ok {
		value = at(value, nested)
	}
	return value
}

// A table has the values of the records, for every tool with records, page by
// page.
func TestTablesHaveWhatRecordsHave(t *testing.T) {
	agent := newAgents(t, many(60)).agent(whole)
	since := moment().Add(-100 * time.Hour).Format(time.RFC3339)
	for _, c := range []struct {
		tool      string
		arguments object
		fields    []string
		adds      object // the arguments that add these fields to records
	}{
		{"list_results", object{"site": "shop-one", "sort": "asc", "limit": 7}, []string{"itemId", "capturedAt", "price", "priceMoney.amountMinor", "merchant"}, nil},
		{"list_results", object{"itemId": 11}, []string{"productName", "isBuyBox", "orderIds", "coverageState", "site"}, object{"includeIdentity": true, "includeExportFields": true, "includeOrderIds": true, "includeCoverage": true}},
		{"list_results", object{"itemId": 12, "includeIdentity": true}, []string{"pzn", "manufacturer"}, nil},
		{"list_results", object{"itemId": 12}, []string{"manufacturer"}, object{"includeIdentity": true}},
		{"list_results", object{"itemId": 12, "includeExportFields": true}, []string{"manufacturer"}, nil},
		{"list_results", object{"itemId": 12}, []string{"manufacturer", "offerTitle"}, object{"includeIdentity": true, "includeExportFields": true}},
		{"list_results", object{"itemId": 11, "includeIdentity": nil}, []string{"ean"}, object{"includeIdentity": true}},
		{"list_result_changes", object{"since": since, "globalScope": true, "limit": 2}, []string{"itemId", "kinds", "before.price", "after.price", "after.merchant"}, nil},
		{"list_items", object{"limit": 2}, []string{"name", "itemId"}, nil},
		{"list_order_observation_quality", object{"orderId": 6, "limit": 4}, []string{"itemId", "site", "reasonCode"}, nil},
		{"get_market_price_position", object{"orderId": 5}, []string{"itemId", "ownPrice", "cheapest.price"}, nil},
	} {
		var want, got []any
		plain, asked := object{}, object{"fields": c.fields}
		for name, value := range c.arguments {
			plain[name], asked[name] = value, value
		}
		for name, value := range c.adds {
			plain[name] = value
		}
		for _, page := range agent.pages(c.tool, plain) {
			for _, record := range list(page, "data") {
				var row []any
				for _, field := range c.fields {
					row = append(row, part(record, field))
				}
				want = append(want, row)
			}
		}
		for _, page := range agent.pages(c.tool, asked) {
			if page["data"] != nil || page["paging"] != nil {
				t.Errorf("%s: data or paging beside a table", c.tool)
			}
			equals.Checkf(t, anys(c.fields), page["columns"], "%s: columns", c.tool)
			got = append(got, list(page, "rows")...)
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%s %v: %d records, %s", c.tool, c.arguments, len(want), diff)
		}
	}
}

func anys(texts []string) (all []any) {
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}

// pages walks a call to its end.
func (a *agent) pages(tool string, arguments object) (all []object) {
	a.t.Helper()
	given := object{}
	for name, value := range arguments {
		given[name] = value
	}
	for {
		r := a.call(tool, given)
		page := r.ok()
		all = append(all, page)
		cursor, more := at(page, "completeness", "nextCursor").(string)
		if !more {
			return all
		}
		if given["fields"] != nil && strings.Count(string(r.Structured), cursor) != 1 {
			a.t.Errorf("%s: the cursor is there more than once", tool)
		}
		given["cursor"] = cursor
	}
}

// Rows of a table cost an agent at most a third of what records do, and nothing
// is in them twice.
func TestRowsOfATableAreAThird(t *testing.T) {
	agent, count := newAgents(t, many(400)).agent(whole), tokens(t)
	perRow := func(arguments object, fields []string) float64 {
		var n [2]int
		for i, limit := range []int{100, 300} {
			arguments["limit"] = limit
			if fields != nil {
				arguments["fields"] = fields
			}
			n[i] = count(string(agent.call("list_results", arguments).Structured))
		}
		return float64(n[1]-n[0]) / 200
	}
	for _, c := range []struct {
		arguments object
		fields    []string
	}{
		{object{"site": "shop-one"}, []string{"itemId", "capturedAt", "price"}},
		{object{"site": "shop-one", "includeIdentity": true}, []string{"productName", "capturedAt", "price", "merchant"}},
		{object{"site": "shop-one", "includeExportFields": true}, []string{"itemId", "capturedAt", "totalPrice", "merchant", "isBuyBox"}},
	} {
		records, table := perRow(c.arguments, nil), perRow(c.arguments, c.fields)
		t.Logf("o200k_base tokens a row: %.1f as records, %.1f with %v", records, table, c.fields)
		if table > records/3 {
			t.Errorf("%.1f tokens a row, of %.1f", table, records)
		}
	}
}

// A field that no record has is refused, with the fields that they have.
func TestWrongFields(t *testing.T) {
	agent := newAgents(t, newMarket()).agent(whole)
	for _, c := range []struct {
		tool   string
		fields any
		named  []string
	}{
		{"list_items", []string{"price", "itemId"}, []string{`"price" is none of`, "manufacturer"}},
		{"list_result_changes", []string{"before.prize", "itemId", "itemId"}, []string{`"before.prize" is none of`, "before.price,", "itemId is given twice"}},
		{"list_results", []string{}, []string{"1 to 40"}},
		{"list_results", "price", []string{"not a list"}},
		{"list_results", []any{1}, []string{"not a list"}},
	} {
		arguments := object{"fields": c.fields, "since": "2026-11-01T00:00:00Z", "itemId": 11}
		if c.tool != "list_result_changes" {
			delete(arguments, "since")
		}
		p := agent.call(c.tool, arguments).failed("MVP_VALIDATION_ERROR")
		for _, word := range c.named {
			if !strings.Contains(p.Detail, word) {
				t.Errorf("%s %v: %s", c.tool, c.fields, p.Detail)
			}
		}
	}
	// Other faults are reported at the same time.
	for tool, c := range map[string]struct {
		arguments object
		named     []string
	}{
		"list_results":              {object{"fields": []string{"prize"}, "capturedFrom": "never", "colour": "red"}, []string{`"prize" is none of`, "capturedFrom: ", `"colour": unknown`}},
		"list_items":                {object{"fields": "price", "limit": 0, "itemId": "x"}, []string{"not a list", "limit: 0", "itemId: "}},
		"get_market_price_position": {object{"fields": []string{"itemId"}, "candidatePrice": "cheap", "colour": "red", "ean": "1"}, []string{"fields: of the positions", `candidatePrice: "cheap"`, `"colour": unknown`, "ean: "}},
	} {
		p := agent.call(tool, c.arguments).failed("MVP_VALIDATION_ERROR")
		for _, word := range c.named {
			if !strings.Contains(p.Detail, word) {
				t.Errorf("%s %v does not say %s: %s", tool, c.arguments, word, p.Detail)
			}
		}
	}
	agent.call("get_market_price_position", object{"itemId": 11, "candidatePrice": "1", "fields": []string{"itemId"}}).failed("MVP_VALIDATION_ERROR")
	if p := agent.call("get_order_detail", object{"orderId": 5, "fields": []string{"name"}}).failed("MVP_VALIDATION_ERROR"); !strings.Contains(p.Detail, "fields") {
		t.Error(p.Detail)
	}
}
