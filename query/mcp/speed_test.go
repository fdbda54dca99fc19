package mcp_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
)

// A call takes at most mostBeside times as long as its read over REST, at the
// median of speedRounds pairs of both. A question that takes longer is measured
// again from the start, at most speedTries times: other load on the machine may
// have interfered.
const (
	mostBeside  = 2.0
	speedRounds = 9
	speedTries  = 4
	mostChanges = 100 * time.Millisecond // of list_result_changes over 1,000 pairs, on a quiet machine
	busyMachine = 3                      // factor for mostChanges alongside the tests of other packages
)

// questionsOfSpeed has every tool with the equivalent read of REST.
func (d *demo) questionsOfSpeed() []twin {
	order, site := d.order(askedOrder).OrderID, d.siteNamed(askedSite)
	day := d.now.Add(-24 * time.Hour).Format(time.RFC3339)
	return []twin{
		{"list_sites", "/v1/sites", nil},
		{"list_items", "/v1/items", object{"limit": 100}},
		{"list_items", "/v1/items", nil},
		{"list_asin_locales", "/v1/items/asin-locales", nil},
		{"list_orders", "/v1/orders", object{"includeMonitoring": true}},
		{"get_order_detail", "/v1/orders/{orderId}", object{"orderId": order}},
		{"list_order_observation_quality", "/v1/orders/{orderId}/observation-quality", object{"orderId": order, "limit": 100}},
		{"list_order_observation_quality", "/v1/orders/{orderId}/observation-quality", object{"orderId": order}},
		{"list_results", "/v1/results", object{"site": site, "limit": 100}},
		{"list_results", "/v1/results", object{"site": site}},
		{"list_results", "/v1/results", object{"site": site, "includeExportFields": true, "includeIdentity": true}},
		{"list_results", "/v1/results", object{"site": site, "latestPerPair": true, "includeExportFields": true, "limit": 1000}},
		{"list_result_changes", "/ext/v1/movers", object{"site": site, "since": day, "limit": 100}},
		{"list_result_changes", "/ext/v1/movers", object{"site": site, "since": day}},
		{"list_result_changes", "/ext/v1/movers", object{"orderId": order, "since": day, "limit": 100}},
		{"get_market_price_position", "/ext/v1/position", object{"site": site, "limit": 50}},
		{"get_market_price_position", "/ext/v1/position", object{"site": site}},
		{"describe_results_contract", "/v1/results/capabilities", nil},
		{"list_order_export_history", "/v1/orders/{orderId}/exports/history", object{"orderId": order}},
		{"list_order_import_history", "/v1/orders/{orderId}/imports/history", object{"orderId": order}},
		{"download_order_export_file", "/v1/orders/{orderId}/exports/history/download", object{"orderId": order, "exportName": dailyExport, "latest": true}},
		{"download_order_import_file", "/v1/orders/{orderId}/imports/history/download", object{"orderId": order, "latest": true}},
	}
}

// TestSpeed prints the median of every tool next to that of its read over REST,
// and checks the changes of 1,000 pairs against a time of their own.
func TestSpeed(t *testing.T) {
	effort.Full(t, "half a minute of measuring")
	d := newDemo(t)
	r := d.agents.agent(d.account).call("list_results", object{"site": d.siteNamed(askedSite), "limit": 1}).ok()
	t.Logf("pairs=%d rows_of_the_site=%v", len(d.captures), at(r, "summary", "rows"))
	a := d.agents.agent(d.account)
	for _, q := range d.questionsOfSpeed() {
		pairs := at(a.call(q.tool, q.arguments).ok(), "query", "pairs") // some have it
		var ratio float64
		var changes time.Duration
		for try := 1; try <= speedTries && (try == 1 || ratio > mostBeside || changes > mostChanges*busyMachine); try++ {
			rest, tool := a.besideREST(q)
			ratio = float64(tool) / float64(rest)
			if n, ok := pairs.(float64); ok && q.tool == "list_result_changes" { // it grows with the pairs, and has a constant part
				changes = time.Duration(float64(tool) * 1000 / max(n, 1000))
			}
			t.Logf("tool=%s arguments=%s pairs=%v p50=%s rest_p50=%s ratio=%.2f try=%d", q.tool, q.rest(), pairs, tool.Round(10*time.Microsecond), rest.Round(10*time.Microsecond), ratio, try)
		}
		if ratio > mostBeside {
			t.Errorf("%s takes %.1f times as long as %s", q.tool, ratio, q.rest())
		}
		if changes > mostChanges*busyMachine {
			t.Errorf("%s of %s takes %s for 1,000 pairs, which is more than %s", q.tool, q.rest(), changes, mostChanges)
		}
	}
}

// besideREST sends a question to both surfaces alternately, so that other load
// affects both, and returns the medians.
func (a *agent) besideREST(q twin) (rest, tool time.Duration) {
	a.t.Helper()
	var over, by []time.Duration
	for round := range speedRounds + 2 {
		began := time.Now()
		if r := a.get(q.rest()); r.status != http.StatusOK {
			a.t.Fatalf("%s: %d %.300s", q.rest(), r.status, r.body)
		}
		asked := time.Now()
		r := a.send("tools/call", object{"name": q.tool, "arguments": q.arguments})
		ended := time.Now()
		if r.status != http.StatusOK || strings.Contains(r.body, `"isError":true`) {
			a.t.Fatalf("%s: %d %.300s", q.tool, r.status, r.body)
		}
		if round >= 2 { // what can be remembered is remembered by then
			over, by = append(over, asked.Sub(began)), append(by, ended.Sub(asked))
		}
	}
	return middle(over), middle(by)
}

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// TestAgentsAtOnce: agents ask everything at the same time, each beginning with
// another question, and each is answered as if it were alone.
func TestAgentsAtOnce(t *testing.T) {
	effort.Full(t, "half a minute of many agents")
	d := newDemo(t, func(set *agentSettings) { set.throttle.HeavyAtOnce = 64 })
	all := d.questionsOfSpeed()
	agents := len(all)
	alone := make([]any, len(all))
	began := time.Now()
	for i, q := range all {
		alone[i] = counts(d.agents.agent(d.account).call(q.tool, q.arguments).ok())
	}
	one := time.Since(began)
	began = time.Now()
	var asking sync.WaitGroup
	for n := range agents {
		asking.Go(func() {
			for i := range all {
				at := (i + n) % len(all)
				q := all[at]
				r := d.agents.agent(d.account).send("tools/call", object{"name": q.tool, "arguments": q.arguments})
				reply := struct{ Result result }{result{t: t}}
				if err := json.Unmarshal([]byte(r.body), &reply); err != nil || r.status != http.StatusOK || reply.Result.IsError {
					t.Errorf("%s: %d %v %.300s", q.tool, r.status, err, r.body)
					continue
				}
				equals.Checkf(t, alone[at], counts(reply.Result.members()), "%s", q.tool)
			}
		})
	}
	asking.Wait()
	t.Logf("agents=%d calls=%d seconds=%.1f one_alone=%.1f", agents, agents*len(all), time.Since(began).Seconds(), one.Seconds())
}

// counts returns the parts of an answer that do not differ from call to call.
func counts(members object) any {
	return []any{len(list(members, "data")), at(members, "summary", "sites"), at(members, "paging", "returned"), at(members, "query", "kinds")}
}
