package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestRepeatedReadCostsNoStatement: while nothing is written, a read that is
// repeated a second later runs no statement, apart from the one that looks for a
// new moment. Reads that still run some are listed with them: a statement more
// or fewer fails. What they read has no watermark, such as the newest capture of
// a pair, or is more rows than are remembered.
func TestRepeatedReadCostsNoStatement(t *testing.T) {
	w := newWorld(t, 668, 300)
	asked := w.listen()
	w.reports()
	w.writeOrders(orderRow{mandate: mandateOne, order: orderB, active: true, created: w.now.Add(-2000 * time.Hour), interval: 60})
	for _, direction := range []query.Direction{query.Exports, query.Imports} {
		w.exec(fmt.Sprintf("INSERT INTO file_jobs VALUES (1, '%s', %d, 1, 'Job', '2026-01-01 00:00:00', 1)", direction, orderB))
		w.exec(fmt.Sprintf("INSERT INTO file_archives VALUES (1, '%s', %d, 1, 1, '2026-01-02 00:00:00', [('a', 'a.csv', 1, '')], 1)", direction, orderB))
	}
	s, p := w.service, query.Principal{Account: accountWhole}
	ago := func(d time.Duration) string { return w.now.Add(-d).Format(time.RFC3339) }
	since := ago(30 * time.Hour)
	closed := query.ResultsRequest{Site: "market.example", CapturedFrom: ago(200 * time.Hour), CapturedTo: ago(6 * time.Hour)}
	results := func(r query.ResultsRequest) func(context.Context) error {
		return func(ctx context.Context) error {
			page, err := s.Results(ctx, p, r)
			if err == nil && page.Paging.Returned == 0 {
				err = fmt.Errorf("%+v has no rows", r)
			}
			if err == nil {
				page.Rows.Release()
			}
			return err
		}
	}
	w.now = w.now.Add(time.Second) // past the quarter of an hour to which an overview rounds up
	var tag string
	first := 0 // statements of first reads
	for name, c := range map[string]struct {
		read func(context.Context) error
		runs []string // the statements that the second read runs
	}{
		"sites": {read: func(ctx context.Context) error { _, err := s.Sites(ctx, p, query.SitesRequest{}); return err }},
		"items": {read: func(ctx context.Context) error { _, err := s.Items(ctx, p, query.ItemsRequest{}); return err }},
		"one item": {read: func(ctx context.Context) error {
			_, err := s.Items(ctx, p, query.ItemsRequest{EAN: "4006381333931"})
			return err
		}},
		"ASIN locales": {read: func(ctx context.Context) error { _, err := s.ASINLocales(ctx, p); return err }},
		"orders": {read: func(ctx context.Context) error {
			_, err := s.Orders(ctx, p, query.OrdersRequest{IncludeMonitoring: true})
			return err
		}},
		"one order": {read: func(ctx context.Context) error { _, err := s.Order(ctx, p, orderB); return err }},
		"observation quality": {read: func(ctx context.Context) error {
			_, err := s.ObservationQuality(ctx, p, query.QualityRequest{OrderID: orderB})
			return err
		}},
		"state of sites": {read: func(ctx context.Context) error { _, err := s.SiteStatus(ctx, p, query.SiteStatusRequest{}); return err }},
		"state of orders": {read: func(ctx context.Context) error {
			_, err := s.OrderStatus(ctx, p, query.OrderStatusRequest{})
			return err
		}},
		"positions": {read: func(ctx context.Context) error { _, err := s.Positions(ctx, p, query.PositionsRequest{}); return err }},
		"position of a price": {read: func(ctx context.Context) error {
			_, err := s.MarketPosition(ctx, p, query.PositionRequest{ItemID: 4, CandidatePrice: "12.99"})
			return err
		}},
		"movers": {read: func(ctx context.Context) error {
			_, err := s.Movers(ctx, p, query.MoversRequest{ResultsRequest: query.ResultsRequest{GlobalScope: true}, Since: since})
			return err
		}},
		"statistics of a window that is over": {read: func(ctx context.Context) error {
			_, err := s.Statistics(ctx, p, query.StatisticsRequest{ResultsRequest: closed, By: query.ByProduct, Standing: true})
			return err
		}},
		"exports": {read: func(ctx context.Context) error {
			_, err := s.FileJobs(ctx, p, query.FileJobsRequest{Direction: query.Exports, OrderID: orderB})
			return err
		}},
		"history of imports": {read: func(ctx context.Context) error {
			_, err := s.History(ctx, p, query.HistoryRequest{Direction: query.Imports, OrderID: orderB})
			return err
		}},
		"newest import": {read: func(ctx context.Context) error {
			_, err := s.LatestFile(ctx, p, query.HistoryRequest{Direction: query.Imports, OrderID: orderB})
			return err
		}},
		"capabilities":        {read: func(ctx context.Context) error { _, err := s.Capabilities(ctx, p); return err }},
		"latest of a product": {read: results(query.ResultsRequest{ItemID: 4, LatestPerPair: true})},
		"latest of a site":    {read: results(query.ResultsRequest{Site: "gamma.example", LatestObservationPerPair: true})},
		"page of a product":   {read: results(query.ResultsRequest{ItemID: 4, Limit: ptr(10), Include: query.Include{ExportFields: true, OrderIDs: true, CustomerData: true}})},
		"page of a site":      {read: results(query.ResultsRequest{Site: "market.example", CapturedFrom: ago(100 * time.Hour), Limit: ptr(200)})},
		"page of a window":    {read: results(closed)},
		"page with its coverage": {
			read: results(query.ResultsRequest{ItemID: 4, Include: query.Include{Coverage: true}}),
			runs: []string{"last_processed"},
		},
		"stream that is not needed": {read: func(ctx context.Context) error {
			r := closed
			r.Condition = &query.Condition{Form: "lines"}
			if tag == "" {
				defer func() { tag = r.Condition.Tag }()
				return s.StreamResults(ctx, p, r, &lines{})
			}
			r.Condition.Tags = []string{tag}
			same, err := s.Unchanged(ctx, p, r)
			if err == nil && !same {
				err = fmt.Errorf("it changed")
			}
			return err
		}},
		"overview": {read: func(ctx context.Context) error { _, err := s.Overview(ctx, p, query.OverviewRequest{}); return err }},
	} {
		must.Do(t, c.read(t.Context()))
		first += len(asked.take())
		w.now = w.now.Add(time.Second)
		must.Do(t, c.read(t.Context()))
		var runs []string
		for _, a := range asked.take() {
			if a.Statement != "moment" {
				runs = append(runs, a.Statement)
			}
		}
		slices.Sort(runs)
		equals.Checkf(t, c.runs, runs, "%s, again", name)
	}
	if first < 20 {
		t.Errorf("%d statements of the first reads are seen", first)
	}
}

// TestFilesAreOfTheirSnapshot: what is remembered of an order's files is read
// again when a record of the catalogue arrives.
func TestFilesAreOfTheirSnapshot(t *testing.T) {
	w := newWorld(t, 669, 0)
	w.reports()
	w.writeOrders(orderRow{mandate: mandateOne, order: orderB, active: true, created: w.now.Add(-2000 * time.Hour), interval: 60})
	p := query.Principal{Account: accountWhole}
	for n := range 3 {
		w.exec(fmt.Sprintf("INSERT INTO file_jobs VALUES (1, 'export', %d, %d, 'Job', '2026-01-01 00:00:00', 1)", orderB, n+1))
		w.exec(fmt.Sprintf("INSERT INTO file_archives VALUES (1, 'export', %d, %d, %d, '2026-01-02 00:00:0%d', [('a', 'a.csv', 1, '')], 1)", orderB, n+1, n+1, n))
		for range 2 {
			jobs := must.Get(w.service.FileJobs(t.Context(), p, query.FileJobsRequest{Direction: query.Exports, OrderID: orderB}))(t)
			files := must.Get(w.service.History(t.Context(), p, query.HistoryRequest{Direction: query.Exports, OrderID: orderB}))(t)
			newest := must.Get(w.service.LatestFile(t.Context(), p, query.HistoryRequest{Direction: query.Exports, OrderID: orderB, Latest: ptr(true)}))(t)
			if len(jobs.Data) != n+1 || len(files.Data) != n+1 || newest.Archive != contracts.ArchiveID(n+1) {
				t.Fatalf("%d jobs, %d files, newest %+v, want %d", len(jobs.Data), len(files.Data), newest, n+1)
			}
		}
	}
	if s := w.service.Stats().Remembered; s.Hits == 0 {
		t.Errorf("nothing was remembered: %+v", s)
	}
}
