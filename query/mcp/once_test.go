package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
)

// wide is a market whose lists are all too large for an answer.
func wide() *market {
	m := newMarket()
	m.orders[0].Items = nil
	for i := range 90 {
		id := contracts.ItemID(1000 + i)
		name := fmt.Sprintf("Marker %d %s", i, strings.Repeat("Ünglaublich ", 30))
		m.items = append(m.items, contracts.Item{ItemID: id, Name: name})
		m.orders[0].Items = append(m.orders[0].Items, id)
		m.prices = append(m.prices, contracts.ReferencePrices{MandateID: 1, ItemID: id, Prices: []contracts.ReferencePrice{{AmountMinor: int64(500 + 20*i), CurrencyCode: "EUR"}}})
		for hour := range 2 {
			m.rows = append(m.rows, observed{
				Pair: contracts.Pair{Item: id, Site: "shop-one"}, at: moment().Add(-time.Duration(1+3*hour) * time.Hour), seq: uint64(50_000 + 10*i - hour),
				outcome: contracts.PriceObserved, price: int64(900 + 7*i - 50*hour), currency: "EUR", merchant: "Händler " + name, title: name,
			})
		}
	}
	return m
}

// An answer that is too large for an agent keeps the records that fit: they are
// read one time, and the next page continues after them.
func TestLargeAnswersAreReadOnce(t *testing.T) {
	m, count := wide(), tokens(t)
	agent := newAgents(t, m).agent(whole)
	asked := func(tool string, arguments object) (object, int) {
		before := m.asked
		return agent.call(tool, arguments).ok(), m.asked - before
	}
	for _, c := range []struct {
		tool      string
		arguments object
	}{
		{"list_items", object{}},
		{"list_items", object{"name": "marker"}},
		{"list_items", object{"fields": []string{"itemId", "name"}}},
		{"list_order_observation_quality", object{"orderId": 5}},
		{"list_results", object{"site": "shop-one", "includeExportFields": true}},
		{"list_results", object{"site": "shop-one", "fields": []string{"itemId", "offerTitle", "merchant"}}},
		{"list_result_changes", object{"since": moment().Add(-2 * time.Hour).Format(time.RFC3339), "orderId": 5}},
		{"get_market_price_position", object{"orderId": 5}},
	} {
		t.Run(fmt.Sprint(c.tool, c.arguments), func(t *testing.T) {
			records := "data"
			if c.arguments["fields"] != nil {
				records = "rows"
			}
			first, once := asked(c.tool, c.arguments)
			if at(first, "completeness", "reason") != "ANSWER_BUDGET" || once != 1 {
				t.Errorf("%v, read %d times", first["completeness"], once)
			}
			var got []any
			pages := agent.pages(c.tool, c.arguments)
			for i, page := range pages {
				got = append(got, list(page, records)...)
				text := must.Get(json.Marshal(page))(t)
				if n := count(string(text)); n > 25_000 {
					t.Errorf("page %d has %d tokens", i+1, n)
				}
			}
			c.arguments["limit"] = 1000
			want, _ := asked(c.tool, c.arguments)
			if diff := cmp.Diff(list(want, records), got); diff != "" || len(pages) < 2 {
				t.Errorf("%d records in %d pages: %s", len(got), len(pages), diff)
			}
		})
	}
}
