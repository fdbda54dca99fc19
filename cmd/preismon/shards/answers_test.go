package shards_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
)

// whole returns the query for all of a client's observations.
func (e *estate) whole() string {
	return "globalScope=true&capturedFrom=" + e.from.Add(-24*time.Hour).Format(time.RFC3339) + "&capturedTo=" + e.to.Format(time.RFC3339)
}

// questions are the requests of a client, by description.
func (e *estate) questions(c *client) map[string]func(nodes []*process.Role) []string {
	one := e.forms[1].nodes
	type row struct {
		ItemID, Site  string
		Merchant      *string
		CoverageState string
	}
	var of, other row // one of a merchant, and one with another outcome
	rows := c.walk(one, "/v1/results?limit=10000&includeCoverage=true&"+e.whole())
	for _, text := range rows {
		var r row
		must.Do(c.t, json.Unmarshal([]byte(text), &r))
		if of.Merchant == nil && r.Merchant != nil {
			of = r
		}
		if r.CoverageState != "PRICE_OBSERVED" {
			other = r
		}
	}
	if of.Merchant == nil || other.CoverageState == "" {
		c.t.Fatalf("%s sees %d rows: of a merchant %+v, with another outcome %+v", c.name, len(rows), of, other)
	}
	var orders []string
	for _, text := range c.walk(one, "/v1/orders?limit=100") {
		var o struct{ OrderID string }
		must.Do(c.t, json.Unmarshal([]byte(text), &o))
		orders = append(orders, o.OrderID)
	}
	everything := "&includeExportFields=true&includeIdentity=true&includeOrderIds=true&includeCustomerData=true&includeCoverage=true"
	all := map[string]func(nodes []*process.Role) []string{}
	for what, query := range map[string]string{
		"window":                   "limit=4000&" + e.whole() + everything,
		"window, ascending":        "limit=3999&sort=asc&" + e.whole(),
		"order":                    "limit=2500&orderId=" + orders[0],
		"site":                     "limit=2500&site=" + of.Site,
		"product":                  "limit=50&itemId=" + of.ItemID,
		"product, ascending":       "limit=51&sort=asc&includeCoverage=true&itemId=" + of.ItemID,
		"latest row of a product":  "latestPerPair=true&itemId=" + of.ItemID,
		"latest row":               "limit=300&latestPerPair=true&site=" + of.Site,
		"latest set":               "limit=900&latestObservationPerPair=true" + everything,
		"latest set of a site":     "limit=900&sort=asc&latestObservationPerPair=true&site=" + of.Site,
		"latest set of an order":   "limit=900&latestObservationPerPair=true&orderId=" + orders[0],
		"latest set of a merchant": "limit=200&latestObservationPerPair=true&merchant=" + url.QueryEscape(*of.Merchant),
		"merchant":                 "limit=500&merchant=" + url.QueryEscape(*of.Merchant) + "&" + e.whole(),
		"outcome":                  "limit=500&coverageState=" + other.CoverageState + "&" + e.whole(),
		"flag":                     "limit=500&isPrime=true&" + e.whole(),
	} {
		all[what] = func(nodes []*process.Role) []string { return c.walk(nodes, "/v1/results?"+query) }
	}
	for what, query := range map[string]string{
		"stream": e.whole() + everything, "stream, ascending": "sort=asc&" + e.whole(), "stream of latest sets": "latestObservationPerPair=true",
	} {
		all[what] = func(nodes []*process.Role) []string { return c.stream(nodes, "/v1/results/stream?"+query) }
	}
	for what, path := range map[string]string{
		"items": "/v1/items?limit=500", "sites": "/v1/sites?limit=3", "orders": "/v1/orders?limit=1",
		"quality of an order": "/v1/orders/" + orders[0] + "/observation-quality?limit=200",
	} {
		all[what] = func(nodes []*process.Role) []string { return c.walk(nodes, path) }
	}
	since := e.to.Add(-20 * time.Hour).Format(time.RFC3339)
	for _, call := range []string{
		`list_results {"latestPerPair":true,"itemId":` + of.ItemID + `}`,
		`list_results {"site":"` + of.Site + `","limit":100}`,
		`list_result_changes {"itemId":` + of.ItemID + `,"since":"` + since + `"}`,
		`get_market_price_position {"itemId":` + of.ItemID + `,"candidatePrice":"100"}`,
		`list_order_observation_quality {"orderId":"` + orders[0] + `"}`,
	} {
		all[call] = func(nodes []*process.Role) []string { return c.tool(nodes, call) }
	}
	return all
}

// compare sends the requests, by default all of them, to all forms: the records
// and their order are those of the single form. With several nodes, a walk
// reads each page from another node. RES-05c, RES-14a, VIS-05, CUR-02.
func (e *estate) compare(t *testing.T, accounts []string, asking ...string) (records map[string]int) {
	t.Helper()
	records = map[string]int{}
	for _, name := range accounts {
		c := e.client(t, name)
		for what, ask := range e.questions(c) {
			if len(asking) > 0 && !slices.Contains(asking, what) {
				continue
			}
			want := ask(e.forms[1].nodes)
			records[name] += len(want)
			if len(want) == 0 && what != "flag" {
				t.Errorf("%s, %s: nothing is asked for", name, what)
			}
			for _, n := range shardCounts[1:] {
				diff := cmp.Diff(want, ask(e.forms[n].nodes))
				for try := 0; diff != "" && try < 3; try++ {
					again := ask(e.forms[1].nodes)
					if slices.Equal(again, want) {
						break
					} // otherwise a window that ends now has moved on
					want, diff = again, cmp.Diff(again, ask(e.forms[n].nodes))
				}
				if diff != "" {
					t.Errorf("%s, %s, %d shards (-one server +shards):\n%.2000s", name, what, n, diff)
				}
			}
		}
	}
	return records
}

// sameAnswers: for accounts that see all of their mandate, some orders of it,
// and some sites of it.
func (e *estate) sameAnswers(t *testing.T) {
	for n, f := range e.forms {
		for p, rows := range f.count("SELECT count() FROM observations_by_mandate") {
			if rows < 100 {
				t.Errorf("shard %d of %d has %d rows", p, n, rows)
			}
		}
		if own := f.count("SELECT uniqExact(site) FROM scope_pairs"); own[0] < 10 {
			t.Errorf("%d shards: the catalogue has %v sites", n, own)
		}
	}
	began := time.Now()
	records := e.compare(t, []string{"anna", "bert", "clara"})
	for name, n := range e.compare(t, []string{"frida"}, "window", "latest set", "stream", "items") { // of the same kind as anna, in the mandate that chooses sites by product
		records[name] = n
	}
	t.Logf("records of the single form, each asked of all forms: %v, in %v", records, time.Since(began).Round(time.Millisecond))
	for name, n := range records {
		if n < 1000 {
			t.Errorf("%s gets %d records: too few to tell anything", name, n)
		}
	}
	if records["bert"] == records["anna"] {
		t.Error("a narrowed account gets what the whole one gets")
	}
}
