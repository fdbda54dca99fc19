package store_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"preismon/contracts"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
)

// restless adds about n captures over twelve days whose states change, and
// often do not: few prices, two merchants, two currencies, every outcome, and
// first offers without a price. Item 5 is new: its captures begin two days ago.
func (w *world) restless(r *rand.Rand, n int) {
	w.t.Helper()
	w.add(w.restlessRows(r, n))
}

// add writes rows and moves the checkpoint past them.
func (w *world) add(fresh []obsRow) {
	w.t.Helper()
	w.rows = append(w.rows, fresh...)
	w.write(fresh)
	w.setMark(w.mark)
}

// restlessRows returns the rows of restless without writing them.
func (w *world) restlessRows(r *rand.Rand, n int) (fresh []obsRow) {
	outcomes := []contracts.Outcome{
		contracts.Unavailable, contracts.Unavailable, contracts.ProductNotFound, contracts.OutcomeUnknown, contracts.AccessRestricted, contracts.SiteUnavailable,
	}
	for range n {
		w.mark++
		base := obsRow{
			item: 1 + r.Uint64N(6), site: worldSites[r.IntN(len(worldSites))], epoch: epoch, seq: w.mark,
			ms: w.now.Add(-time.Duration(r.IntN(12*24*4)) * 15 * time.Minute).UnixMilli(), outcome: outcomes[r.IntN(len(outcomes))], price: -1,
		}
		if base.item == 5 {
			base.ms = w.now.Add(-time.Duration(r.IntN(2*24*4)) * 15 * time.Minute).UnixMilli()
		}
		if r.IntN(3) > 0 {
			base.outcome = contracts.PriceObserved
		}
		if base.outcome != contracts.PriceObserved {
			fresh = append(fresh, base)
			continue
		}
		for offer := range uint16(1 + r.IntN(2)) {
			row := base
			row.offer, row.price = offer, []int64{999, 1299, 1299, 0}[r.IntN(4)]
			row.merchant = []string{"Merchant \"A\"", "Merchant B", ""}[r.IntN(3)]
			if r.IntN(5) == 0 {
				row.currency = "JPY"
			}
			if r.IntN(6) == 0 {
				row.price = -1
			}
			row.buyBox = contracts.Flag(r.IntN(3))
			if r.IntN(2) == 0 {
				row.shipping = ptr(r.Int64N(2) * 500)
			}
			fresh = append(fresh, row)
		}
	}
	return fresh
}

// side describes what a row shows at an instant; its site has a buy box or not.
func side(r *obsRow) string {
	if r == nil {
		return "null"
	}
	amount := func(n int64) string {
		c := contracts.Currency(cmp.Or(r.currency, "EUR"))
		return string(contracts.AppendMinor(nil, n, c.Digits()))
	}
	price, total, currency, merchant, box := "null", "null", "null", "null", "null"
	if r.price >= 0 {
		price, currency = amount(r.price), strconv.Quote(cmp.Or(r.currency, "EUR"))
		if r.shipping != nil {
			total = amount(r.price + *r.shipping)
		}
	}
	if r.merchant != "" {
		merchant = strconv.Quote(r.merchant)
	}
	if r.site == "market.example" && r.buyBox != contracts.FlagUnknown {
		box = fmt.Sprint(r.buyBox == contracts.FlagTrue)
	}
	return fmt.Sprintf(`{"capturedAt":%q,"coverageState":%q,"price":%s,"totalPrice":%s,"currencyCode":%s,"merchant":%s,"isBuyBox":%s}`,
		time.UnixMilli(r.ms).UTC().Format("2006-01-02T15:04:05.000Z"), coverage(*r), price, total, currency, merchant, box)
}

// kindsOf compares two rows of a pair, independently of the service.
func kindsOf(b, a *obsRow, own string) (kinds []query.MoverKind) {
	before, after := "PRODUCT_NOT_FOUND", coverage(*a)
	if b != nil {
		before = coverage(*b)
	}
	switch {
	case before == "UNKNOWN", b == nil && after == "UNKNOWN":
		return nil
	case after == "UNKNOWN":
		return []query.MoverKind{query.NoResult}
	case before != after:
		kind, ok := map[string]query.MoverKind{
			"PRICE_OBSERVED UNAVAILABLE": query.OutOfStock, "UNAVAILABLE PRICE_OBSERVED": query.BackInStock, "PRODUCT_NOT_FOUND PRICE_OBSERVED": query.NewOffer,
			"PRICE_OBSERVED PRODUCT_NOT_FOUND": query.Gone, "UNAVAILABLE PRODUCT_NOT_FOUND": query.Gone,
		}[before+" "+after]
		if ok {
			kinds = append(kinds, kind)
		}
		return kinds
	case after != "PRICE_OBSERVED":
		return nil
	}
	if a.currency == b.currency && a.price > b.price {
		kinds = append(kinds, query.PriceUp)
	}
	if a.currency == b.currency && a.price < b.price {
		kinds = append(kinds, query.PriceDown)
	}
	if a.site != "market.example" || a.buyBox == contracts.FlagUnknown || b.buyBox == contracts.FlagUnknown {
		return kinds
	}
	mine := func(r *obsRow) bool { return r.buyBox == contracts.FlagTrue && (own == "" || r.merchant == own) }
	switch {
	case mine(a) && (!mine(b) || a.merchant != b.merchant):
		kinds = append(kinds, query.BuyBoxWon)
	case mine(b) && !mine(a):
		kinds = append(kinds, query.BuyBoxLost)
	}
	return kinds
}

// withOwnPrices gives both mandates reference prices: item 2 has one for each
// site and one more at gamma.example, where none applies then; item 3 has one
// in JPY, item 4 has two, item 5 has one for one site.
func (w *world) withOwnPrices() {
	for mandate := 1; mandate <= 2; mandate++ {
		w.exec(fmt.Sprintf(`INSERT INTO reference_prices VALUES (%[1]d, 1, [(1299, 'EUR', '', '', '')], 1),
			(%[1]d, 2, [(1000, 'EUR', '', '', ''), (1001, 'EUR', 'gamma.example', '', '')], 1), (%[1]d, 3, [(1299, 'JPY', '', '', '')], 1),
			(%[1]d, 4, [(1000, 'EUR', '', '', ''), (1001, 'EUR', '', '', '')], 1), (%[1]d, 5, [(1000, 'EUR', 'market.example', '', '')], 1), (%[1]d, 6, [(1299, 'EUR', '', '', '')], 1)`, mandate))
	}
}

// ownPrice returns the one price of withOwnPrices that applies to a row.
func ownPrice(r *obsRow) (int64, bool) {
	switch key := fmt.Sprint(r.item, " ", cmp.Or(r.currency, "EUR")); {
	case key == "1 EUR", key == "3 JPY", key == "6 EUR":
		return 1299, true
	case key == "2 EUR" && r.site != "gamma.example", key == "5 EUR" && r.site == "market.example":
		return 1000, true
	}
	return 0, false
}

// bruteMovers looks at every row and returns the movers as lines of JSON in
// their order, and their totals.
func (w *world) bruteMovers(a contracts.AccountID, r query.MoversRequest, since, until time.Time) (lines []string, echo query.MoversEcho) {
	newest := func(from, to time.Time) map[contracts.Pair]*obsRow {
		rows := r.ResultsRequest
		rows.LatestPerPair = true
		all := map[contracts.Pair]*obsRow{}
		for _, row := range w.oracle(a, rows, from.UnixMilli(), to.UnixMilli(), w.rows) {
			all[row.pair()] = &row
		}
		return all
	}
	before, after := newest(since.Add(-168*time.Hour), since), newest(since.Add(time.Millisecond), until)
	echo.Kinds = map[query.MoverKind]int{}
	sites := map[contracts.SiteKey]query.MoversOfSite{}
	type ranked struct {
		size float64
		pair contracts.Pair
		line string
	}
	var all []ranked
	for pair, now := range after {
		was := before[pair]
		echo.Captured++
		if was != nil && coverage(*was) == "UNKNOWN" {
			echo.Untold++
		}
		kinds := kindsOf(was, now, r.OwnMerchant)
		below := func(row *obsRow) bool {
			reference, known := ownPrice(row)
			return known && coverage(*row) == "PRICE_OBSERVED" && row.price < reference && (r.OwnMerchant == "" || row.merchant != r.OwnMerchant)
		}
		if below(now) && (was == nil || coverage(*was) != "UNKNOWN" && !below(was)) {
			kinds = append(kinds, query.Undercut)
		}
		if len(kinds) == 0 {
			continue
		}
		echo.Moved++
		site := sites[pair.Site]
		if site.Kinds == nil {
			site = query.MoversOfSite{Site: pair.Site, Kinds: map[query.MoverKind]int{}}
		}
		site.Moved++
		for _, kind := range kinds {
			echo.Kinds[kind]++
			site.Kinds[kind]++
		}
		sites[pair.Site] = site
		if r.Kind != "" && !slices.Contains(kinds, r.Kind) {
			continue
		}
		one := ranked{pair: pair}
		difference, share := "null", "null"
		if was != nil && was.currency == now.currency && coverage(*was) == "PRICE_OBSERVED" && coverage(*now) == "PRICE_OBSERVED" {
			by := now.price - was.price
			difference = string(contracts.AppendMinor(nil, by, contracts.Currency(cmp.Or(now.currency, "EUR")).Digits()))
			if was.price != 0 {
				share = big.NewRat(100*by, was.price).FloatString(2)
			}
			one.size = math.Abs(float64(by)) / math.Max(1, float64(was.price))
		}
		text, _ := json.Marshal(kinds)
		one.line = fmt.Sprintf(`{"itemId":"%d","site":%q,"kinds":%s,"priceDifference":%s,"priceDifferencePercent":%s,"before":%s,"after":%s}`,
			now.item, now.site, text, difference, share, side(was), side(now))
		all = append(all, one)
	}
	for _, key := range slices.Sorted(maps.Keys(sites)) {
		echo.Sites = append(echo.Sites, sites[key])
	}
	slices.SortFunc(all, func(a, b ranked) int { return cmp.Or(cmp.Compare(b.size, a.size), a.pair.Compare(b.pair)) })
	for _, one := range all {
		lines = append(lines, one.line)
	}
	echo.Listed = len(lines)
	return lines, echo
}

// movers follows the cursors to the end; what pages say about the whole is the
// same on each.
func (w *world) movers(t require, a contracts.AccountID, r query.MoversRequest, between func()) (lines []string, echo query.MoversEcho) {
	for page := 0; ; page++ {
		p, err := w.service.Movers(w.t.Context(), query.Principal{Account: a}, r)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		if len(p.Data) != p.Paging.Returned || len(p.Data) > p.Paging.Limit || p.Paging.NextCursor != "" && len(p.Data) < p.Paging.Limit {
			t.Fatalf("page %d: %d movers, %+v", page, len(p.Data), p.Paging)
		}
		if page > 0 && !gocmp.Equal(echo, p.Query) {
			t.Fatalf("page %d: %s", page, gocmp.Diff(echo, p.Query))
		}
		echo = p.Query
		for _, m := range p.Data {
			line, err := json.Marshal(m)
			if err != nil {
				t.Fatalf("%v", err)
			}
			lines = append(lines, string(line))
		}
		if p.Paging.NextCursor == "" {
			return lines, echo
		}
		if page > 100 {
			t.Fatalf("%+v has no end", r)
		}
		r.Cursor = p.Paging.NextCursor
		if between != nil {
			between()
		}
	}
}
