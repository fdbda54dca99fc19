package mcp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// broad is a market of the given number of items at three sites, with an
// observation of each pair every six hours for the given number of days.
func broad(items, days int) *market {
	m := newMarket()
	m.rows, m.orders = nil, m.orders[:1]
	m.orders[0].Items, m.orders[0].Sites = nil, []contracts.SiteKey{"market-de", "market-uk", "shop-one"}
	for i := range items {
		id := contracts.ItemID(100 + i)
		m.items = append(m.items, contracts.Item{ItemID: id, Name: "Thing", Brand: []string{"A", "B"}[i%2]})
		m.orders[0].Items = append(m.orders[0].Items, id)
		for s, site := range m.orders[0].Sites {
			for n := range days * 4 {
				if (i+s+n)%5 == 0 {
					continue
				}
				m.rows = append(m.rows, observed{
					Pair: contracts.Pair{Item: id, Site: site}, at: moment().Add(-time.Duration(n*6)*time.Hour - time.Duration(i*7+s)*time.Minute), seq: uint64(len(m.rows) + 1),
					outcome: contracts.PriceObserved, price: int64(100 + i + n), currency: "EUR", merchant: "M",
				})
			}
		}
	}
	return m
}

// rows walks a call to its end and returns its rows as text.
func (a *agent) rows(tool string, arguments object) (rows []string) {
	a.t.Helper()
	arguments = maps.Clone(arguments)
	for {
		page := a.call(tool, arguments).ok()
		for _, row := range list(page, "data") {
			text := must.Get(json.Marshal(row))(a.t)
			rows = append(rows, string(text))
		}
		cursor, more := at(page, "completeness", "nextCursor").(string)
		if !more {
			return rows
		}
		arguments["cursor"] = cursor
	}
}

// TestCursorOnTablesBehindIt: after a restore, a walk waits until the tables
// hold again what it began with.
func TestCursorOnTablesBehindIt(t *testing.T) {
	m := broad(3, 1)
	a := newAgents(t, m).agent(whole)
	walk := object{"limit": 1}
	walk["cursor"] = at(a.call("list_results", walk).ok(), "completeness", "nextCursor")
	m.behind = true
	if p := a.call("list_results", walk).failed("SERVICE_UNAVAILABLE"); !strings.Contains(p.Detail, "behind the cursor") {
		t.Errorf("%+v", p)
	}
	m.behind = false
	a.call("list_results", walk).ok()
}

// MCP-16b: the guidance names every way to narrow.
func TestLatestPairGuidance(t *testing.T) {
	a := newAgents(t, broad(334, 1)).agent(whole) // 1,002 pairs
	p := a.call("list_results", object{"latestPerPair": true}).failed("RESULTS_LATEST_PAIR_SCOPE_TOO_BROAD")
	for _, word := range []string{"item", "order", "site", "product identifier"} {
		if p.Recovery == nil || !strings.Contains(p.Recovery.Guidance, word) {
			t.Fatalf("no %q in %+v", word, p.Recovery)
		}
	}
	var rows []string
	for _, attempt := range p.Recovery.Attempts {
		rows = append(rows, a.rows("list_results", attempt)...)
	}
	if len(rows) != 1002 || len(slices.Compact(slices.Sorted(slices.Values(rows)))) != 1002 {
		t.Errorf("%d attempts give %d rows", len(p.Recovery.Attempts), len(rows))
	}
	// What was given is not advised again.
	p = a.call("list_results", object{"latestPerPair": true, "orderId": 5}).failed("RESULTS_LATEST_PAIR_SCOPE_TOO_BROAD")
	if p.Recovery == nil || strings.Contains(p.Recovery.Guidance, "orderId") || !strings.Contains(p.Recovery.Guidance, "itemId") {
		t.Errorf("with an order: %+v", p.Recovery)
	}
	// The attempts for a read of changes are calls of the same tool.
	since := moment().Add(-200 * time.Hour).Format(time.RFC3339)
	p = a.call("list_result_changes", object{"since": since, "globalScope": true, "timezone": "Asia/Tokyo", "limit": 1000}).failed("RESULTS_SCOPE_TOO_BROAD")
	if p.Recovery == nil || len(p.Recovery.Attempts) != 3 {
		t.Fatalf("%+v", p.Recovery)
	}
	pairs := map[string]bool{}
	for _, attempt := range p.Recovery.Attempts {
		if attempt["since"] != since || attempt["timezone"] != "Asia/Tokyo" || attempt["limit"] != 1000.0 || attempt["latestPerPair"] != nil || attempt["globalScope"] != nil {
			t.Errorf("attempt %v", attempt)
		}
		for _, row := range a.rows("list_result_changes", attempt) {
			var change object
			must.Do(t, json.Unmarshal([]byte(row), &change))
			key := fmt.Sprint(change["itemId"], change["site"])
			if pairs[key] {
				t.Errorf("%s twice", key)
			}
			pairs[key] = true
		}
	}
	if len(pairs) == 0 {
		t.Error("no changes")
	}
}

// Choices 52: a read of changes may cover 100,000 pairs, so its attempts may be
// sites of more pairs than a read of newest rows covers.
func TestAttemptsOfManyChanges(t *testing.T) {
	a := newAgents(t, broad(1_001, 1)).agent(whole)
	since := moment().Add(-200 * time.Hour).Format(time.RFC3339)
	for code, given := range map[string]object{
		"RESULTS_SCOPE_TOO_BROAD": {"since": since, "globalScope": true, "limit": 1}, "MVP_VALIDATION_ERROR": {"since": since, "until": moment().Format(time.RFC3339), "limit": 1},
	} {
		p := a.call("list_result_changes", given).failed(code)
		if p.Recovery == nil || len(p.Recovery.Attempts) != 3 {
			t.Fatalf("%s: %+v", code, p.Recovery)
		}
		pairs := 0.0
		for _, attempt := range p.Recovery.Attempts {
			if attempt["since"] != since || attempt["until"] != given["until"] || attempt["limit"] != 1.0 {
				t.Errorf("attempt %v", attempt)
			}
			pairs += at(a.call("list_result_changes", attempt).ok(), "query", "pairs").(float64)
		}
		if pairs != 3_003 {
			t.Errorf("%s: the attempts cover %v pairs", code, pairs)
		}
	}
	// At more sites than there are attempts, the whole mandate is one.
	m := broad(1, 1)
	for i := range 70 {
		m.orders[0].Sites = append(m.orders[0].Sites, contracts.SiteKey(fmt.Sprintf("site-%02d", i)))
	}
	a = newAgents(t, m).agent(whole)
	p := a.call("list_result_changes", object{"since": moment().Add(-20 * time.Hour).Format(time.RFC3339)}).failed("MVP_VALIDATION_ERROR")
	if p.Recovery == nil || len(p.Recovery.Attempts) != 1 {
		t.Fatalf("%+v", p.Recovery)
	}
	equals.Is(t, 73.0, at(a.call("list_result_changes", p.Recovery.Attempts[0]).ok(), "query", "pairs"), "the attempt covers pairs")
}

// Choices 52: a call whose answer is a table is replaced by calls whose answers
// are the same table.
func TestAttemptsKeepFields(t *testing.T) {
	a := newAgents(t, broad(334, 1)).agent(whole)
	for tool, given := range map[string]object{
		"list_results":        {"latestPerPair": true, "fields": []string{"itemId", "site", "price", "ean"}, "limit": 1_000},
		"list_result_changes": {"since": moment().Add(-200 * time.Hour).Format(time.RFC3339), "globalScope": true, "fields": []string{"itemId", "after.price"}, "limit": 1_000},
	} {
		r := a.call(tool, given)
		var p toolProblem
		must.Do(t, json.Unmarshal(r.Structured, &p))
		if !r.IsError || p.Recovery == nil || len(p.Recovery.Attempts) != 3 {
			t.Fatalf("%s: %.500s", tool, r.Structured)
		}
		for _, attempt := range p.Recovery.Attempts {
			page := a.call(tool, attempt).ok()
			if diff := cmp.Diff(anys(given["fields"].([]string)), page["columns"]); diff != "" || len(list(page, "rows")) == 0 {
				t.Errorf("%s %v: %s", tool, attempt, diff)
			}
		}
	}
}

// A timeout offers narrower calls; a wrong argument offers nothing.
func TestTimeoutsOfferLess(t *testing.T) {
	m := broad(4, 4)
	m.slow = func(*query.ResultsQuery) bool { return true }
	a := newAgents(t, m, func(s *agentSettings) {
		s.query.SoftDeadline, s.query.HardBudget = time.Millisecond, 50*time.Millisecond
	}).agent(whole)
	p := a.call("list_results", object{"orderId": 5, "capturedFrom": moment().AddDate(0, 0, -3).Format(time.RFC3339)}).failed("RESULTS_QUERY_TIMEOUT")
	if p.Status != 504 || p.Recovery == nil || len(p.Recovery.Attempts) < 3 || p.Recovery.Attempts[0]["capturedFrom"] == nil {
		t.Errorf("%+v", p.Recovery)
	}
	if p := a.call("list_results", object{"itemId": "x"}).failed("MVP_VALIDATION_ERROR"); p.Recovery != nil {
		t.Errorf("%+v", p.Recovery)
	}
}

// Other refusals of broad scopes say what to do, too.
func TestOtherScopesTooBroad(t *testing.T) {
	m := broad(3_400, 0) // 10,200 candidates
	a := newAgents(t, m).agent(whole)
	for _, c := range []struct {
		tool      string
		arguments object
		word      string
	}{
		{"list_orders", object{"includeCoverage": true}, "orderId"},
		{"get_order_detail", object{"orderId": 5}, "orderId"},
	} {
		p := a.call(c.tool, c.arguments).failed("ORDER_COVERAGE_SCOPE_TOO_BROAD")
		if p.Recovery == nil || !strings.Contains(p.Recovery.Guidance, c.word) || p.Recovery.Attempts != nil {
			t.Errorf("%s: %+v", c.tool, p.Recovery)
		}
	}
	for i := range 1_001 {
		m.files = append(m.files, query.FileEntry{
			Artifact: query.Artifact{FilesOf: query.FilesOf{Direction: query.Exports, OrderID: 5}, Mandate: 1, Archive: contracts.ArchiveID(i + 1)}, ArchivedAt: moment(),
		})
	}
	if p := a.call("list_order_export_history", object{"orderId": 5}).failed("HISTORY_SCOPE_TOO_BROAD"); p.Recovery == nil || p.Recovery.Guidance == "" {
		t.Errorf("%+v", p.Recovery)
	}
}

// Over the limit, a tool says how many seconds to wait.
func TestRateLimitRecovery(t *testing.T) {
	a := newAgents(t, newMarket(), func(s *agentSettings) { s.throttle.Reads.Requests = 1 }).agent(whole)
	a.call("list_sites", nil).ok()
	p := a.call("list_sites", nil).failed("RATE_LIMIT_EXCEEDED")
	if p.Status != 429 || p.Recovery == nil || p.Recovery.RetryAfterSeconds < 1 || p.Recovery.RetryAfterSeconds > 60 {
		t.Errorf("%+v", p.Recovery)
	}
}

// The heavy tools use the places that the heavy routes of REST use.
func TestWhichToolsAreHeavy(t *testing.T) {
	a := newAgents(t, newMarket(), func(s *agentSettings) { s.throttle.HeavyAtOnce = 1 })
	release := must.Get(a.auth.Throttle().Heavy(whole))(t)
	agent := a.agent(whole)
	for name, arguments := range map[string]object{
		"list_results": nil, "list_result_changes": {"since": "2026-11-01T00:00:00Z", "itemId": 11}, "get_market_price_position": {"itemId": 11, "candidatePrice": "1"},
		"download_order_export_file": {"orderId": 5}, "download_order_import_file": {"orderId": 5},
	} {
		if p := agent.call(name, arguments).failed("RATE_LIMIT_EXCEEDED"); p.Recovery.RetryAfterSeconds != 1 {
			t.Errorf("%s: %+v", name, p.Recovery)
		}
	}
	agent.call("list_sites", nil).ok()
	agent.call("list_items", nil).ok()
	release()
	agent.call("list_results", nil).ok()
}

// The first instant of the calendar is refused wherever a bound is accepted: it
// would mean an open end (RES-04c, LIM-10, TOOL-01b).
func TestNoBoundIsOpen(t *testing.T) {
	a := newAgents(t, newMarket()).agent(whole)
	for _, first := range []string{"0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00"} {
		for tool, arguments := range map[string]object{
			"list_result_changes":       {"since": first, "itemId": 11},
			"list_results":              {"globalScope": true, "capturedFrom": first, "capturedTo": first},
			"list_order_export_history": {"orderId": 5, "dateTo": first},
		} {
			a.call(tool, arguments).failed("MVP_VALIDATION_ERROR")
		}
	}
}
