package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestItemSummaryCaptures: the interval of a pair and when it is due, by its
// orders, and the runs of captures that found the access restricted or did not
// find the product.
func TestItemSummaryCaptures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 207, 0)
	w.reports()
	t.Run("interval", w.summaryInterval)
	t.Run("too many orders", w.summaryTooManyOrders)
	t.Run("runs", w.summaryRuns)
	t.Run("no more statements", w.summaryStatements)
	t.Run("without orders", w.summaryCapturesWithoutOrders) // the last: it takes the permission away
}

// siteOf returns a site of a product's summary.
func (w *world) siteOf(t *testing.T, a contracts.AccountID, r query.ItemSummaryRequest) query.ItemSite {
	t.Helper()
	got := must.Get(w.service.ItemSummary(t.Context(), query.Principal{Account: a}, r))(t)
	if len(got.Data) == 0 || len(got.Data[0].Sites) != 1 {
		t.Fatalf("%+v: %+v", r, got.Data)
	}
	return got.Data[0].Sites[0]
}

// due writes what a summary says of a schedule in one line.
func due(site query.ItemSite) string {
	every, next := "-", "-"
	if site.IntervalSeconds != nil {
		every = fmt.Sprint(*site.IntervalSeconds)
	}
	if site.NextDueAt != nil {
		next = *site.NextDueAt
	}
	return every + " " + next
}

func (w *world) summaryInterval(t *testing.T) {
	const gamma = "gamma.example" // item 3 is there in both orders, item 1 in one
	created, seen := w.now.Add(-1000*time.Hour), w.now.Add(-90*time.Minute)
	order := func(id contracts.OrderID, minutes uint32, counters ...contracts.SiteCounters) orderRow {
		return orderRow{mandate: mandateOne, order: id, active: true, created: created, interval: minutes, counters: counters}
	}
	at := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
	ask := func(a contracts.AccountID, item contracts.ItemID) string {
		return due(w.siteOf(t, a, query.ItemSummaryRequest{ItemID: item, Site: gamma}))
	}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("nothing known", ask(accountWhole, 3), "- -")
	w.writeOrders(order(orderA, 120), order(orderB, 0))
	check("no capture", ask(accountWhole, 3), "7200 -")
	w.capture(3, gamma, 90*time.Minute, contracts.PriceObserved, "100 EUR")
	w.capture(1, gamma, 90*time.Minute, contracts.Unavailable)
	check("one order has an interval", ask(accountWhole, 3), "7200 "+at(seen.Add(2*time.Hour)))
	check("only the other order is visible", ask(accountOrder, 3), "- -")
	w.writeOrders(order(orderA, 120), order(orderB, 60, contracts.SiteCounters{Site: gamma, ConfiguredObservations: 48}))
	check("the shortest, by counters, and past", ask(accountWhole, 3), "1800 "+at(seen.Add(30*time.Minute)))
	check("an order of its own", ask(accountWhole, 1), "7200 "+at(seen.Add(2*time.Hour)))
	w.capture(1, gamma, 80*time.Minute, contracts.ProductNotFound)
	check("not found is due a day later (QUAL-05)", ask(accountWhole, 1), "7200 "+at(w.now.Add(24*time.Hour-80*time.Minute)))
	legacy := order(orderA, 120)
	legacy.legacy = true // QUAL-04: it does not say that it has the pair
	w.writeOrders(legacy, order(orderB, 0))
	check("a legacy order without the pair", ask(accountWhole, 1), "- -")
	w.writeOrders(order(orderA, 30*24*60), order(orderB, 0))
	check("longer than a day", ask(accountWhole, 1), "2592000 "+at(w.now.Add(30*24*time.Hour-80*time.Minute)))
}

// summaryTooManyOrders: of more than 1,000 orders nothing is known, and the
// summary is answered.
func (w *world) summaryTooManyOrders(t *testing.T) {
	var many []orderRow
	for i := range 1_001 {
		many = append(many, orderRow{mandate: mandateTwo, order: contracts.OrderID(5_000 + i), active: true, created: w.now, interval: 60})
	}
	many[0].order = orderC
	ask := func() string {
		return due(w.siteOf(t, accountOther, query.ItemSummaryRequest{ItemID: 6, Site: "alpha.example"}))
	}
	w.writeOrders(many[:1_000]...)
	equals.Is(t, "3600 -", ask(), "with 1,000 orders")
	w.writeOrders(many...)
	equals.Is(t, "- -", ask(), "with 1,001 orders")
}

// formatRuns writes runs in one line, the times as minutes before now.
func (w *world) formatRuns(runs []query.CaptureRun) string {
	var all []string
	for _, r := range runs {
		from := must.Get(time.Parse(time.RFC3339Nano, r.From))(w.t)
		to := must.Get(time.Parse(time.RFC3339Nano, r.To))(w.t)
		all = append(all, fmt.Sprintf("%v-%v: %d", w.now.Sub(from).Minutes(), w.now.Sub(to).Minutes(), r.Captures))
	}
	return strings.Join(all, ", ")
}

func (w *world) summaryRuns(t *testing.T) {
	const site = "alpha.example"
	for _, c := range []struct {
		minutes int
		outcome contracts.Outcome
		offers  []string
	}{
		{700, contracts.AccessRestricted, nil}, // before the window
		{600, contracts.AccessRestricted, nil}, // at its first instant
		{590, contracts.AccessRestricted, nil},
		{580, contracts.PriceObserved, []string{"100 EUR", "110 EUR"}},
		{570, contracts.AccessRestricted, nil},
		{560, contracts.SiteUnavailable, nil},
		{550, contracts.ProductNotFound, nil},
		{540, contracts.ProductNotFound, nil},
		{530, contracts.AccessRestricted, nil},
		{520, contracts.AccessRestricted, []string{"-1 ", "-1 ", "-1 "}}, // several rows, none with a price
		{510, contracts.AccessRestricted, nil},
		{510, contracts.PriceObserved, []string{"100 EUR"}}, // another capture at the same instant has one
		{500, contracts.AccessRestricted, nil},
		{500, contracts.AccessRestricted, nil}, // twice at one instant
		{490, contracts.PriceObserved, nil},    // without a price: unknown
		{480, contracts.AccessRestricted, nil}, // at the last instant
		{470, contracts.AccessRestricted, nil}, // after the window
	} {
		w.capture(2, site, time.Duration(c.minutes)*time.Minute, c.outcome, c.offers...)
	}
	w.capture(2, "beta.example", 505*time.Minute, contracts.PriceObserved, "90 EUR") // another site does not end a run
	w.capture(2, "beta.example", 500*time.Minute, contracts.ProductNotFound)
	at := func(minutes int) string { return w.now.Add(-time.Duration(minutes) * time.Minute).Format(time.RFC3339) }
	r := query.ItemSummaryRequest{ItemID: 2, CapturedFrom: at(600), CapturedTo: at(480)}
	for _, one := range []contracts.SiteKey{site, ""} {
		r.Site = one
		got := must.Get(w.service.ItemSummary(t.Context(), query.Principal{Account: accountWhole}, r))(t)
		for _, s := range got.Data[0].Sites {
			want := map[contracts.SiteKey][2]string{
				site:           {"600-590: 2, 570-570: 1, 530-520: 2, 500-500: 1, 480-480: 1", "550-540: 2"},
				"beta.example": {"", "500-500: 1"},
			}[s.Site]
			if got := [2]string{w.formatRuns(s.Restricted), w.formatRuns(s.NotFound)}; got != want {
				t.Errorf("%s: %v, want %v", s.Site, got, want)
			}
			if s.Restricted == nil || s.NotFound == nil || s.AccessRestricted != (s.Site == site) { // of the newest capture, after the window
				t.Errorf("%+v", s)
			}
		}
	}
}

// summaryStatements: the rows of the window are read again only where the days
// tell of a run.
func (w *world) summaryStatements(t *testing.T) {
	w.capture(4, "alpha.example", time.Hour, contracts.PriceObserved, "100 EUR")
	w.capture(4, "alpha.example", 2*time.Hour, contracts.SiteUnavailable)
	asked := w.listen()
	count := func(item contracts.ItemID) int {
		asked.take()
		w.siteOf(t, accountWhole, query.ItemSummaryRequest{ItemID: item, Site: "alpha.example"})
		return len(asked.take("results"))
	}
	if usual, runs := count(4), count(2); usual != 1 || runs != 2 { // one of them reads the newest captures
		t.Errorf("%d reads of rows without a run, %d with one", usual, runs)
	}
}

func (w *world) summaryCapturesWithoutOrders(t *testing.T) {
	w.exec("INSERT INTO accounts SELECT * REPLACE (version + 1 AS version, ['results'] AS permissions) FROM accounts FINAL WHERE account = " + fmt.Sprint(uint64(accountWhole)))
	site := w.siteOf(t, accountWhole, query.ItemSummaryRequest{ItemID: 2, Site: "alpha.example"})
	if due(site) != "- -" || site.AccessRestricted || site.Restricted == nil || len(site.Restricted) > 0 || len(site.NotFound) != 1 {
		t.Errorf("%+v", site)
	}
}

// bruteRuns returns the runs of a site by a look at every row.
func (w *world) bruteRuns(a contracts.AccountID, item contracts.ItemID, site contracts.SiteKey, from, to int64, of contracts.Outcome) (runs []query.CaptureRun) {
	states, at := map[int64]bool{}, []int64{} // whether all rows of an instant have the outcome
	for _, row := range w.oracle(a, query.ResultsRequest{ItemID: item, Site: site}, from, to, w.rows) {
		if same, seen := states[row.ms]; !seen {
			at, states[row.ms] = append(at, row.ms), row.outcome == of
		} else {
			states[row.ms] = same && row.outcome == of
		}
	}
	slices.Sort(at)
	open := false
	for _, ms := range at {
		switch text := time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z"); {
		case !states[ms]:
		case open:
			runs[len(runs)-1].To = text
			runs[len(runs)-1].Captures++
		default:
			runs = append(runs, query.CaptureRun{From: text, To: text, Captures: 1})
		}
		open = states[ms]
	}
	return runs
}

// checkRuns compares the runs of a site with a look at every row.
func (w *world) checkRuns(t *testing.T, a contracts.AccountID, r query.ItemSummaryRequest, site query.ItemSite, from, to time.Time, met map[string]int) {
	t.Helper()
	inUTC := func(runs []query.CaptureRun) (all []query.CaptureRun) {
		for _, run := range runs {
			for _, text := range []*string{&run.From, &run.To} {
				at := must.Get(time.Parse(time.RFC3339Nano, *text))(t)
				*text = at.UTC().Format("2006-01-02T15:04:05.000Z")
			}
			if all = append(all, run); run.Captures > 1 {
				met["run of several"]++
			}
		}
		return all
	}
	got := map[string][]query.CaptureRun{"restricted": inUTC(site.Restricted), "not found": inUTC(site.NotFound)}
	want := map[string][]query.CaptureRun{
		"restricted": w.bruteRuns(a, r.ItemID, site.Site, from.UnixMilli(), to.UnixMilli(), contracts.AccessRestricted),
		"not found":  w.bruteRuns(a, r.ItemID, site.Site, from.UnixMilli(), to.UnixMilli(), contracts.ProductNotFound),
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatalf("%+v, %s: runs (-want +got):\n%s", r, site.Site, diff)
	}
}

// checkIntervals compares the intervals of a product's sites with a look at
// each order.
func (w *world) checkIntervals(rt *rapid.T, a contracts.AccountID, rows map[contracts.OrderID]orderRow) {
	item := contracts.ItemID(rapid.Uint64Range(1, 6).Draw(rt, "item of the summary"))
	got := must.Get(w.service.ItemSummary(rt.Context(), query.Principal{Account: a}, query.ItemSummaryRequest{ItemID: item}))(rt)
	for _, m := range got.Data {
		for _, site := range m.Sites {
			p := contracts.Pair{Item: item, Site: site.Site}
			var every time.Duration
			for _, id := range w.ordersOf(a) {
				if one := rows[id].every(p); rows[id].active && slices.Contains(w.pairsOf(a, id), p) && one > 0 && (every == 0 || one < every) {
					every = one
				}
			}
			want := query.ItemSite{}
			if newest := w.newest(p); every > 0 {
				want.IntervalSeconds = new(int64(every / time.Second))
				if newest != nil && newest.outcome == contracts.ProductNotFound {
					every = max(every, 24*time.Hour)
				}
				if newest != nil {
					want.NextDueAt = new(time.UnixMilli(newest.ms).Add(every).UTC().Format("2006-01-02T15:04:05.000Z"))
				}
			}
			if due(site) != due(want) {
				rt.Fatalf("account %d, %+v of %+v: %s, want %s", a, p, rows, due(site), due(want))
			}
		}
	}
}
