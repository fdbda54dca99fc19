package store_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestItemHistory compares a history with the summary and the stream of the
// same moment, although rows become visible between its two parts.
func TestItemHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 203, 0)
	w.cfg.SliceRows = 10_000
	w.listen()
	w.reports()
	r := rand.New(rand.NewPCG(21, 1))
	w.insert(r, 600, 0)
	w.setMark(w.mark)
	rows := 0
	for i := range 6 {
		p := query.Principal{Account: []contracts.AccountID{accountWhole, accountOrder}[i%2]}
		req := query.ItemHistoryRequest{ItemSummaryRequest: query.ItemSummaryRequest{ItemID: contracts.ItemID(1 + i)}}
		stream := query.ResultsRequest{ItemID: req.ItemID, Sort: "asc", Include: query.Include{ExportFields: true}}
		if i%3 == 1 {
			req.OrderID, stream.OrderID = orderA, orderA
		}
		window := [2]string{w.now.Add(-30 * 24 * time.Hour).Format(time.RFC3339), w.now.Format(time.RFC3339)}
		stream.CapturedFrom, stream.CapturedTo = window[0], window[1]
		if i%2 == 0 {
			req.CapturedFrom, req.CapturedTo = window[0], window[1]
		}
		sum := must.Get(w.service.ItemSummary(t.Context(), p, req.ItemSummaryRequest))(t)
		var want lines
		must.Do(t, w.service.StreamResults(t.Context(), p, stream, &want))

		history := must.Get(w.service.ItemHistory(t.Context(), p, req))(t)
		w.insert(r, 60, 0) // they are in the same window
		w.setMark(w.mark)
		var got lines
		must.Do(t, history.Stream(t.Context(), &got))
		equals.Checkf(t, sum.Query, history.Query, "%+v (-summary +history)", req)
		if diff := gocmp.Diff(sum.Data, history.Data, gocmp.Comparer(func(a, b query.ItemMarket) bool {
			return slices.Equal(marketLines(t, []query.ItemMarket{a}, map[string]int{}), marketLines(t, []query.ItemMarket{b}, map[string]int{}))
		})); diff != "" {
			t.Errorf("%+v (-summary +history): %s", req, diff)
		}
		if got.text.String() != want.text.String() || got.starts != 1 {
			t.Errorf("%+v: %d rows, the stream has %d", req, got.rows, want.rows)
		}
		var after lines
		if must.Do(t, w.service.StreamResults(t.Context(), p, stream, &after)); after.rows > want.rows {
			rows++
		}
	}
	var token string // of an open window goes on
	req := query.ItemHistoryRequest{ItemSummaryRequest: query.ItemSummaryRequest{ItemID: 1}, ChangesToken: &token}
	p := query.Principal{Account: accountWhole}
	history := must.Get(w.service.ItemHistory(t.Context(), p, req))(t)
	must.Do(t, history.Stream(t.Context(), &lines{}))
	w.now = w.now.Add(time.Hour)
	w.capture(1, "alpha.example", time.Minute, contracts.PriceObserved, "100 EUR")
	if feed, err := w.service.Feed(t.Context(), p, query.FeedRequest{Since: token}); err != nil || feed.Rows.Len() == 0 {
		t.Errorf("nothing follows the history: %+v, %v", feed, err)
	}
	if rows < 3 {
		t.Errorf("rows came between only %d times", rows)
	}
}
