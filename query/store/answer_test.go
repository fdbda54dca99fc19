package store_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestAnswerBudgetsEndPages walks random queries with another answer budget on
// each page, some of them with a service whose soft deadline is over at once: a
// page ends with the row that reaches its budget, has at least that row, and
// says why it ended; the pages together are the full answer, each row once:
// CUR-02, RES-11b, RES-11c.
func TestAnswerBudgetsEndPages(t *testing.T) {
	w := newWorld(t, 91, 500)
	w.reports()
	services := []*query.Service{w.withDeadline(20 * time.Second), w.withDeadline(20 * time.Second), w.withDeadline(time.Nanosecond)}
	ended := map[query.Ending]int{}
	for seed := range effort.Often(8, 20) {
		r := rand.New(rand.NewPCG(uint64(seed), 91))
		account := []contracts.AccountID{accountWhole, accountOther, accountSites}[seed%3]
		req := query.ResultsRequest{Sort: []string{"asc", "desc"}[seed%2], OrderID: orderA, CapturedFrom: w.now.Add(-240 * time.Hour).Format(time.RFC3339)}
		switch seed % 4 {
		case 1:
			req = query.ResultsRequest{LatestObservationPerPair: true}
		case 2:
			req.OrderID, req.ItemID = 0, 4
		case 3:
			req.Merchant = "Merchant 2's \\ shop"
		}
		from, to := w.now.Add(-240*time.Hour).UnixMilli(), w.now.UnixMilli()
		want := expected(w.oracle(account, req, from, to, w.rows))
		got := []answer{}
		for {
			req.Limit, req.AnswerBytes = ptr(1+r.IntN(60)), []int{0, 1, 200, 1 + r.IntN(9000)}[r.IntN(4)]
			p, err := services[r.IntN(len(services))].Results(t.Context(), query.Principal{Account: account}, req)
			if err != nil {
				t.Fatalf("%+v: %v", req, err)
			}
			checkEnding(t, p, *req.Limit, req.AnswerBytes)
			ended[p.Ending]++
			got = append(got, decode(t, &p.Rows)...)
			if p.Paging.NextCursor == "" {
				break
			}
			req.Cursor = p.Paging.NextCursor
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%+v (-want +got):\n%s", req, diff)
		}
	}
	for _, e := range []query.Ending{query.NothingMore, query.AtLimit, query.AtSoftDeadline, query.AtAnswerBudget} {
		if ended[e] < effort.Often(2, 5) {
			t.Errorf("%d pages ended with %q", ended[e], e)
		}
	}
}

// checkEnding checks a page against the meaning of its ending.
func checkEnding(t *testing.T, p *query.ResultsPage, limit, budget int) {
	t.Helper()
	n, size := p.Rows.Len(), len(p.Rows.JSON())
	var rows []json.RawMessage
	if err := json.Unmarshal(slices.Concat([]byte("["), p.Rows.JSON(), []byte("]")), &rows); err != nil || len(rows) != n || p.Paging.Returned != n {
		t.Fatalf("%d rows, returned %d, %v", len(rows), p.Paging.Returned, err)
	}
	reached := budget > 0 && size >= budget
	if reached && n > 0 && size-len(rows[n-1]) >= budget+1 {
		t.Errorf("%d bytes of rows before the last one, budget %d", size-len(rows[n-1]), budget)
	}
	ok := (p.Ending == query.NothingMore) == (p.Paging.NextCursor == "")
	switch p.Ending {
	case query.AtLimit:
		ok = ok && n == limit
	case query.AtAnswerBudget:
		ok = ok && reached && n >= 1 && n < limit
	}
	if !ok || n > limit {
		t.Errorf("page of %d rows in %d bytes, limit %d, budget %d, cursor %t: %q", n, size, limit, budget, p.Paging.NextCursor != "", p.Ending)
	}
}

// TestSummariesMatchTheRows sends random queries, some of them page by page, and
// recomputes each page's summary from the JSON of its rows and from the pairs
// of the market: GEN-G5, RES-Q2.
func TestSummariesMatchTheRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 92, 120)
	w.reports() // from now on answers are remembered
	// Whichever side counts it, a summary covers the whole query, even when it
	// takes long on a busy machine.
	services := []*query.Service{w.counting(query.Defaults().CountedRows), w.counting(3), w.counting(0)}
	accounts := []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther}
	var told, silent, cut, boxes uint64
	effort.CheckOften(t, 20, 60, func(rt *rapid.T) {
		w.service = rapid.SampledFrom(services).Draw(rt, "service")
		account := rapid.SampledFrom(accounts).Draw(rt, "account")
		r := drawRequest.Draw(rt, "request")
		from, to := w.drawWindow(rt, &r)
		if rapid.Bool().Draw(rt, "plain") { // half without a filter
			r.Brand, r.Manufacturer, r.Merchant, r.CoverageState, r.IsPrime, r.IsBuyBox, r.Limit = "", "", "", "", nil, nil, ptr(1000)
		}
		r.Limit = ptr(max(*r.Limit, 7))
		if rapid.IntRange(0, 3).Draw(rt, "wide") == 0 { // so that there is more than one page
			r.ItemID, r.EAN, r.OrderID, r.Site, r.Limit = 0, "", 0, "", ptr(2)
			if !r.LatestPerPair && !r.LatestObservationPerPair {
				r.GlobalScope, r.CapturedFrom, r.CapturedTo = true, w.now.Add(-168*time.Hour).Format(time.RFC3339), w.now.Format(time.RFC3339)
				from, to = w.now.Add(-168*time.Hour).UnixMilli(), w.now.UnixMilli()
			} else {
				r.GlobalScope, r.CapturedFrom, r.CapturedTo = false, "", ""
				from, to = math.MinInt64, math.MaxInt64
			}
		}
		if rapid.IntRange(0, 5).Draw(rt, "boxed") == 0 { // so that there are buy boxes
			account, from, to = accountWhole, w.now.Add(-168*time.Hour).UnixMilli(), w.now.UnixMilli()
			r = query.ResultsRequest{Site: "market.example", CapturedFrom: w.now.Add(-168 * time.Hour).Format(time.RFC3339), CapturedTo: w.now.Format(time.RFC3339), Limit: ptr(1000)}
		}
		for page := 0; page < 4; page++ {
			plain, err := w.service.Results(t.Context(), query.Principal{Account: account}, r)
			if err != nil {
				rt.Fatalf("%+v: %v", r, err)
			}
			asked := r
			asked.Summarize = true
			p, err := w.service.Results(t.Context(), query.Principal{Account: account}, asked)
			if err != nil {
				rt.Fatalf("%+v: %v", asked, err)
			}
			if plain.Summary != nil || p.Summary == nil || string(plain.Rows.JSON()) != string(p.Rows.JSON()) {
				rt.Fatalf("%+v: summaries %v, %v", r, plain.Summary, p.Summary)
			}
			rows := p.Rows.JSON()
			covers := query.CoversPage
			if r.Cursor == "" {
				covers = query.CoversQuery
				all := r // with the buy boxes, which a summary always has
				all.Include.ExportFields = true
				if p.Paging.NextCursor != "" { // the summary covers more than the page
					cut++
					all.Limit = ptr(query.MaxResultsLimit)
				}
				full, err := w.service.Results(t.Context(), query.Principal{Account: account}, all)
				if err != nil || full.Paging.NextCursor != "" {
					rt.Fatalf("%+v: %v, cursor %q", all, err, full.Paging.NextCursor)
				}
				rows = full.Rows.JSON()
				defer full.Rows.Release()
			}
			sel := query.Selectors{Order: r.OrderID, Item: r.ItemID, EAN: r.EAN, Site: r.Site}
			pairs := w.pairsUnder(account, sel)
			want := recount(rt, rows, pairs)
			for i := range want.Sites {
				if site := &want.Sites[i]; covers == query.CoversQuery {
					site.NoResult = ptr(w.silent(pairs, site.Site, from, to))
				}
			}
			got := must.Get(json.Marshal(p.Summary))(rt)
			want.Covers = covers
			summed := decodeSummary(rt, got)
			for i := range summed.Sites {
				if summed.Sites[i].BuyBox != nil {
					boxes++
				}
				if r.Cursor != "" && !r.Include.ExportFields { // the rows of the page do not show it
					summed.Sites[i].BuyBox = nil
				}
			}
			if diff := cmp.Diff(want, summed); diff != "" {
				rt.Fatalf("account %d, %+v (-want +got):\n%s", account, r, diff)
			}
			for _, site := range p.Summary.Sites {
				if site.NoResult != nil {
					told += *site.NoResult
				} else {
					silent++
				}
			}
			plain.Rows.Release()
			p.Rows.Release()
			if r.Cursor = p.Paging.NextCursor; r.Cursor == "" {
				break
			}
		}
	})
	if told == 0 || silent == 0 || cut == 0 || boxes == 0 { // how often is left to chance
		t.Errorf("%d pairs without a row told, %d sites of which none can be told, %d summaries of more than their page, %d sites with buy boxes", told, silent, cut, boxes)
	}
}

// TestSummariesAreRemembered: a summary of unchanged data costs no statement,
// and one of changed data is computed again.
func TestSummariesAreRemembered(t *testing.T) {
	w := newWorld(t, 93, 600)
	asked := w.listen()
	w.service = w.counting(0)
	w.notify("CATALOG")
	w.notify("IN_FORCE")
	r := query.ResultsRequest{
		GlobalScope: true, CapturedFrom: w.now.Add(-168 * time.Hour).Format(time.RFC3339), CapturedTo: w.now.Format(time.RFC3339),
		Filters: query.Filters{IsBuyBox: ptr(true)}, Limit: ptr(2), Summarize: true,
	}
	rows := 0
	for step, want := range []int{2, 0, 2, 0} { // for the rows, and for pairs without rows
		if step == 2 {
			w.insert(rand.New(rand.NewPCG(93, 1)), 100, 0)
			w.setMark(w.mark)
		}
		p, err := w.service.Results(t.Context(), query.Principal{Account: accountWhole}, r)
		if err != nil || p.Summary.Covers != query.CoversQuery {
			t.Fatalf("%+v, %v", p, err)
		}
		p.Rows.Release()
		if step == 2 && p.Summary.Rows <= rows {
			t.Errorf("%d rows, and %d after more came", rows, p.Summary.Rows)
		}
		rows = p.Summary.Rows
		if counted := asked.take("tally", "observed_by_site"); len(counted) != want {
			t.Errorf("step %d: %d statements counted rows, want %d", step, len(counted), want)
		}
	}
}

// counting returns a service that counts up to the given number of rows itself.
func (w *world) counting(rows int) *query.Service {
	w.t.Helper()
	return w.over(w.store, func(c *query.Config) {
		c.SoftDeadline, c.HardBudget, c.CountedRows = time.Minute, time.Minute, rows
		c.CheckRemembered = rows == 3 // one of them compares what it remembers with what it reads
	})
}

// silent counts the pairs of a site that have no row in a window, whatever the
// filters.
func (w *world) silent(pairs []contracts.Pair, site string, from, to int64) (n int) {
	for _, p := range pairs {
		seen := func(r obsRow) bool { return r.pair() == p && from <= r.ms && r.ms <= to }
		if string(p.Site) == site && !slices.ContainsFunc(w.rows, seen) {
			n++
		}
	}
	return n
}

// summaryNumbers is a summary as a client reads it.
type summaryNumbers struct {
	Covers                          query.Covers
	Rows                            int
	FirstCapturedAt, LastCapturedAt *string
	Sites                           []siteNumbers
}

type siteNumbers struct {
	Site                         string
	Priced, Unavailable, Unknown int
	NoResult                     *int
	Prices                       []priceNumbers
	BuyBox                       []winnerNumbers
}

type winnerNumbers struct {
	Merchant *string
	Wins     int
	Share    json.Number
}

type priceNumbers struct {
	CurrencyCode     string
	Count            int
	Min, Median, Max json.Number
}

func decodeSummary(t require, text []byte) (s summaryNumbers) {
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for _, site := range s.Sites {
		for i := range site.BuyBox {
			site.BuyBox[i].Share = "" // derived from the wins
		}
	}
	return s
}

// recount computes a summary from rows as a client sees them.
func recount(t require, rows []byte, pairs []contracts.Pair) summaryNumbers {
	var all []struct {
		Site, Availability, CurrencyCode, CapturedAt string
		Price                                        *json.Number
		PriceMoney                                   *struct{ AmountMinor int }
		Merchant                                     *string
		IsBuyBox                                     bool
	}
	if err := json.Unmarshal(slices.Concat([]byte("["), rows, []byte("]")), &all); err != nil {
		t.Fatalf("%v", err)
	}
	sites := map[string]*siteNumbers{}
	at := func(site string) *siteNumbers {
		if sites[site] == nil {
			sites[site] = &siteNumbers{Site: site, Prices: []priceNumbers{}}
		}
		return sites[site]
	}
	for _, p := range pairs {
		at(string(p.Site))
	}
	prices := map[string]map[string][]int{} // by site and currency
	texts := map[string]json.Number{}
	sum := summaryNumbers{Rows: len(all), Sites: []siteNumbers{}}
	wins := map[string]map[string]int{}
	for _, r := range all {
		if first := sum.FirstCapturedAt; first == nil || r.CapturedAt < *first {
			sum.FirstCapturedAt = &r.CapturedAt
		}
		if last := sum.LastCapturedAt; last == nil || r.CapturedAt > *last {
			sum.LastCapturedAt = &r.CapturedAt
		}
		if r.IsBuyBox {
			if wins[r.Site] == nil {
				wins[r.Site] = map[string]int{}
			}
			name := ""
			if r.Merchant != nil {
				name = *r.Merchant
			}
			wins[r.Site][name]++
		}
		switch {
		case r.Availability == "AVAILABLE" && r.Price != nil:
			at(r.Site).Priced++
			if prices[r.Site] == nil {
				prices[r.Site] = map[string][]int{}
			}
			prices[r.Site][r.CurrencyCode] = append(prices[r.Site][r.CurrencyCode], r.PriceMoney.AmountMinor)
			texts[fmt.Sprint(r.PriceMoney.AmountMinor, r.CurrencyCode)] = *r.Price
		case r.Availability == "UNAVAILABLE":
			at(r.Site).Unavailable++
		default:
			at(r.Site).Unknown++
		}
	}
	for site, of := range prices {
		for _, currency := range slices.Sorted(maps.Keys(of)) {
			minor := slices.Sorted(slices.Values(of[currency]))
			n, text := len(minor), func(i int) json.Number { return texts[fmt.Sprint(minor[i], currency)] }
			at(site).Prices = append(at(site).Prices, priceNumbers{currency, n, text(0), text((n - 1) / 2), text(n - 1)})
		}
	}
	for site, of := range wins {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			winner := winnerNumbers{Wins: of[name]}
			if name != "" {
				winner.Merchant = &name
			}
			at(site).BuyBox = append(at(site).BuyBox, winner)
		}
		slices.SortStableFunc(at(site).BuyBox, func(a, b winnerNumbers) int { return b.Wins - a.Wins })
		at(site).BuyBox = at(site).BuyBox[:min(10, len(of))]
	}
	for _, key := range slices.Sorted(maps.Keys(sites)) {
		if s := sites[key]; s.Priced+s.Unavailable+s.Unknown == 0 {
			s.Prices = nil // it has no row
		}
		sum.Sites = append(sum.Sites, *sites[key])
	}
	return sum
}
