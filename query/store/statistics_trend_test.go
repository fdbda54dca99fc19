package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/query"
)

// A trend is the median of each of 24 equal parts of the window, as computed
// from every row, on pages of any size.
func TestTrends(t *testing.T) {
	w := newWorld(t, 182, 0)
	w.reports()
	r := rand.New(rand.NewPCG(18, 2))
	w.crowded(r, 200)
	w.setMark(w.mark)
	points := 0
	for range effort.Often(5, 20) {
		to := w.now.Add(-time.Duration(r.Int64N(int64(30 * time.Hour)))).Truncate(time.Millisecond)
		from := to.Add(-time.Duration(r.Int64N(int64(60*time.Hour)) + int64(time.Minute))).Truncate(time.Millisecond)
		req := query.StatisticsRequest{By: query.ByProduct, Trend: true}
		req.CapturedFrom, req.CapturedTo, req.Limit = from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano), ptr(1+r.IntN(7))
		switch r.IntN(4) {
		case 0:
			req.ItemID = 1
		case 1:
			req.EAN, req.Limit, req.Standing = "4006381333931", ptr(1), true // two products
		case 2:
			req.Brand, req.GlobalScope = "A", true
		default:
			req.GlobalScope = true
		}
		begin, end := from.UnixMilli(), to.UnixMilli()+1
		var edges []int64
		for i := range int64(25) {
			edges = append(edges, begin+(end-begin)*i/24)
		}
		a := []contracts.AccountID{accountWhole, accountOrder, accountSites, accountOther}[r.IntN(4)]
		parts := w.addUp(a, req, begin, min(end, w.now.UnixMilli()), edges)
		all, _ := w.statistics(t, a, req)
		for _, rec := range all {
			for _, price := range rec.Prices {
				var want []query.StatisticTrend
				for b := range 24 {
					s := parts[fmt.Sprintf("%020d\x00%05d", *rec.ItemID, b)]
					if s == nil {
						continue
					}
					for _, p := range s.show(edges[b], edges[b+1]).Prices {
						if p.CurrencyCode == price.CurrencyCode && p.Count > 0 {
							want = append(want, query.StatisticTrend{From: time.UnixMilli(edges[b]).UTC().Format("2006-01-02T15:04:05.000Z"), Median: *p.Median})
						}
					}
				}
				points += len(want)
				equals.Checkf(t, want, price.Trend, "account %s, %+v, %s", a, req, priceOf(*rec.ItemID, price.CurrencyCode))
			}
		}
	}
	if points < effort.Often(20, 80) {
		t.Errorf("%d points", points)
	}
}
