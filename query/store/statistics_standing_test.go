package store_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
)

// priceOf names a product in a currency as records do.
func priceOf(item contracts.ItemID, currency contracts.Currency) string {
	return fmt.Sprint(item, " ", currency)
}

// The customer's standing is what get_market_price_position returns for each
// country, combined, with the one reference price that applies.
func TestStandings(t *testing.T) {
	w := newWorld(t, 183, 0)
	w.reports()
	w.crowded(rand.New(rand.NewPCG(18, 3)), 200)
	w.setMark(w.mark)
	w.exec("INSERT INTO reference_prices VALUES (1, 1, [(100, 'EUR', '', '', '')], 1), (1, 2, [(200, 'EUR', 'alpha.example', '', ''), (150, 'CHF', '', '', '')], 1), (1, 3, [(100, 'EUR', '', '', ''), (101, 'EUR', '', '', '')], 1), (1, 4, [(3, 'JPY', '', '', ''), (50, 'EUR', '', '', '')], 1)")
	owned := map[string]json.Number{"1 EUR": "1.00", "2 CHF": "1.50", "4 JPY": "3", "4 EUR": "0.50"}
	own, without := 0, 0
	for _, a := range []contracts.AccountID{accountWhole, accountSites} {
		req := query.StatisticsRequest{By: query.ByProduct, Standing: true}
		req.GlobalScope, req.CapturedFrom, req.CapturedTo, req.Limit = true, w.now.Add(-100*time.Hour).Format(time.RFC3339), w.now.Format(time.RFC3339), ptr(4)
		all, _ := w.statistics(t, a, req)
		for _, rec := range all {
			position := must.Get(w.position(a, query.PositionRequest{ItemID: *rec.ItemID, CandidatePrice: "1", IncludeCustomerReference: true}))(t)
			for _, price := range rec.Prices {
				var want query.StatisticStanding
				var cheapest []query.BestOffer
				for _, st := range position.Positions {
					if st.CurrencyCode == price.CurrencyCode {
						want.Offers += st.Offers
						cheapest = append(cheapest, st.Best)
					}
				}
				got, key := price.Standing, priceOf(*rec.ItemID, price.CurrencyCode)
				if got == nil || got.Offers != want.Offers || (got.Cheapest == nil) != (want.Offers == 0) {
					t.Errorf("account %s, %s: %+v, want %d offers", a, key, got, want.Offers)
					continue
				}
				if want.Offers == 0 {
					continue
				}
				slices.SortStableFunc(cheapest, func(x, y query.BestOffer) int { return compareNumbers(t, x.Price, y.Price) })
				if got.Cheapest.Price != cheapest[0].Price || len(cheapest) == 1 && !gocmp.Equal(*got.Cheapest, cheapest[0]) {
					t.Errorf("account %s, %s: the cheapest is %+v, want %+v", a, key, got.Cheapest, cheapest)
				}
				switch amount, ok := owned[key]; {
				case key == "2 EUR": // depends on whether alpha.example offers it
				case !ok:
					if without++; got.OwnPrice != nil || got.Difference != nil || got.DifferencePercent != nil {
						t.Errorf("account %s, %s: an own price %+v", a, key, got)
					}
				case got.OwnPrice == nil || *got.OwnPrice != amount:
					t.Errorf("account %s, %s: own price %v, want %s", a, key, got.OwnPrice, amount)
				default:
					own++
					checkDifference(t, *got)
				}
			}
		}
	}
	if own < 5 || without < 5 {
		t.Errorf("%d own prices, %d without", own, without)
	}
}

// TestStandingsEndWithTheWindow: an offer captured at the first instant after
// the window does not count.
func TestStandingsEndWithTheWindow(t *testing.T) {
	w := newWorld(t, 184, 0)
	end := w.now.Add(-24 * time.Hour)
	var rows []obsRow
	for i, price := range []int64{500, 400, 300} { // a second before the end, at it, and after it
		w.mark++
		rows = append(rows, obsRow{item: 1, site: "alpha.example", epoch: epoch, seq: w.mark, outcome: contracts.PriceObserved, price: price, merchant: "Merchant", ms: end.UnixMilli() + []int64{-1000, 0, 1}[i]})
	}
	w.add(rows)
	for to, want := range map[time.Time]json.Number{end.Add(-time.Millisecond): "5.00", end: "4.00", end.Add(time.Millisecond): "3.00", w.now: "3.00"} {
		req := query.StatisticsRequest{By: query.ByProduct, Standing: true}
		req.ItemID, req.CapturedFrom, req.CapturedTo, req.Limit = 1, end.Add(-time.Hour).Format(time.RFC3339Nano), to.Format(time.RFC3339Nano), ptr(2)
		all, _ := w.statistics(t, accountWhole, req)
		if len(all) != 1 || len(all[0].Prices) != 1 || all[0].Prices[0].Standing == nil || all[0].Prices[0].Standing.Cheapest.Price != want {
			t.Errorf("to %s: %+v, want %s", to, all, want)
		}
	}
	w.detailsRefused(t)
}

// checkDifference recomputes both differences.
func checkDifference(t *testing.T, st query.StatisticStanding) {
	t.Helper()
	number := func(n json.Number) float64 {
		v := must.Get(n.Float64())(t)
		return v
	}
	own, best := number(*st.OwnPrice), number(st.Cheapest.Price)
	near := func(got, want float64) bool { return got-want < 0.00501 && want-got < 0.00501 }
	if !near(number(*st.Difference), own-best) || (best == 0) != (st.DifferencePercent == nil) || best != 0 && !near(number(*st.DifferencePercent), 100*(own-best)/best) {
		t.Errorf("%v less %v: %v, %v %%", own, best, *st.Difference, st.DifferencePercent)
	}
}

// detailsRefused: trends and standings are only for products, for the whole
// window, and for at most 1,000 records.
func (w *world) detailsRefused(t *testing.T) {
	t.Helper()
	for _, req := range []query.StatisticsRequest{
		{By: query.BySite, Trend: true},
		{Bucket: "day", Standing: true},
		{Trend: true, ResultsRequest: query.ResultsRequest{Limit: ptr(1001)}},
	} {
		if _, err := w.service.Statistics(t.Context(), query.Principal{Account: accountWhole}, req); err == nil {
			t.Errorf("%+v was accepted", req)
		}
	}
}

// Records by product have the identity that rows have with includeIdentity, on
// every page and in every part of the window, and only if it is requested.
func TestStatisticsIdentity(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 185, 400)
	w.exec("INSERT INTO items VALUES (1, '5901234123457', '', 'B000000001', 'de', 'Name of one', 'Brand', 'Maker', 2), (2, '', '01234562', '', '', '', '', '', 2)")
	w.setMark(w.mark)
	one := query.StatisticIdentity{EAN: ptr("5901234123457"), ASIN: ptr("B000000001"), ASINLocale: ptr("de"), ProductName: ptr("Name of one"), Brand: ptr("Brand"), Manufacturer: ptr("Maker")}
	for _, bucket := range []string{"whole", "day"} {
		req := query.StatisticsRequest{By: query.ByProduct, Bucket: bucket, Identity: true}
		req.GlobalScope, req.CapturedFrom, req.CapturedTo, req.Limit = true, w.now.Add(-48*time.Hour).Format(time.RFC3339), w.now.Format(time.RFC3339), ptr(2)
		all, _ := w.statistics(t, accountWhole, req)
		records := 0
		for _, rec := range all {
			switch got := rec.Identity; {
			case got == nil:
				t.Errorf("by %s, item %s has no identity", bucket, rec.ItemID)
			case *rec.ItemID == 1:
				if records++; !gocmp.Equal(*got, one) {
					t.Errorf("by %s, item 1 is %+v", bucket, got)
				}
			case *rec.ItemID == 2 && !gocmp.Equal(*got, query.StatisticIdentity{PZN: ptr("01234562")}):
				t.Errorf("by %s, item 2 is %+v", bucket, got)
			}
		}
		if records == 0 {
			t.Errorf("by %s, there is no record of item 1", bucket)
		}
		req.Limit = ptr(1000)
		if whole, _ := w.statistics(t, accountWhole, req); !gocmp.Equal(whole, all) {
			t.Errorf("by %s, pages of 2 have other records than one of 1,000: %s", bucket, gocmp.Diff(whole, all))
		}
		req.Identity = false
		if all, _ := w.statistics(t, accountWhole, req); all[0].Identity != nil {
			t.Errorf("not requested: %+v", all[0].Identity)
		}
	}
	if _, err := w.service.Statistics(t.Context(), query.Principal{Account: accountWhole}, query.StatisticsRequest{By: query.BySite, Identity: true}); err == nil {
		t.Error("identity of sites was accepted")
	}
}
