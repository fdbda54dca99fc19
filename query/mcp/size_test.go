package mcp_test

import (
	"fmt"
	"testing"
	"time"

	"preismon/contracts"
)

// manySites is a market of the given number of country markets, each with rows
// of two items and of as many merchants as a summary lists, all in order 5.
func manySites(sites int) *market {
	m := newMarket()
	now := moment()
	for i := range sites {
		key := contracts.SiteKey(fmt.Sprintf("marktplatz-%03d.example", i))
		m.sites = append(m.sites, contracts.Site{Site: key, Name: "Marktplatz", SiteType: contracts.Marketplace, CountryCode: "DE", CurrencyCode: "EUR", CanonicalCountryMarket: true})
		m.orders[0].Sites = append(m.orders[0].Sites, key)
		for n := range 24 {
			m.rows = append(m.rows, observed{
				Pair: contracts.Pair{Item: contracts.ItemID(11 + n%2), Site: key}, at: now.Add(-time.Duration(10+n*50) * time.Minute), seq: uint64(100_000 + 100*i - n),
				outcome: contracts.PriceObserved, price: int64(900 + 7*i - n), currency: "EUR", merchant: fmt.Sprintf("Händler Nummer %d GmbH & Co. KG", n/2), buyBox: contracts.FlagTrue, title: "Angebot",
			})
		}
	}
	return m
}

// An answer stays small for a caller that sees many sites, too; what a summary
// does not list is counted.
func TestAnswersOfManySitesAreSmall(t *testing.T) {
	count := tokens(t)
	for _, sites := range []int{20, 60, 300} {
		a := newAgents(t, manySites(sites)).agent(whole)
		day := moment().Add(-20 * time.Hour).Format(time.RFC3339)
		for _, c := range []struct {
			tool      string
			arguments object
		}{
			{"list_sites", object{}},
			{"list_orders", object{"includeMonitoring": true, "includeCoverage": true}},
			{"get_order_detail", object{"orderId": 6}},
			{"list_order_observation_quality", object{"orderId": 5}},
			{"list_results", object{"globalScope": true, "capturedFrom": day, "capturedTo": moment().Format(time.RFC3339)}},
			{"list_results", object{"orderId": 5, "includeExportFields": true}},
			{"list_results", object{"orderId": 5, "fields": []string{"site", "price"}}},
			{"list_result_changes", object{"orderId": 5, "since": day}},
			{"list_result_changes", object{"globalScope": true, "since": day}},
			{"get_market_price_position", object{}},
			{"get_market_price_position", object{"itemId": 11, "candidatePrice": "9.99"}},
		} {
			r := a.call(c.tool, c.arguments)
			r.ok()
			if n := count(string(r.Structured)); n > mostDefault {
				t.Errorf("%d sites: %s %v has %d tokens, at most %d", sites, c.tool, c.arguments, n, mostDefault)
			}
		}
		for _, arguments := range []object{{"orderId": 5}, {"orderId": 5, "limit": 1}} {
			sum := at(a.call("list_results", arguments).ok(), "summary").(object)
			of := func(record any, path ...any) int {
				n, _ := at(record, path...).(float64)
				return int(n)
			}
			rows, listed := of(sum, "otherSites", "rows"), list(sum, "sites")
			for _, site := range listed {
				rows += of(site, "priced") + of(site, "unavailable") + of(site, "unknown")
			}
			if others := of(sum, "otherSites", "count"); rows != of(sum, "rows") || others+len(listed) != sites+2 {
				t.Errorf("%d sites, %v: %d are listed, %d are not, with %d rows of %d", sites, arguments, len(listed), others, rows, of(sum, "rows"))
			}
		}
		moved := a.call("list_result_changes", object{"orderId": 5, "since": day}).ok()
		if listed, others := len(list(moved, "query", "sites")), at(moved, "summary", "otherSites"); listed == 0 || sites == 300 && others == nil {
			t.Errorf("%d sites: the changes of %d are counted, of %v not", sites, listed, others)
		}
	}
}
