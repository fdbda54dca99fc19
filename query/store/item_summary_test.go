package store_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestItemSummary draws accounts, products, sites and windows, and recomputes
// each market from the rows: current offers, ranks, extremes, outcomes, buy box
// shares that add up to 100, and days as in the statistics.
func TestItemSummary(t *testing.T) {
	w := newWorld(t, 201, 0)
	w.reports()
	r := rand.New(rand.NewPCG(20, 1))
	w.crowded(r, 250)
	w.insert(r, 900, 0)
	w.setMark(w.mark)
	w.exec("INSERT INTO reference_prices VALUES (1, 1, [(9000, 'EUR', '', '', '')], 1), (1, 3, [(40000, 'EUR', '', '', '')], 1), (2, 4, [(5, 'EUR', '', '', '')], 1)")
	references := map[contracts.AccountID]map[contracts.ItemID]int64{accountOther: {4: 5}}
	for _, a := range []contracts.AccountID{accountWhole, accountOrder, accountSites} {
		references[a] = map[contracts.ItemID]int64{1: 9000, 3: 40000}
	}
	met := map[string]int{}
	for i := range effort.Often(12, 40) {
		a := []contracts.AccountID{accountWhole, accountOrder, accountSites, accountOther, accountWhole, accountNone}[i%6]
		req := query.ItemSummaryRequest{
			ItemID: contracts.ItemID(1 + r.Uint64N(7)), Site: contracts.SiteKey([]string{"", "", "market.example"}[r.IntN(3)]),
			Timezone: []string{"", "Asia/Kolkata"}[r.IntN(2)], OwnMerchant: []string{"Merchant 2's \\ shop", "", ""}[i%3],
		}
		if i%3 == 1 {
			req.Site = ""
			req.CandidatePrice = []string{"90", "90.05", "12000", "90.005"}[r.IntN(4)]
			if req.CandidatePrice != "90.005" { // not a valid amount in euros
				req.CurrencyCode = []contracts.Currency{"", "EUR"}[r.IntN(2)]
			}
		}
		from, to := w.now.Add(-30*24*time.Hour), w.now
		if r.IntN(2) == 0 {
			to = w.now.Add(-time.Duration(r.IntN(100)) * time.Hour)
			from = to.Add(-time.Duration(1+r.IntN(100)) * time.Hour)
			req.CapturedFrom, req.CapturedTo = from.Format(time.RFC3339), to.Format(time.RFC3339)
		}
		got := must.Get(w.service.ItemSummary(t.Context(), query.Principal{Account: a}, req))(t)
		want := w.bruteMarkets(a, req, from.UnixMilli(), to.UnixMilli(), references[a][req.ItemID])
		if diff := gocmp.Diff(want, marketLines(t, got.Data, met)); diff != "" {
			t.Fatalf("account %s, %+v (-want +got):\n%s", a, req, diff)
		}
		if pairs := len(w.pairsUnder(a, query.Selectors{Item: req.ItemID, Site: req.Site})); got.Query.Pairs != uint64(pairs) {
			t.Errorf("%+v: %d pairs", got.Query, pairs)
		}
		w.checkDays(t, a, req, from, to, got.Data, met)
		w.checkPositions(t, a, req, got.Data, met)
	}
	for _, what := range []string{"boxes", "rank", "rank with shipping", "unknown shipping", "no cheapest", "restricted day", "restricted now", "run of several", "candidate", "no candidate of the currency"} {
		if met[what] < effort.Often(1, 2) {
			t.Errorf("%q was met %d times", what, met[what])
		}
	}
}

// TestItemSummaryOfOneSite: the midnight that ends a window is no day of it,
// although a capture at that instant is one of its captures; only an account
// that may read orders learns why nothing is known; a wrong candidate is refused
// at once.
func TestItemSummaryOfOneSite(t *testing.T) {
	w := newWorld(t, 205, 0)
	t.Run("ends at midnight", func(t *testing.T) { w.summaryEndsAtMidnight(t) })
	t.Run("without orders", func(t *testing.T) { w.summaryWithoutOrders(t) })
	t.Run("wrong candidate", func(t *testing.T) { w.summaryCandidate(t) })
}

func (w *world) summaryEndsAtMidnight(t *testing.T) {
	midnight := w.now.Truncate(24 * time.Hour)
	w.capture(1, "alpha.example", w.now.Sub(midnight.Add(-time.Hour)), contracts.PriceObserved, "100 EUR")
	w.capture(1, "alpha.example", w.now.Sub(midnight), contracts.PriceObserved, "90 EUR")
	got := must.Get(w.service.ItemSummary(t.Context(), query.Principal{Account: accountWhole}, query.ItemSummaryRequest{
		ItemID: 1, Site: "alpha.example", CapturedFrom: midnight.Add(-7 * 24 * time.Hour).Format(time.RFC3339), CapturedTo: midnight.Format(time.RFC3339),
	}))(t)
	site := got.Data[0].Sites[0]
	if n := site.DayCounts; n.InStock != 1 || n.NotObserved != 6 || len(site.Days) != 1 || site.Observations.Priced != 2 || got.Data[0].Low.Price != "0.90" {
		t.Errorf("%+v, %d days, %+v, low %v", n, len(site.Days), site.Observations, got.Data[0].Low)
	}
}

func (w *world) summaryWithoutOrders(t *testing.T) {
	w.capture(2, "alpha.example", time.Hour, contracts.AccessRestricted)
	read := func() query.ItemSite {
		got := must.Get(w.service.ItemSummary(t.Context(), query.Principal{Account: accountWhole}, query.ItemSummaryRequest{ItemID: 2, Site: "alpha.example"}))(t)
		site := got.Data[0].Sites[0]
		if len(site.Days) == 0 || site.CoverageState != "UNKNOWN" {
			t.Fatalf("%+v", site)
		}
		return site
	}
	if site := read(); !site.AccessRestricted || site.Days[0].State != "ACCESS_RESTRICTED" {
		t.Errorf("with orders: %+v", site)
	}
	w.exec("INSERT INTO accounts SELECT * REPLACE (version + 1 AS version, ['results'] AS permissions) FROM accounts FINAL WHERE account = " + fmt.Sprint(uint64(accountWhole)))
	if site := read(); site.AccessRestricted || site.Days[0].State != "UNKNOWN" {
		t.Errorf("without orders: %+v", site)
	}
}

// checkPositions compares the position of a candidate price with the one that
// MarketPosition returns for it.
func (w *world) checkPositions(t *testing.T, a contracts.AccountID, req query.ItemSummaryRequest, markets []query.ItemMarket, met map[string]int) {
	t.Helper()
	if req.CandidatePrice == "" || req.Site != "" {
		return
	}
	want := must.Get(w.service.MarketPosition(t.Context(), query.Principal{Account: a}, query.PositionRequest{ItemID: req.ItemID, CandidatePrice: req.CandidatePrice, CurrencyCode: req.CurrencyCode}))(t)
	got := []query.Standing{}
	for _, m := range markets {
		if m.Position == nil {
			continue
		}
		if m.Position.Candidate == nil {
			met["no candidate of the currency"]++
		} else {
			met["candidate"]++
		}
		if req.CurrencyCode == "" || m.CurrencyCode == req.CurrencyCode {
			got = append(got, *m.Position)
		} else if m.Position.Candidate != nil {
			t.Errorf("%s in a market of %s", req.CurrencyCode, m.CurrencyCode)
		}
	}
	inUTC := func(s string) string { // the summary writes times in its zone
		at := must.Get(time.Parse(time.RFC3339Nano, s))(t)
		return at.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	for i := range got {
		got[i].OldestCapturedAt, got[i].NewestCapturedAt = inUTC(got[i].OldestCapturedAt), inUTC(got[i].NewestCapturedAt)
	}
	equals.Checkf(t, want.Positions, got, "%+v (-position +summary)", req)
}

func (w *world) summaryCandidate(t *testing.T) {
	for want, r := range map[string]query.ItemSummaryRequest{
		"candidatePrice and ownMerchant exclude each other. candidatePrice: must be more than 0.": {CandidatePrice: "0", OwnMerchant: "Shop"},
		"currencyCode: only with candidatePrice, which is missing.":                               {CurrencyCode: "EUR"},
		`currencyCode: "eur" is not an ISO 4217 code like EUR.`:                                   {CandidatePrice: "1", CurrencyCode: "eur"},
		`candidatePrice: "1.5" has more than the 0 decimal digits of JPY.`:                        {CandidatePrice: "1.5", CurrencyCode: "JPY"},
	} {
		r.ItemID = 1
		if _, err := w.service.ItemSummary(t.Context(), query.Principal{Account: accountWhole}, r); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", r, err, want)
		}
	}
}

// bruteMarkets computes the markets by looking at every row.
func (w *world) bruteMarkets(a contracts.AccountID, r query.ItemSummaryRequest, from, to, reference int64) []string {
	type sums struct {
		counts      [4]int // priced, unavailable, not found, unknown
		low, high   int64
		boxes, none int
		offers      []obsRow
		last        int64
	}
	markets := map[string]*sums{}
	of := func(currency string) *sums {
		if markets[currency] == nil {
			markets[currency] = &sums{low: -1, high: -1, last: -1}
		}
		return markets[currency]
	}
	if len(w.pairsUnder(a, query.Selectors{Item: r.ItemID, Site: r.Site})) > 0 {
		of("EUR")
	}
	standing := map[string]obsRow{}                                                                                                     // of each capture
	for _, row := range w.oracle(a, query.ResultsRequest{ItemID: r.ItemID, Site: r.Site}, from, min(to, w.now.UnixMilli()-1), w.rows) { // a price captured now was held for no time
		key := fmt.Sprint(row.site, row.ms, row.seq, row.capture)
		if old, ok := standing[key]; !ok || stands(row, old) {
			standing[key] = row
		}
	}
	for _, row := range standing {
		state, currency, price := stateOfRow(row)
		of("EUR").counts[slices.Index([]string{"PRICE_OBSERVED", "UNAVAILABLE", "PRODUCT_NOT_FOUND", "UNKNOWN"}, state)]++
		if row.site == "market.example" && row.buyBox == contracts.FlagTrue {
			of("EUR").boxes++
		} else if row.site == "market.example" {
			of("EUR").none++
		}
		if state == "PRICE_OBSERVED" {
			m := of(currency)
			if m.low < 0 || price < m.low {
				m.low = price
			}
			m.high = max(m.high, price)
		}
	}
	for _, row := range w.oracle(a, query.ResultsRequest{ItemID: r.ItemID, Site: r.Site, LatestObservationPerPair: true}, math.MinInt64, math.MaxInt64, w.rows) {
		of("EUR").last = max(of("EUR").last, row.ms)
		if state, currency, _ := stateOfRow(row); state == "PRICE_OBSERVED" && row.ms >= w.now.Add(-168*time.Hour).UnixMilli() {
			of(currency).offers = append(of(currency).offers, row)
		}
	}
	var lines []string
	for currency, m := range markets {
		own, ownTotal, unshipped, best := int64(-1), int64(-1), 0, int64(-1)
		if r.OwnMerchant == "" && currency == "EUR" && reference > 0 && len(m.offers) > 0 {
			own, ownTotal = reference, reference
		}
		if r.CandidatePrice != "" {
			own, ownTotal = -1, -1
			if m, err := contracts.ParseMoney(r.CandidatePrice, contracts.Currency(currency)); err == nil && len(of(currency).offers) > 0 && (r.CurrencyCode == "" || string(r.CurrencyCode) == currency) {
				own, ownTotal = m.AmountMinor, m.AmountMinor
			}
		}
		mine := func(o obsRow) bool { return r.OwnMerchant != "" && o.merchant == r.OwnMerchant }
		slices.SortStableFunc(m.offers, func(a, b obsRow) int {
			holds := func(r obsRow) int {
				return map[bool]int{true: 0, false: 1}[r.site == "market.example" && r.buyBox == contracts.FlagTrue]
			}
			cost := func(r obsRow) int64 { return *cmp.Or(r.shipping, ptr(int64(math.MaxInt64))) }
			return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(a.site, b.site), cmp.Compare(holds(a), holds(b)), cmp.Compare(cost(a), cost(b)))
		})
		for _, o := range m.offers {
			if o.shipping == nil {
				unshipped++
			} else if best < 0 || o.price+*o.shipping < best {
				best = o.price + *o.shipping
			}
			if mine(o) && (own < 0 || o.price < own) {
				own = o.price
			}
		}
		rank, shipped, whole := 1, 1, 0               // whole counts other offers whose totals are known
		for _, o := range slices.Backward(m.offers) { // the first of several
			if mine(o) && o.price == own {
				ownTotal = -1
				if o.shipping != nil {
					ownTotal = o.price + *o.shipping
				}
			}
		}
		for _, o := range m.offers {
			if !mine(o) && o.price < own {
				rank++
			}
			if !mine(o) && o.shipping != nil {
				if whole++; o.price+*o.shipping < ownTotal {
					shipped++
				}
			}
		}
		if own < 0 {
			rank = 0
		}
		if ownTotal < 0 || whole == 0 {
			shipped = 0
		}
		digits := contracts.Currency(currency).Digits()
		text := func(minor int64) string {
			if minor < 0 {
				return "-"
			}
			return string(contracts.AppendMinor(nil, minor, digits))
		}
		lines = append(lines, fmt.Sprintf("%s offers %d unshipped %d cheapest %s own %s rank %d shipped %d low %s high %s counts %v boxes %d none %d last %d",
			currency, len(m.offers), unshipped, text(best), text(own), rank, shipped, text(m.low), text(m.high), m.counts, m.boxes, m.none, m.last))
	}
	slices.Sort(lines)
	return lines
}

// marketLines writes markets as bruteMarkets does.
func marketLines(t *testing.T, markets []query.ItemMarket, met map[string]int) (lines []string) {
	for _, m := range markets {
		text := func(n *json.Number) string {
			if n == nil {
				return "-"
			}
			return n.String()
		}
		cheapest, low, high, last := "-", "-", "-", int64(-1)
		if m.Cheapest != nil {
			cheapest = m.Cheapest.TotalPrice.String()
		} else {
			met["no cheapest"]++
		}
		if m.Low != nil {
			low, high = m.Low.Price.String(), m.High.Price.String()
		}
		if m.LastCapturedAt != nil {
			at := must.Get(time.Parse(time.RFC3339Nano, *m.LastCapturedAt))(t)
			last = at.UnixMilli()
		}
		boxes, none, whole := 0, 0, new(big.Rat)
		for _, h := range m.BuyBox {
			share, _ := new(big.Rat).SetString(h.Share.String())
			whole.Add(whole, share)
			if h.Nobody {
				none += int(h.Captures)
			} else {
				boxes += int(h.Captures)
			}
		}
		if len(m.BuyBox) > 0 && whole.Cmp(big.NewRat(100, 1)) != 0 {
			t.Errorf("shares of %+v sum up to %s", m.BuyBox, whole.FloatString(2))
		}
		rank, shipped := 0, 0
		if m.Rank != nil {
			rank = *m.Rank
			met["rank"]++
		}
		if m.RankWithShipping != nil {
			shipped = *m.RankWithShipping
			met["rank with shipping"]++
		}
		met["boxes"] += boxes
		met["unknown shipping"] += m.WithoutShipping
		o := m.Observations
		lines = append(lines, fmt.Sprintf("%s offers %d unshipped %d cheapest %s own %s rank %d shipped %d low %s high %s counts %v boxes %d none %d last %d",
			m.CurrencyCode, m.Offers, m.WithoutShipping, cheapest, text(m.OwnPrice), rank, shipped, low, high, [4]uint64{o.Priced, o.Unavailable, o.NotFound, o.Unknown}, boxes, none, last))
	}
	slices.Sort(lines)
	return lines
}
