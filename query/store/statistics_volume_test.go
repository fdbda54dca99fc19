package store_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestStatisticsAtVolume sums up 10,000 products over 30 days: with one
// statement that reads the rows of the window and of the day before it one
// time, in addition to the scope and the sites. It takes a fraction of a second
// on a quiet machine (decision 050, preismon bench); here its time is compared,
// as a median, with that of plain SQL for how long each price held, so that
// neither a slow machine nor what else runs on it matters: 3.8 to 4.5 times where
// nothing does, since it names 10,000 products, and up to 6.1 beside others.
func TestStatisticsAtVolume(t *testing.T) {
	effort.Full(t, "statistics of 10,000 products over 30 days")
	w := newWorld(t, 191, 0)
	const products, captures = 10_000, 62 // two a day, for 31 days
	w.exec("INSERT INTO scope_pairs SELECT 2, 8, number + 1, 'alpha.example', [201] FROM numbers(10000)")
	w.exec("INSERT INTO scopes VALUES (2, 8, 10000, 10000)")
	w.exec("INSERT INTO scopes_applied VALUES (2, 0, 8)")
	w.exec(`INSERT INTO observations_by_mandate (mandate, captured_desc, item, site, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths)
		SELECT 2, -toInt64(? - intDiv(number, 10000) * 43200000 - number % 10000), number % 10000 + 1, 'alpha.example', ?, number + 1, 0, 0, 'priceObserved', 'EUR', 1000 + cityHash64(number) % 500, -1, concat('M', toString(number % 7)), 0, 0, 255
		FROM numbers(620000)`, w.now.UnixMilli(), uint32(epoch))
	w.setMark(1 << 40)
	asked := w.listen()
	for _, by := range []query.Grouping{query.ByProduct, query.BySite, query.ByMerchant, query.ByNothing} {
		for _, bucket := range []string{"whole", "day"} {
			r := query.StatisticsRequest{By: by, Bucket: bucket}
			r.OrderID, r.Limit = orderC, ptr(10_000)
			r.CapturedFrom, r.CapturedTo = w.now.Add(-30*24*time.Hour).Format(time.RFC3339), w.now.Format(time.RFC3339)
			rounds := 1
			if by == query.ByProduct && bucket == "whole" {
				rounds = 5
			}
			var whole, plain []cost
			for range rounds {
				whole = append(whole, costOf(asked, func() {
					page, err := w.service.Statistics(t.Context(), query.Principal{Account: accountOther}, r)
					if err != nil || page.Query.ObservedPairs != products {
						t.Fatalf("%v %+v", err, page)
					}
				}))
				if rounds > 1 {
					plain = append(plain, costOf(asked, func() { w.exec(plainStatistics, w.now.UnixMilli(), w.now.Add(-31*24*time.Hour).UnixMilli()) }))
				}
			}
			last := whole[len(whole)-1]
			t.Logf("by=%s bucket=%s seconds=%.2f rows=%d", by, bucket, median(whole).Seconds(), last.rows)
			if last.of["statistics"] != 1 || last.of["results"] != 0 {
				t.Errorf("it takes these statements: %v", last.of)
			}
			if last.rows > 2*products*captures {
				t.Errorf("it reads %d rows, there are %d", last.rows, products*captures)
			}
			if rounds > 1 {
				t.Logf("plain SQL: seconds=%.2f", median(plain).Seconds())
				if median(whole) > 9*median(plain) {
					t.Errorf("it takes %s, plain SQL %s", median(whole), median(plain))
				}
			}
		}
	}
}

// plainStatistics is what one would write for how long each price held.
const plainStatistics = `INSERT INTO FUNCTION null('item UInt64, n UInt64, least Int64, quantiles Array(Int64), greatest Int64, held Float64')
	SELECT item, count(), min(price_minor), quantilesExact(0.25, 0.5, 0.75)(price_minor), max(price_minor), sum(price_minor * lasted) / sum(lasted)
	FROM (
		SELECT item, price_minor,
			leadInFrame(at, 1, at + 86400000) OVER (PARTITION BY item, site ORDER BY at ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) - at AS lasted
		FROM (SELECT item, site, -captured_desc AS at, price_minor FROM observations_by_mandate WHERE mandate = 2 AND captured_desc BETWEEN -toInt64(?) AND -toInt64(?))
	)
	GROUP BY item`

// TestSummaryAtVolume sums up more rows than a page has, and than the node
// counts itself: the totals match what the rows were made from, wherever the
// rows are cut, also with a filter, which hides no observed pair.
func TestSummaryAtVolume(t *testing.T) {
	effort.Full(t, "a summary of 70,000 rows")
	w := newWorld(t, 193, 0)
	const products, rows = 700, 70_000 // row n is of product n%700+1; the last one is never visible
	w.exec("INSERT INTO scope_pairs SELECT 2, 8, number + 1, 'alpha.example', [201] FROM numbers(701)")
	w.exec("INSERT INTO scopes VALUES (2, 8, 701, 701)")
	w.exec("INSERT INTO scopes_applied VALUES (2, 0, 8)")
	w.exec(`INSERT INTO observations_by_mandate (mandate, captured_desc, item, site, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths)
		SELECT 2, -toInt64(? - number), number % 700 + 1, 'alpha.example', ?, number + 1, 0, 0, if(number % 10 = 9, 'unavailable', 'priceObserved'), if(number % 10 = 9, '', 'EUR'), if(number % 10 = 9, -1, toInt64(number)), -1, concat('M', toString(number % 7)), 0, 2, 255
		FROM numbers(70000)`, w.now.UnixMilli(), uint32(epoch))
	w.setMark(1 << 40)
	w.serve(w.store)
	var priced, byMerchant []int
	for n := range rows {
		if n%10 != 9 {
			priced = append(priced, n)
			if n%7 == 3 {
				byMerchant = append(byMerchant, n)
			}
		}
	}
	euros := func(n int) json.Number { return json.Number(contracts.AppendMinor(nil, int64(n), 2)) }
	of := func(prices []int, unavailable int) string {
		n := len(prices)
		return fmt.Sprintf("rows=%d priced=%d unavailable=%d none=1 EUR %d: %s %s %s", n+unavailable, n, unavailable, n, euros(prices[0]), euros(prices[(n-1)/2]), euros(prices[n-1]))
	}
	for merchant, want := range map[string]string{"": of(priced, rows/10), "M3": of(byMerchant, rows/70)} {
		r := query.ResultsRequest{Filters: query.Filters{Merchant: merchant}, Limit: ptr(1), Summarize: true}
		began := time.Now()
		page := must.Get(w.service.Results(t.Context(), query.Principal{Account: accountOther}, r))(t)
		sum := page.Summary
		if len(sum.Sites) != 1 || sum.Covers != query.CoversQuery {
			t.Fatalf("%+v", sum)
		}
		s := sum.Sites[0]
		if s.SiteRows == nil || len(s.Prices) != 1 || s.NoResult == nil {
			t.Fatalf("%+v", s)
		}
		p := s.Prices[0]
		got := fmt.Sprintf("rows=%d priced=%d unavailable=%d none=%d EUR %d: %s %s %s", sum.Rows, s.Priced, s.Unavailable, *s.NoResult, p.Count, p.Min, p.Median, p.Max)
		if got != want {
			t.Errorf("merchant %q: %s, want %s", merchant, got, want)
		}
		t.Logf("merchant %q: %d rows of %d products in %s", merchant, sum.Rows, products, time.Since(began))
		page.Rows.Release()
	}
}
