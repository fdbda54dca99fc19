package store_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// withDeadline returns a service of the same world with another soft deadline.
// A deadline that is over at once ends each page after one slice of the window.
func (w *world) withDeadline(soft time.Duration) *query.Service {
	w.t.Helper()
	return w.over(w.store, func(c *query.Config) { c.SoftDeadline, c.HardBudget = soft, time.Minute })
}

// TestWalksAreSnapshots sends random queries page by page, with another limit
// and another service each time, while rows arrive, early and late ones, and
// soft deadlines cut pages short: the pages together are what was there at the
// first one, each row once, in order: CUR-02, RES-P01, RES-P02, RES-11b,
// RES-11c.
func TestWalksAreSnapshots(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 77, 1500)
	w.reports()
	at := map[int64]int{}
	for _, r := range w.rows {
		at[r.ms]++
	}
	tied := 0
	for _, n := range at {
		if n > 1 {
			tied += n
		}
	}
	if share := float64(tied) / float64(len(w.rows)); share < 0.3 {
		t.Fatalf("only %.0f %% of the rows share their capture time", 100*share)
	}
	walks := effort.Often(10, 20)
	accounts := []contracts.AccountID{accountWhole, accountWhole, accountOrder, accountSites, accountOther}
	long := w.now.Add(-200 * time.Hour).Format(time.RFC3339Nano)
	many := []query.ResultsRequest{ // with several pages
		{ItemID: 4, CapturedFrom: long},
		{OrderID: orderB, CapturedFrom: long, Sort: "asc"},
		{OrderID: orderB, LatestPerPair: true},
		{LatestObservationPerPair: true},
		{LatestObservationPerPair: true, Sort: "asc"},
	}
	var short, empty, pages int
	for seed := range walks {
		r := rand.New(rand.NewPCG(uint64(seed), 77))
		account := accounts[r.IntN(len(accounts))]
		type question struct {
			query.ResultsRequest
			from, to int64
		}
		q := rapid.Custom(func(t *rapid.T) question {
			q := question{ResultsRequest: drawRequest.Draw(t, "request")}
			q.from, q.to = w.drawWindow(t, &q.ResultsRequest)
			return q
		}).Example(seed)
		req, most := q.ResultsRequest, 90
		if seed%2 == 0 {
			req = many[seed/2%len(many)]
			q.from, q.to = w.now.Add(-200*time.Hour).UnixMilli(), w.now.UnixMilli()
			if req.CapturedFrom == "" {
				q.from, q.to, most = math.MinInt64, math.MaxInt64, 5
			}
		}
		want := expected(w.oracle(account, req, q.from, q.to, w.rows))
		got := []answer{}
		for page := 0; ; page++ {
			pages++
			limit := 1 + r.IntN(most)
			service, soft := w.withDeadline(20*time.Second), false // each page by a service that has just started
			if r.IntN(3) == 0 {
				service, soft = w.withDeadline(time.Nanosecond), true
			}
			req.Limit = &limit
			p, err := service.Results(t.Context(), query.Principal{Account: account}, req)
			if err != nil {
				t.Fatalf("walk %d, page %d of %+v: %v", seed, page, req, err)
			}
			rows := decode(t, &p.Rows)
			if len(rows) != p.Paging.Returned || len(rows) > limit {
				t.Fatalf("walk %d, page %d: %d rows, returned %d, limit %d", seed, page, len(rows), p.Paging.Returned, limit)
			}
			got = append(got, rows...)
			if p.Paging.NextCursor == "" {
				break
			}
			if len(rows) < limit {
				short++
				if !soft {
					t.Errorf("walk %d, page %d: %d of %d rows and a cursor, without a deadline", seed, page, len(rows), limit)
				}
				if len(rows) == 0 {
					empty++
				}
			}
			if page > 2000 {
				t.Fatalf("walk %d of %+v does not end", seed, req)
			}
			req.Cursor = p.Paging.NextCursor
			if page < 2 {
				w.insert(r, 30, time.Duration(r.IntN(3)-1)*24*time.Hour)
				w.setMark(w.mark)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("walk %d, account %d, %+v (-want +got):\n%s", seed, account, req, diff)
		}
	}
	t.Logf("%d walks, %d pages, %d cut short by the soft deadline, %d of them empty", walks, pages, short, empty)
	if short < walks/3 || empty == 0 {
		t.Errorf("only %d pages were cut short, %d of them empty", short, empty)
	}
}

// TestSlicesMeet cuts a window that has a row in each millisecond into pages of
// single slices: no row is missing or repeated where two slices meet.
func TestSlicesMeet(t *testing.T) {
	w := newWorld(t, 78, 0)
	w.reports()
	var rows []obsRow
	for i := range effort.Often(30, 100) {
		w.mark++
		rows = append(rows, obsRow{
			item: 1 + uint64(i%3), site: "alpha.example", ms: w.now.UnixMilli() - int64(i), epoch: epoch, seq: w.mark,
			outcome: contracts.PriceObserved, price: int64(i), merchant: "Merchant",
		})
	}
	w.write(rows)
	w.setMark(w.mark)
	service := w.withDeadline(time.Nanosecond)
	for _, sort := range []string{"desc", "asc"} {
		req := query.ResultsRequest{Limit: ptr(1000), Site: "alpha.example", Sort: sort, CapturedFrom: w.now.Add(-time.Duration(len(rows)-1) * time.Millisecond).Format(time.RFC3339Nano)}
		want := expected(w.oracle(accountWhole, req, w.now.UnixMilli()-int64(len(rows)-1), w.now.UnixMilli(), rows))
		got, pages := []answer{}, 0
		for {
			pages++
			p := must.Get(service.Results(t.Context(), query.Principal{Account: accountWhole}, req))(t)
			got = append(got, decode(t, &p.Rows)...)
			if p.Paging.NextCursor == "" || pages > 600 {
				break
			}
			req.Cursor = p.Paging.NextCursor
		}
		if diff := cmp.Diff(want, got); diff != "" || pages < len(rows)/3 {
			t.Errorf("%s: %d pages (-want +got):\n%s", sort, pages, diff)
		}
	}
}
