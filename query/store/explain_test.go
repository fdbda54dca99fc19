package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestExplainedToTheEndOfTime: a window may end later than any time can be
// written, as the last day of 9999 does west of Greenwich; it is explained and
// streamed like one that ends with the last capture.
func TestExplainedToTheEndOfTime(t *testing.T) {
	w := newWorld(t, 75, 400)
	account := query.Principal{Account: accountWhole}
	explained := func(to, zone string) uint64 {
		t.Helper()
		var e query.Explanation
		r := query.ResultsRequest{ItemID: 1, CapturedFrom: "2026-01-01", CapturedTo: to, Timezone: zone, Limit: ptr(10)}
		if _, err := w.service.Results(query.Explain(t.Context(), &e), account, r); !errors.Is(err, query.ErrExplained) {
			t.Fatalf("to %s in %q: %v", to, zone, err)
		}
		return *e.Scanned
	}
	if near, far := explained("2026-12-31", ""), explained("9999-12-31", "America/New_York"); near != far || near == 0 {
		t.Errorf("%d rows until the last capture, %d until the end of time", near, far)
	}
	a := must.Get(w.store.Access(t.Context(), accountWhole))(t)
	rows := 0
	for _, to := range []time.Time{w.now, time.Date(10_000, 1, 1, 5, 0, 0, 0, time.UTC)} {
		n := 0
		q := query.ResultsQuery{Window: contracts.Window{To: to}, Watermark: query.Watermark{Epoch: epoch, Seq: w.mark}, Read: w.read(t)}
		must.Do(t, w.store.Results(t.Context(), a.Visibility, &q, func(b *query.Block) error { n += b.Len; return nil }))
		if rows == 0 {
			rows = n
		} else if rows != n {
			t.Errorf("%d rows until now, %d until the end of time", rows, n)
		}
	}
}

// TestExplainedBounds: for many reads, the explanation bounds what the read
// then returns and scans; it takes at most six statements, including those for
// the access, and they read no row of observations.
func TestExplainedBounds(t *testing.T) {
	w := newWorld(t, 71, effort.Often(800, 3_000))
	w.cfg.SliceRows = 10_000
	asked := w.listen()
	count := func(f func()) (statements, rows, observed uint64) {
		asked.take()
		f()
		for _, a := range asked.take() {
			statements++
			if rows += a.Rows; a.Statement == "results" || a.Statement == "statistics" || a.Statement == "density" {
				observed += a.Rows
			}
		}
		return statements, rows, observed
	}
	days := func(r query.ResultsRequest, from, to string) query.ResultsRequest {
		r.CapturedFrom, r.CapturedTo = from, to
		return r
	}
	requests := []query.ResultsRequest{
		{Site: "alpha.example", Include: query.Include{Coverage: true, OrderIDs: true}},
		{ItemID: 3},
		{ItemID: 2, Include: query.Include{CustomerData: true, ExportFields: true, Identity: true}},
		{OrderID: orderB},
		{EAN: "4006381333931", Filters: query.Filters{Merchant: "Merchant 1's \\ shop"}},
		{OrderID: orderA, LatestPerPair: true},
		{OrderID: orderA, LatestObservationPerPair: true},
		{LatestPerPair: true},
		{Site: "none.example"},
		days(query.ResultsRequest{GlobalScope: true}, "2026-03-02", "2026-03-05"), days(query.ResultsRequest{Site: "beta.example"}, "2026-03-01", "2026-03-04"),
		days(query.ResultsRequest{OrderID: orderB, Sort: "asc"}, "2026-03-01", ""), days(query.ResultsRequest{ItemID: 4, Filters: query.Filters{CoverageState: "PRICE_OBSERVED"}}, "2026-02-26", "2026-03-08"),
	}
	some := 0
	for i, p := range []query.Principal{{Account: accountWhole}, {Account: accountOrder}, {Account: accountSites}, {Account: accountNone}} {
		for j, r := range requests {
			if (i+j)%effort.Often(3, 1) > 0 {
				continue
			}
			limit := 1_000
			r.Limit = &limit
			var page, stream, sums query.Explanation
			statements, rows, observed := count(func() {
				_, err := w.service.Results(query.Explain(t.Context(), &page), p, r)
				if page.Rows == nil || page.Bytes == nil && !errors.Is(err, query.ErrExplained) && (err != nil || *page.Rows != 0) {
					t.Fatalf("%+v: %v, %+v", r, err, page)
				}
			})
			if statements > 6 || observed > 0 || rows > 300 {
				t.Errorf("%+v: explained by %d statements, that read %d rows, %d of observations", r, statements, rows, observed)
			}
			explain := func(e *query.Explanation, read func(context.Context) error) {
				t.Helper()
				if err := read(query.Explain(t.Context(), e)); err != nil && !errors.Is(err, query.ErrExplained) {
					t.Fatalf("%+v: %v", r, err)
				}
			}
			stream.Bytes = new(uint64) // of an empty stream, which is made
			explain(&stream, func(ctx context.Context) error { return w.service.StreamResults(ctx, p, r, &lines{}) })
			got, err := w.service.Results(t.Context(), p, r)
			if err != nil {
				t.Fatalf("%+v: %v", r, err)
			}
			if n := uint64(got.Rows.Len()); n > *page.Rows || *page.Rows > 1_000 || page.Bytes != nil && uint64(len(got.Rows.JSON())) > *page.Bytes {
				t.Errorf("%+v: %d rows in %d bytes, explained %+v", r, n, len(got.Rows.JSON()), page)
			} else if n > 0 {
				some++
			}
			got.Rows.Release()
			var all lines
			if err := w.service.StreamResults(t.Context(), p, r, &all); err != nil {
				t.Fatalf("%+v: %v", r, err)
			}
			if n := uint64(all.rows); n > *stream.Rows || stream.Bytes == nil || uint64(all.text.Len()) > *stream.Bytes {
				t.Errorf("%+v: %d rows in %d bytes as a stream, explained %+v", r, n, all.text.Len(), stream)
			}
			if r.LatestPerPair || r.LatestObservationPerPair || r.CoverageState != "" || r.Merchant != "" || r.Sort != "" {
				continue
			}
			s := query.StatisticsRequest{ResultsRequest: r}
			explain(&sums, func(ctx context.Context) error { _, err := w.service.Statistics(ctx, p, s); return err })
			if sums.Rows == nil || sums.Scanned == nil {
				t.Errorf("%+v: statistics explained as %+v", r, sums)
			}
		}
	}
	if some < effort.Often(7, 20) {
		t.Errorf("%d reads gave rows", some)
	}
}
