package mcp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// report is what an agent reports to its user about a period.
type report struct {
	outcomes   map[contracts.Pair]string // price, unavailable or no result
	incomplete []string                  // what could not be completed
	calls      int
}

// onlyATime is an agent that follows the instructions to the letter when
// its user asks only for the last hours (GEN-G1 to GEN-G5).
func onlyATime(a *agent, hours int, pairs []contracts.Pair) report {
	r := report{outcomes: map[contracts.Pair]string{}}
	call := func(tool string, arguments object) result {
		r.calls++
		return a.call(tool, arguments)
	}
	var sites []contracts.SiteKey
	for cursor := any(nil); ; { // 1. enumerate the visible sites
		page := call("list_sites", object{"cursor": cursor}).ok()
		for _, s := range list(page, "data") {
			sites = append(sites, contracts.SiteKey(at(s, "site").(string)))
		}
		if cursor = at(page, "completeness", "nextCursor"); cursor == nil {
			break
		}
	}
	to := moment()
	for _, site := range sites {
		done := false
		for _, window := range []int{24, 12, 6, 1} { // 2. a window of 24 hours first; 3. then shorter ones
			if window > hours {
				continue
			}
			rows, ok := r.window(call, site, to, hours, window)
			if !ok {
				continue
			}
			for pair, outcome := range rows { // 4. keep what succeeded
				if r.outcomes[pair] != "price" {
					r.outcomes[pair] = outcome
				}
			}
			done = true
			break
		}
		if !done {
			r.incomplete = append(r.incomplete, string(site))
			continue
		}
		for _, pair := range pairs { // 5. no result is a separate outcome
			if pair.Site == site && r.outcomes[pair] == "" {
				r.outcomes[pair] = "no result"
			}
		}
	}
	return r
}

// window reads a site in windows of the given length; ok: all of it was read.
func (r *report) window(call func(string, object) result, site contracts.SiteKey, to time.Time, hours, length int) (map[contracts.Pair]string, bool) {
	rows := map[contracts.Pair]string{}
	for from := hours; from > 0; from -= length {
		arguments := object{
			"site":         string(site),
			"capturedFrom": to.Add(-time.Duration(from) * time.Hour).Format(time.RFC3339Nano),
			"capturedTo":   to.Add(-time.Duration(max(0, from-length))*time.Hour - time.Millisecond).Format(time.RFC3339Nano),
		}
		for {
			got := call("list_results", arguments)
			if got.IsError {
				if code := got.members()["code"]; code != query.CodeQueryTimeout {
					panic(fmt.Sprint(code))
				}
				return nil, false
			}
			page := got.members()
			for _, row := range list(page, "data") {
				id, _ := contracts.ParseID[contracts.ItemID](at(row, "itemId").(string))
				outcome := "unavailable"
				if at(row, "availability") == "AVAILABLE" && at(row, "price") != nil {
					outcome = "price"
				}
				if pair := (contracts.Pair{Item: id, Site: site}); rows[pair] != "price" {
					rows[pair] = outcome
				}
			}
			cursor := at(page, "completeness", "nextCursor")
			if cursor == nil {
				break
			}
			arguments = maps.Clone(arguments)
			arguments["cursor"] = cursor
		}
	}
	return rows, true
}

// GEN-09, GEN-G1 to GEN-G5, RES-12: reads that take too long are narrowed, and
// what cannot be read is reported, while the rest is kept.
func TestAgentGivenOnlyATime(t *testing.T) {
	m := newMarket()
	m.rows = slices.DeleteFunc(m.rows, func(r observed) bool { return r.Item == 12 && r.outcome == contracts.PriceObserved })
	var asked []time.Duration
	m.slow = func(q *query.ResultsQuery) bool {
		if q.Selectors.Site == "market-uk" { // nothing helps there
			return true
		}
		if q.Selectors.Site == "market-de" {
			asked = append(asked, q.Window.To.Sub(q.Window.From))
		}
		return q.Selectors.Site == "market-de" && q.Window.To.Sub(q.Window.From) > 7*time.Hour
	}
	// No soft deadline that could end a page early: a slow read fails.
	a := newAgents(t, m, func(s *agentSettings) { s.query.SoftDeadline, s.query.HardBudget = 20*time.Second, 20*time.Second }).agent(whole)
	pairs := []contracts.Pair{
		{Item: 11, Site: "market-de"},
		{Item: 12, Site: "market-de"},
		{Item: 13, Site: "market-de"},
		{Item: 14, Site: "market-de"},
		{Item: 11, Site: "shop-one"},
		{Item: 12, Site: "shop-one"},
		{Item: 13, Site: "market-uk"},
	}
	r := onlyATime(a, 24, pairs)
	want := map[contracts.Pair]string{
		{Item: 11, Site: "market-de"}: "price", {Item: 12, Site: "market-de"}: "unavailable", {Item: 13, Site: "market-de"}: "price",
		{Item: 14, Site: "market-de"}: "no result", {Item: 11, Site: "shop-one"}: "price", {Item: 12, Site: "shop-one"}: "no result",
	}
	if !maps.Equal(r.outcomes, want) {
		t.Errorf("got %v, want %v", r.outcomes, want)
	}
	if !slices.Equal(r.incomplete, []string{"market-uk"}) {
		t.Errorf("incomplete: %v", r.incomplete)
	}
	// For each site at most as many calls as there are windows and splits.
	if r.calls > 1+1+(2+4)+4 {
		t.Errorf("%d calls", r.calls)
	}
}

// TOOL-03a to TOOL-03d, ERR-18.
func TestCategories(t *testing.T) {
	m := newMarket()
	agents := newAgents(t, m)
	a := agents.agent(whole)
	page := a.call("list_items", object{"discoverCategories": true}).ok()
	if got := fmt.Sprint(at(page, "search", "availableCategories")); got != "[books office]" {
		t.Error(got)
	}
	if page := a.call("list_items", object{"category": "books"}).ok(); len(list(page, "data")) != 1 || at(page, "data", 0, "itemId") != "13" || page["search"] != nil {
		t.Errorf("%v", page)
	}
	for _, category := range []string{"nope", "secret"} {
		a.call("list_items", object{"category": category}).failed("ITEM_CATEGORY_NOT_AVAILABLE")
	}
	agents.agent(oneOrder).call("list_items", object{"category": "books"}).failed("ITEM_CATEGORY_NOT_AVAILABLE")
	m.data = nil
	r := a.call("list_items", object{"discoverCategories": true})
	var body struct{ Search json.RawMessage }
	must.Do(t, json.Unmarshal(r.Structured, &body))
	if r.ok(); string(body.Search) != `{"availableCategories":[]}` {
		t.Errorf("search %s", body.Search)
	}
}

// TOOL-04a to TOOL-04c through the tool; the arithmetic is proved in the
// service.
func TestMarketPricePosition(t *testing.T) {
	m := newMarket()
	a := newAgents(t, m).agent(whole)
	position := func(arguments object) object {
		t.Helper()
		return a.call("get_market_price_position", arguments).ok()
	}
	page := position(object{"itemId": 13, "candidatePrice": 10.35})
	if got := list(page, "positions"); len(got) != 2 || at(got[0], "country") != "DE" || at(got[0], "currencyCode") != "EUR" || at(got[1], "country") != "GB" || at(got[1], "currencyCode") != "GBP" {
		t.Errorf("one position per country and currency: %v", got)
	}
	if page := position(object{"itemId": 13, "candidatePrice": "10.35", "country": "GB", "currencyCode": "GBP"}); at(page, "positions", 0, "candidate", "dearer") != 1.0 || len(list(page, "positions")) != 1 {
		t.Errorf("%v", page)
	}
	reference := func(item int, include bool) (source, price any) {
		page := position(object{"itemId": item, "candidatePrice": "10", "includeCustomerReference": include})
		return at(page, "positions", 0, "reference", "source"), at(page, "positions", 0, "reference", "price")
	}
	if source, price := reference(11, true); source != "CUSTOMER_REFERENCE" || price != 12.34 {
		t.Errorf("one match: %v %v", source, price)
	}
	results := a.call("list_results", object{"itemId": 11, "includeExportFields": true, "limit": 1}).ok()
	if at(results, "data", 0, "referencePrice") != 12.34 {
		t.Errorf("referencePrice %v", at(results, "data", 0, "referencePrice"))
	}
	m.rows = slices.DeleteFunc(m.rows, func(r observed) bool { return r.Item == 12 && r.outcome == contracts.Unavailable })
	for _, item := range []int{12, 13} { // two matches, none
		source, price := reference(item, true)
		if _, median := reference(item, false); source != "MARKET_MEDIAN" || price != median {
			t.Errorf("item %d: %v %v, median %v", item, source, price, median)
		}
	}
	if page := position(object{"itemId": 15, "candidatePrice": "10"}); len(list(page, "positions")) != 0 || page["note"] == "" {
		t.Errorf("%v", page)
	}
}
