package store_test

import (
	"errors"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// raise raises the floor of a partition, as its projector does.
func (w *world) raise(partition int, at time.Time) {
	w.t.Helper()
	w.exec("INSERT INTO checkpoints (stream, partition, epoch, seq, floor) VALUES ('OBSERVATIONS', ?, ?, ?, ?)", partition, w.epoch, w.mark, at.UnixMilli())
}

// kept returns the rows from a time on.
func (w *world) kept(from time.Time) (rows []obsRow) {
	for _, r := range w.rows {
		if r.ms >= from.UnixMilli() {
			rows = append(rows, r)
		}
	}
	return rows
}

// refusal returns err as a fault.Error; zero if it is none.
func refusal(err error) fault.Error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return *f
	}
	return fault.Error{}
}

// TestFloorOfReads sends random queries while the rows below the floor are all
// there, partly there, and gone: each query is answered from the kept rows
// only, also for the newest capture of a pair, or refused with the floor if its
// window begins or ends below it.
func TestFloorOfReads(t *testing.T) {
	for name, n := range map[string]int{"many captures": effort.Often(1000, 2500), "silent pairs": 50} {
		t.Run(name, func(t *testing.T) { floorOfReads(t, n) })
	}
}

func floorOfReads(t *testing.T, n int) {
	w := newWorld(t, 47, n)
	w.reports()
	floor := w.now.Add(-100 * time.Hour).Truncate(time.Millisecond)
	edge := []obsRow{
		{item: 1, site: "alpha.example", ms: floor.UnixMilli(), epoch: epoch, seq: w.mark + 1, outcome: contracts.PriceObserved, price: 1, merchant: "at the floor"},
		{item: 1, site: "beta.example", ms: floor.UnixMilli() - 1, epoch: epoch, seq: w.mark + 2, outcome: contracts.PriceObserved, price: 2, merchant: "a millisecond below"},
	}
	w.mark += 2
	w.rows = append(w.rows, edge...)
	w.write(edge)
	w.setMark(w.mark)
	kept := w.kept(floor)
	w.raise(0, floor)
	accounts := []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther}
	for _, site := range worldSites { // the newest of each pair, which may be silent since
		for _, r := range []query.ResultsRequest{{LatestPerPair: true}, {LatestObservationPerPair: true}} {
			r.Site, r.Limit = contracts.SiteKey(site), ptr(1000)
			want := expected(w.oracle(accountWhole, r, math.MinInt64, math.MaxInt64, kept))
			equals.Checkf(t, want, w.walk(t, accountWhole, r, nil), "newest of %s", site)
		}
	}
	refused, answered := 0, 0
	for _, removed := range []string{"nothing", "some", "all"} {
		switch removed {
		case "some":
			w.exec("DELETE FROM observations_by_mandate WHERE captured_desc > ?", -floor.UnixMilli())
		case "all":
			w.exec("DELETE FROM observations WHERE captured_at < fromUnixTimestamp64Milli(?)", floor.UnixMilli())
		}
		t.Run(removed, func(t *testing.T) {
			w.now = w.now.Add(time.Second) // so that nothing a node remembers applies
			effort.CheckOften(t, 8, 30, func(rt *rapid.T) {
				a := rapid.SampledFrom(accounts).Draw(rt, "account")
				r := drawRequest.Draw(rt, "request")
				from, to := w.drawWindow(rt, &r)
				if (r.CapturedFrom != "" && from < floor.UnixMilli() || r.CapturedTo != "" && to < floor.UnixMilli()) || r.CapturedFrom == "" && r.CapturedTo == "" && from > 0 && from < floor.UnixMilli() {
					_, err := w.service.Results(rt.Context(), query.Principal{Account: a}, r)
					if f := refusal(err); f.Kind != fault.Invalid || !strings.Contains(f.Msg, floor.Format("2006-01-02T15:04:05.000Z")) {
						rt.Fatalf("%+v from below the floor: %v", r, err)
					}
					refused++
					return
				}
				answered++
				want := expected(w.oracle(a, r, from, to, kept))
				if len(want) > 10**r.Limit {
					r.Limit = ptr(50) // limit the number of pages
				}
				got := w.walk(rt, a, r, nil)
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Fatalf("account %d, %+v (-want +got):\n%s", a, r, diff)
				}
			})
		})
	}
	if refused == 0 || answered == 0 {
		t.Errorf("%d refused, %d answered", refused, answered)
	}
}

// named returns the request that a refusal names to begin again with, as far as
// these tests make one.
func named(t *testing.T, err error) (path string, r query.ResultsRequest, bucket string) {
	t.Helper()
	_, rest, _ := strings.Cut(refusal(err).Msg, "GET ")
	rest, _, _ = strings.Cut(strings.ReplaceAll(rest, ", ", " "), " ")
	u := must.Get(url.Parse(rest))(t)
	q := u.Query()
	return u.Path, query.ResultsRequest{Site: contracts.SiteKey(q.Get("site")), CapturedFrom: q.Get("capturedFrom"), CapturedTo: q.Get("capturedTo")}, q.Get("bucket")
}

// TestFloorEndsWhatBeganBefore: a walk, a feed and windows that began before
// the floor rose must begin again, whichever partition it rose in; the highest
// floor counts. What a refused feed names is accepted.
func TestFloorEndsWhatBeganBefore(t *testing.T) {
	w := newWorld(t, 48, 600)
	floor := w.now.Add(-100 * time.Hour)
	me := query.Principal{Account: accountWhole}
	day := func(ago int) string { return w.now.Add(-time.Duration(ago) * 24 * time.Hour).Format(time.RFC3339) }
	rows := query.ResultsRequest{Site: "alpha.example", CapturedFrom: day(2), Limit: ptr(3)}
	page := func(r query.ResultsRequest) (string, error) {
		p, err := w.service.Results(t.Context(), me, r)
		if err != nil {
			return "", err
		}
		p.Rows.Release()
		return p.Paging.NextCursor, nil
	}
	windows := func(r query.WindowsRequest) (string, error) {
		p, err := w.service.Windows(t.Context(), me, r)
		if err != nil {
			return "", err
		}
		return p.Query.Token, nil
	}
	f := &feeder{w: w, account: accountWhole}
	feed := func(since string) error {
		p, err := w.service.Feed(t.Context(), me, query.FeedRequest{Since: since})
		if err == nil {
			p.Rows.Release()
		}
		return err
	}
	movers := func(since, cursor string) (string, error) {
		p, err := w.service.Movers(t.Context(), me, query.MoversRequest{ResultsRequest: query.ResultsRequest{Site: "alpha.example", Cursor: cursor, Limit: ptr(1)}, Since: since})
		if err != nil {
			return "", err
		}
		return p.Paging.NextCursor, nil
	}
	statistics := func(cursor string) (string, error) {
		p, err := w.service.Statistics(t.Context(), me, query.StatisticsRequest{ResultsRequest: query.ResultsRequest{Site: "alpha.example", CapturedFrom: day(2), Cursor: cursor, Limit: ptr(1)}})
		if err != nil {
			return "", err
		}
		return p.Paging.NextCursor, nil
	}
	given := func(text string, err error) string {
		t.Helper()
		if err != nil || text == "" {
			t.Fatalf("%q, %v", text, err)
		}
		return text
	}
	for n, at := range []time.Time{floor, floor.Add(time.Hour)} {
		walk, token := given(page(rows)), given(f.now(query.ResultsRequest{Site: "alpha.example"}))
		old := query.ResultsRequest{Site: "alpha.example", CapturedFrom: day(6)} // from below the next floor
		if n > 0 {
			old.CapturedFrom = floor.Format(time.RFC3339Nano)
		}
		long, weeks := given(f.now(old)), given(windows(query.WindowsRequest{Rows: old, Bucket: "week"}))
		days := given(windows(query.WindowsRequest{Rows: query.ResultsRequest{Site: "alpha.example", CapturedFrom: day(3)}}))
		moved, summed := given(movers(day(2), "")), given(statistics(""))
		again := rows
		again.Cursor = walk
		given(page(again)) // as long as no floor rose
		must.Do(t, feed(token))
		given(windows(query.WindowsRequest{Since: days}))
		w.raise(n, at) // partition 0, then another one with a higher floor
		w.raise(1-n, floor.Add(-time.Hour))
		for what, ask := range map[string]func() error{
			"walk":       func() error { _, err := page(again); return err },
			"movers":     func() error { _, err := movers(day(2), moved); return err },
			"statistics": func() error { _, err := statistics(summed); return err },
		} {
			if got := refusal(ask()); got.Kind != fault.Invalid || !strings.Contains(got.Msg, "Start again without it") {
				t.Errorf("%s: %+v", what, got)
			}
		}
		for what, err := range map[string]error{"feed": feed(token), "windows": func() error { _, err := windows(query.WindowsRequest{Since: days}); return err }()} {
			if got := refusal(err); got.Kind != fault.Gone {
				t.Errorf("%s: %v", what, err)
			}
		}
		if path, r, _ := named(t, feed(long)); path != "/v1/results/stream" || r.Site != "alpha.example" {
			t.Errorf("%s, %+v", path, r)
		} else if err := w.service.StreamResults(t.Context(), me, r, &lines{}); err != nil || !must.Get(time.Parse(time.RFC3339, r.CapturedFrom))(t).Equal(at) {
			t.Errorf("the snapshot that the feed names, %+v: %v", r, err)
		}
		_, err := windows(query.WindowsRequest{Since: weeks})
		if path, r, bucket := named(t, err); path != "/ext/v1/windows" || bucket != "week" {
			t.Errorf("%s, %+v", path, r)
		} else if _, err := windows(query.WindowsRequest{Rows: r, Bucket: bucket}); err != nil || !must.Get(time.Parse(time.RFC3339, r.CapturedFrom))(t).Equal(at) {
			t.Errorf("the windows that are named, %+v: %v", r, err)
		}
		for what, ask := range map[string]func(from string) error{
			"rows": func(from string) error {
				_, err := page(query.ResultsRequest{Site: "alpha.example", CapturedFrom: from})
				return err
			},
			"windows": func(from string) error {
				_, err := windows(query.WindowsRequest{Rows: query.ResultsRequest{Site: "alpha.example", CapturedFrom: from}})
				return err
			},
			"movers": func(from string) error { _, err := movers(from, ""); return err },
			"stream": func(from string) error {
				return w.service.StreamResults(t.Context(), me, query.ResultsRequest{Site: "alpha.example", CapturedFrom: from}, &lines{})
			},
		} {
			if got := refusal(ask(at.Add(-time.Millisecond).Format(time.RFC3339Nano))); got.Kind != fault.Invalid || !strings.Contains(got.Msg, at.Format("2006-01-02T15:04:05.000Z")) {
				t.Errorf("%s from a millisecond below: %+v", what, got)
			}
			equals.NoError(t, ask(at.Format(time.RFC3339Nano)), "%s from the floor", what)
		}
	}
}

// TestFloorOfNewestCaptures: what the catalogue reports about a pair's newest
// capture comes from the kept captures: LastProcessed and OrderPairs.
func TestFloorOfNewestCaptures(t *testing.T) {
	w := newWorld(t, 49, 60)
	var floor time.Time
	for ago := 10 * time.Hour; ago < 240*time.Hour; ago += 10 * time.Hour {
		floor = w.now.Add(-ago)
		seen := map[contracts.Pair]bool{}
		for _, r := range w.rows {
			if w.sees(accountWhole, r.pair()) {
				seen[r.pair()] = seen[r.pair()] || r.ms >= floor.UnixMilli()
			}
		}
		gone, there := 0, 0
		for _, k := range seen {
			if k {
				there++
			} else {
				gone++
			}
		}
		if gone > 0 && there > 0 {
			break
		}
	}
	w.raise(0, floor)
	newest := map[contracts.Pair]int64{}
	for _, r := range w.kept(floor) {
		if w.sees(accountWhole, r.pair()) {
			newest[r.pair()] = max(newest[r.pair()], r.ms)
		}
	}
	a := must.Get(w.store.Access(t.Context(), accountWhole))(t)
	last := must.Get(w.store.LastProcessed(t.Context(), a.Visibility, []contracts.ItemID{1, 2, 3, 4, 5, 6}))(t)
	got := map[contracts.Pair]int64{}
	for pair, at := range last {
		got[pair] = at.UnixMilli()
	}
	equals.Checkf(t, newest, got, "LastProcessed")
	pairs := must.Get(w.store.OrderPairs(t.Context(), a.Visibility, query.OrderPairsQuery{Orders: []contracts.OrderID{orderA, orderB}, Limit: 1000}))(t)
	got = map[contracts.Pair]int64{}
	for _, p := range pairs {
		if !p.CapturedAt.IsZero() {
			got[p.Pair] = p.CapturedAt.UnixMilli()
		}
	}
	equals.Checkf(t, newest, got, "OrderPairs")
}
