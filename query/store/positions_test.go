package store_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
)

// positions follows the cursors to the end.
func (w *world) positions(t *testing.T, a contracts.AccountID, r query.PositionsRequest) (all []query.OwnPosition, echo query.PositionsEcho) {
	t.Helper()
	for {
		p, err := w.service.Positions(t.Context(), query.Principal{Account: a}, r)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		all, echo = append(all, p.Data...), p.Query
		if p.Paging.NextCursor == "" {
			if len(all) != echo.Positions || echo.Above+echo.Equal+echo.Below != echo.Positions {
				t.Errorf("%d positions, %+v", len(all), echo)
			}
			return all, echo
		}
		r.Cursor = p.Paging.NextCursor
	}
}

// TestPositionsAreThoseOfTheTool compares positions relative to reference
// prices with what get_market_price_position returns for each product and each
// of them.
func TestPositionsAreThoseOfTheTool(t *testing.T) {
	w := newWorld(t, 201, 0)
	w.reports()
	w.crowded(rand.New(rand.NewPCG(20, 1)), 200)
	w.setMark(w.mark)
	w.exec("INSERT INTO reference_prices VALUES (1, 1, [(100, 'EUR', '', '', '')], 1), (1, 2, [(200, 'EUR', 'alpha.example', '', ''), (150, 'CHF', '', '', '')], 1), (1, 3, [(100, 'EUR', '', '', ''), (101, 'EUR', '', '', '')], 1), (1, 4, [(3, 'JPY', '', '', ''), (50, 'EUR', '', '', '')], 1)")
	found := 0
	for _, a := range []contracts.AccountID{accountWhole, accountSites, accountNone} {
		got, echo := w.positions(t, a, query.PositionsRequest{ResultsRequest: query.ResultsRequest{Limit: ptr(2)}, Offers: "all"})
		by := map[string]query.OwnPosition{}
		for i, p := range got {
			by[fmt.Sprint(p.ItemID, *p.Country, p.CurrencyCode)] = p
			if i > 0 && compareNumbers(t, *got[i-1].DifferencePercent, *p.DifferencePercent) < 0 {
				t.Errorf("%+v is behind %+v", p, got[i-1])
			}
		}
		tool, without := 0, 0
		for item := contracts.ItemID(1); item <= 6 && a != accountNone; item++ {
			any := must.Get(w.position(a, query.PositionRequest{ItemID: item, CandidatePrice: "1", IncludeCustomerReference: true}))(t)
			for _, st := range any.Positions {
				if st.Reference.Source != query.CustomerReference {
					without++
					continue
				}
				tool++
				one := must.Get(w.position(a, query.PositionRequest{ItemID: item, CandidatePrice: string(st.Reference.Price), CurrencyCode: st.CurrencyCode, Country: *st.Country, IncludeCustomerReference: true}))(t)
				st = one.Positions[0]
				want := query.OwnPosition{
					ItemID: item, Country: st.Country, CurrencyCode: st.CurrencyCode, OwnPrice: st.Reference.Price, Rank: st.Candidate.Rank, Offers: st.Offers, Cheapest: st.Best,
					OldestCapturedAt: st.OldestCapturedAt, NewestCapturedAt: st.NewestCapturedAt,
				}
				have := by[fmt.Sprint(item, *st.Country, st.CurrencyCode)]
				if have.Difference == "" {
					t.Errorf("account %s: no position for %s %s", a, item, st.CurrencyCode)
				}
				have.Difference, have.DifferencePercent = "", nil
				if diff := gocmp.Diff(want, have, gocmp.FilterPath(func(p gocmp.Path) bool { return p.Last().String() == ".ratio" }, gocmp.Ignore())); diff != "" {
					t.Errorf("account %s (-tool +positions):\n%s", a, diff)
				}
			}
		}
		if tool != len(got) || without != echo.WithoutOwn || echo.Beside != "reference" {
			t.Errorf("account %s: the tool has %d positions and %d without an own price: %+v", a, tool, without, echo)
		}
		found += tool
	}
	if found < 6 {
		t.Errorf("only %d positions", found)
	}
}

func compareNumbers[T ~string](t *testing.T, a, b T) int {
	t.Helper()
	var x, y float64
	must.Get(fmt.Sscan(string(a)+" "+string(b), &x, &y))(t)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// TestPositionsOfOtherReferencePrices: a reference price that is removed or
// added between two pages neither hides nor repeats the positions of other
// products (CUR-01a).
func TestPositionsOfOtherReferencePrices(t *testing.T) {
	w := newWorld(t, 203, 0)
	var rows []obsRow
	for item := range uint64(4) {
		w.mark++
		rows = append(rows, obsRow{item: 1 + item, site: "alpha.example", ms: w.now.UnixMilli() - 1, epoch: epoch, seq: w.mark, outcome: contracts.PriceObserved, price: 100, merchant: "M"})
	}
	w.add(rows)
	r := query.PositionsRequest{ResultsRequest: query.ResultsRequest{GlobalScope: true, Limit: ptr(1)}}
	version := 0
	after := func(cursor string, prices string) string {
		version++
		w.exec(fmt.Sprintf("INSERT INTO reference_prices VALUES (1, 1, %s, %[2]d), (1, 2, [(300, 'EUR', '', '', '')], %[2]d), (1, 3, [(200, 'EUR', '', '', '')], %[2]d), (1, 4, [(200, 'EUR', '', '', '')], %[2]d)", prices, version))
		var items []string
		for r.Cursor = cursor; ; {
			p := must.Get(w.service.Positions(t.Context(), query.Principal{Account: accountWhole}, r))(t)
			for _, at := range p.Data {
				items = append(items, at.ItemID.String())
			}
			if r.Cursor = p.Paging.NextCursor; r.Cursor == "" {
				return strings.Join(items, " ")
			}
		}
	}
	const greatest = "[(400, 'EUR', '', '', '')]"
	if got := after("", greatest); got != "1 2 3 4" {
		t.Fatal(got)
	}
	r.Cursor = ""
	first := must.Get(w.service.Positions(t.Context(), query.Principal{Account: accountWhole}, r))(t)
	equals.Is(t, "2 3 4", after(first.Paging.NextCursor, "[]"), "without the first")
	r.Cursor = ""
	first = must.Get(w.service.Positions(t.Context(), query.Principal{Account: accountWhole}, r))(t)
	equals.Is(t, "3 4", after(first.Paging.NextCursor, greatest), "with another one in front")
	// A cursor of build 1710d9d, after the first position.
	const old = "emySBoaGVYXLrEEtgUEuvd7HtbT7O2QdpM0AgcBmvevUCTmMAiQN3QDFTU4ZnnGN-rvpNDflZz8i6idzjn2QgLC3OZHKSc1hoWHcdtXivwWoxswVcmqxmtcMCYhkb_MjkZQ9szOhJJarBUdVr8a1LejdG7-KeLI5HuMEorbcADi2p_enFlJlYeKYn_8bEAUXPm08K7v3MdAv8QzA82EntvGqF9B66d7STTW2WnbEICHl99Ygy77g6g"
	equals.Is(t, "2 3 4", after(old, greatest), "from an old cursor")
}

// TestPositionsOfAMerchantAndASite compares them with a look at every row: by
// price and by total price, against all other offers of the market, and against
// the ones that stand for their captures.
func TestPositionsOfAMerchantAndASite(t *testing.T) {
	w := newWorld(t, 202, 0)
	w.reports()
	w.crowded(rand.New(rand.NewPCG(20, 2)), 250)
	w.setMark(w.mark)
	count, named := 0, 0
	for i, r := range []query.PositionsRequest{
		{OwnMerchant: "Merchant 1", Offers: "all"},
		{OwnMerchant: "Merchant 1"},
		{OwnMerchant: "Merchant 1", Amount: "totalPrice", Offers: "all"},
		{OwnMerchant: "Merchant 1", Amount: "totalPrice", Offers: "featured"},
		{OwnSite: "alpha.example", Offers: "all"},
		{OwnSite: "market.example", Amount: "totalPrice"},
		{ResultsRequest: query.ResultsRequest{OrderID: orderB}, OwnMerchant: "Merchant 0"},
		{ResultsRequest: query.ResultsRequest{ItemID: 4}, OwnSite: "gamma.example"},
	} {
		rows := r.ResultsRequest
		rows.LatestObservationPerPair = true
		for _, a := range []contracts.AccountID{accountWhole, accountOther, accountSites} {
			own, others, sellers, captured := map[string]int64{}, map[string][]int64{}, map[string]map[string]int64{}, 0
			offers := slices.DeleteFunc(w.oracle(a, rows, w.now.Add(-168*time.Hour).UnixMilli(), w.now.UnixMilli(), w.rows), func(row obsRow) bool {
				return coverage(row) != "PRICE_OBSERVED"
			})
			mine := func(row obsRow) bool { return row.merchant == r.OwnMerchant || row.site == string(r.OwnSite) }
			for _, row := range offers {
				if r.Offers != "all" && !mine(row) && slices.ContainsFunc(offers, func(o obsRow) bool { return o.item == row.item && o.site == row.site && stands(o, row) }) {
					continue
				}
				if r.Amount == "totalPrice" && row.shipping == nil {
					continue
				}
				captured++
				amount, currency := row.price, row.currency
				if r.Amount == "totalPrice" {
					amount += *row.shipping
				}
				if currency == "" {
					currency = "EUR"
				}
				key := fmt.Sprint(row.item, currency)
				if mine(row) {
					if old, ok := own[key]; !ok || amount < old {
						own[key] = amount
					}
					continue
				}
				others[key] = append(others[key], amount)
				seller := cmp.Or(row.merchant, row.site)
				if sellers[key] == nil {
					sellers[key] = map[string]int64{}
				}
				if old, ok := sellers[key][seller]; !ok || amount < old {
					sellers[key][seller] = amount
				}
			}
			want, undercut := map[string]string{}, map[string][2]int{}
			for key, mine := range own {
				if len(others[key]) == 0 {
					continue
				}
				rank, least := 1, others[key][0]
				for _, o := range others[key] {
					least = min(least, o)
					if o < mine {
						rank++
					}
				}
				for seller, amount := range sellers[key] {
					if c := undercut[seller]; amount < mine {
						c[0]++
						if amount == least {
							c[1]++
						}
						undercut[seller] = c
					}
				}
				want[key] = fmt.Sprintf("%d of %d, %d", rank, len(others[key]), mine-least)
			}
			got := map[string]string{}
			all, echo := w.positions(t, a, r)
			compareUndercutters(t, undercut, echo)
			named += len(undercut)
			for _, p := range all {
				minor, err := contracts.ParseMoney(string(p.OwnPrice), p.CurrencyCode)
				least, err2 := contracts.ParseMoney(string(p.Cheapest.Price), p.CurrencyCode)
				if err != nil || err2 != nil {
					t.Fatal(err, err2)
				}
				got[fmt.Sprint(uint64(p.ItemID), p.CurrencyCode)] = fmt.Sprintf("%d of %d, %d", p.Rank, p.Offers, minor.AmountMinor-least.AmountMinor)
			}
			equals.Checkf(t, want, got, "%d, account %s", i, a)
			count += len(got)
		}
	}
	if count < 30 || named < 10 {
		t.Errorf("only %d positions, and %d undercutters", count, named)
	}
}

// compareUndercutters compares the undercutters of an answer with the number of
// positions in which each seller is below the own price, and in which no one
// asks less.
func compareUndercutters(t *testing.T, want map[string][2]int, echo query.PositionsEcho) {
	t.Helper()
	got := map[string][2]int{}
	for i, u := range echo.UndercutBy {
		if i > 0 && u.Positions > echo.UndercutBy[i-1].Positions {
			t.Errorf("undercutter %d has %d positions, the one before it %d", i, u.Positions, echo.UndercutBy[i-1].Positions)
		}
		name := ""
		if u.Merchant != nil {
			name = *u.Merchant
		} else {
			name = string(*u.Site)
		}
		got[name] = [2]int{u.Positions, u.Cheapest}
		if want[name] != got[name] {
			t.Errorf("%s undercuts %v, want %v", name, got[name], want[name])
		}
	}
	if echo.Undercutters != len(want) || len(got) != min(10, len(want)) {
		t.Errorf("%d undercutters of %d, want %d", len(got), echo.Undercutters, len(want))
	}
}
