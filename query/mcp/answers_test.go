package mcp_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/query"
)

// Choices 52: the summary distinguishes three outcomes by site (GEN-G5).
func TestTheSummaryOfResults(t *testing.T) {
	a := newAgents(t, newMarket()).agent(whole)
	page := a.call("list_results", object{"latestPerPair": true}).ok()
	want := map[string][4]float64{ // priced, unavailable, unknown, noResult
		"market-de": {2, 1, 0, 1}, "market-uk": {1, 0, 0, 1}, "shop-one": {1, 0, 0, 3},
	}
	sites := list(page, "summary", "sites")
	if len(sites) != len(want) || at(page, "summary", "returned") != 5.0 {
		t.Errorf("summary %v", page["summary"])
	}
	for _, s := range sites {
		got := [4]float64{}
		for i, name := range []string{"priced", "unavailable", "unknown", "noResult"} {
			got[i], _ = at(s, name).(float64)
		}
		if got != want[at(s, "site").(string)] {
			t.Errorf("%v: want %v", s, want[at(s, "site").(string)])
		}
	}
	if at(sites[0], "prices", 0, "currencyCode") != "EUR" || at(sites[0], "prices", 0, "max") != 10.3 {
		t.Errorf("prices %v", at(sites[0], "prices"))
	}
}

// Sites without a row are listed as far as there is room, and then counted.
func TestManySilentSites(t *testing.T) {
	m := newMarket()
	for i := range 300 {
		key := contracts.SiteKey(fmt.Sprintf("quiet-%03d", i))
		m.sites = append(m.sites, contracts.Site{Site: key, Name: "Quiet", SiteType: contracts.Shop, CountryCode: "DE", CurrencyCode: "EUR"})
		m.orders[0].Sites = append(m.orders[0].Sites, key)
	}
	page := newAgents(t, m).agent(whole).call("list_results", object{"latestPerPair": true, "orderId": 5}).ok()
	sites := list(page, "summary", "sites")
	if len(sites) != 2+50 || at(page, "summary", "otherSites", "count") != 250.0 || at(page, "summary", "otherSites", "noResult") != 500.0 {
		t.Errorf("%d sites, others %v", len(sites), at(page, "summary", "otherSites"))
	}
}

// RES-12, choices 52: an incomplete answer says why and how to continue, and
// following its cursors returns everything once.
func TestCompleteness(t *testing.T) {
	m := newMarket()
	for i := range 2_000 {
		m.rows = append(m.rows, observed{
			Pair: contracts.Pair{Item: 11, Site: "shop-one"}, at: moment().Add(-time.Duration(i) * time.Minute / 2), seq: uint64(5_000 + i),
			outcome: contracts.PriceObserved, price: int64(i), currency: "EUR", merchant: "Merchant",
		})
	}
	a := newAgents(t, m).agent(whole)
	rows, pages := 0, a.pages("list_results", object{"site": "shop-one", "sort": "asc", "capturedFrom": "2026-01-01", "limit": 700})
	for i, page := range pages {
		rows += len(list(page, "data"))
		reason, next := any("MORE_ROWS"), at(page, "paging", "nextCursor")
		if i == len(pages)-1 {
			reason, next = nil, nil
		}
		if of := at(page, "completeness"); at(of, "complete") != (reason == nil) || at(of, "reason") != reason || at(of, "nextCursor") != next || at(page, "paging", "nextCursor") != next {
			t.Errorf("page %d: %v", i+1, of)
		}
	}
	if rows != 2_030 || len(pages) != 3 {
		t.Errorf("%d rows in %d pages", rows, len(pages))
	}
	// A limit given by the caller is honoured in full.
	if n := len(list(a.call("list_results", object{"site": "shop-one", "limit": 1500}).ok(), "data")); n != 1500 {
		t.Errorf("%d rows of 1500", n)
	}
}

// A page that the soft deadline ended says so, with or without rows.
func TestASoftDeadline(t *testing.T) {
	m := newMarket()
	m.slow = func(q *query.ResultsQuery) bool { return q.Window.To.Sub(q.Window.From) > time.Hour }
	a := newAgents(t, m, func(s *agentSettings) { s.query.SoftDeadline = time.Nanosecond }).agent(whole)
	page := a.call("list_results", object{"site": "shop-one"}).ok()
	if at(page, "completeness", "complete") != false || at(page, "completeness", "reason") != "SOFT_DEADLINE" || at(page, "completeness", "nextCursor") == nil {
		t.Errorf("completeness %v", page["completeness"])
	}
}

// mostDefault is the maximum number of tokens in an answer to a call without a
// limit.
const mostDefault = 6_500

// Typical calls of agents, without a limit: no answer has more than 6,500
// tokens (peers 3.3: at most 10,000).
func TestAnswersFitAgents(t *testing.T) {
	m := newMarket()
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	titles := []string{"Schraubenschlüssel Satz 12-teilig, Chrom-Vanadium", "电动牙刷 智能声波 充电式", "Ibuprofen 400 mg Filmtabletten, 50 Stück", "USB-C Cable 2 m — fast charging (60 W)"}
	for i := range 3_000 {
		pair := contracts.Pair{Item: contracts.ItemID(11 + rng.IntN(3)), Site: []contracts.SiteKey{"market-de", "shop-one", "market-uk"}[rng.IntN(3)]}
		m.rows = append(m.rows, observed{
			Pair: pair, at: moment().Add(-time.Duration(rng.IntN(160*3600)) * time.Second), seq: uint64(10_000 + i), offer: uint16(i), outcome: contracts.PriceObserved,
			price: int64(rng.IntN(100_000)), currency: "EUR", merchant: titles[rng.IntN(4)][:12], title: titles[rng.IntN(4)], buyBox: contracts.FlagFalse,
		})
	}
	a, count := newAgents(t, m).agent(whole), tokens(t)
	calls := []func() (string, object){
		func() (string, object) { return "list_results", object{} },
		func() (string, object) {
			return "list_results", object{"itemId": 11 + rng.IntN(3), "includeExportFields": rng.IntN(2) == 0, "includeIdentity": rng.IntN(2) == 0}
		},
		func() (string, object) {
			return "list_results", object{"site": "shop-one", "capturedFrom": fmt.Sprintf("2026-11-%02d", 1+rng.IntN(20)), "includeCoverage": true}
		},
		func() (string, object) {
			return "list_results", object{"orderId": 5 + rng.IntN(2), "latestObservationPerPair": true}
		},
		func() (string, object) {
			return "list_result_changes", object{"orderId": 5 + rng.IntN(2), "since": time.Now().Add(-time.Duration(rng.IntN(100)) * time.Hour).UTC().Format(time.RFC3339)}
		},
		func() (string, object) {
			return "get_market_price_position", object{"itemId": 11 + rng.IntN(3), "candidatePrice": fmt.Sprint(1 + rng.IntN(900))}
		},
		func() (string, object) { return "list_items", object{"discoverCategories": true} },
		func() (string, object) {
			return "list_orders", object{"includeCoverage": true, "includeMonitoring": true}
		},
		func() (string, object) { return "list_order_observation_quality", object{"orderId": 5 + rng.IntN(2)} },
		func() (string, object) { return "describe_results_contract", object{} },
	}
	var sizes []int
	for i := range effort.Often(60, 200) {
		name, arguments := calls[i%len(calls)]()
		r := a.call(name, arguments)
		r.ok()
		sizes = append(sizes, count(string(r.Structured)))
	}
	slices.Sort(sizes)
	p95, most := sizes[len(sizes)*95/100], sizes[len(sizes)-1]
	t.Logf("o200k_base tokens of one representation: median %d, p95 %d, most %d", sizes[len(sizes)/2], p95, most)
	if most > mostDefault {
		t.Errorf("p95 %d, most %d", p95, most)
	}
}

// Whatever text shops publish, an answer without a limit stays below 25,000
// tokens.
func TestAnswersOfHostileTextFit(t *testing.T) {
	m := newMarket()
	rng := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a test
	noise := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteRune([]rune("aQ7#~é漢🙂ж")[rng.IntN(9)])
		}
		return b.String()
	}
	for i := range 400 {
		m.rows = append(m.rows, observed{
			Pair: contracts.Pair{Item: 11, Site: "shop-one"}, at: moment().Add(-time.Duration(i) * time.Minute), seq: uint64(20_000 + i), outcome: contracts.PriceObserved,
			price: int64(i), currency: "EUR", merchant: noise(60), title: noise(400),
		})
	}
	a, count := newAgents(t, m).agent(whole), tokens(t)
	for _, arguments := range []object{{"site": "shop-one"}, {"site": "shop-one", "includeExportFields": true}} {
		r := a.call("list_results", arguments)
		n := count(string(r.Structured))
		t.Logf("%v: %d tokens, %d rows", arguments, n, len(list(r.ok(), "data")))
		if n > 25_000 || len(list(r.ok(), "data")) == 0 {
			t.Errorf("%v: %d tokens", arguments, n)
		}
	}
}
