package store_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver"
	"preismon/query"
)

// TestStatisticsAtVolume sums up 10,000 products over 30 days: with one
// statement that reads the rows of the window and of the day before it one
// time, in addition to the scope and the sites.
func TestStatisticsAtVolume(t *testing.T) {
	testserver.Full(t, "statistics of 10,000 products over 30 days")
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
			page, err := w.service.Statistics(t.Context(), query.Principal{Account: accountOther}, r)
			if err != nil || page.Query.ObservedPairs != products {
				t.Fatalf("%v %+v", err, page)
			}
			a := asked.take("statistics")[0]
			t.Logf("by=%s bucket=%s seconds=%.2f rows=%d", by, bucket, a.Took.Seconds(), a.Rows)
			if a.Rows > 2*products*captures {
				t.Errorf("it reads %d rows, there are %d", a.Rows, products*captures)
			}
		}
	}
}

// TestSummaryAtVolume sums up more rows than a page has, and than the node
// counts itself: the totals match what the rows were made from, wherever the
// rows are cut, also with a filter, which hides no observed pair.
func TestSummaryAtVolume(t *testing.T) {
	testserver.Full(t, "a summary of 70,000 rows")
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
		page, err := w.service.Results(t.Context(), query.Principal{Account: accountOther}, r)
		must(t, err)
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
