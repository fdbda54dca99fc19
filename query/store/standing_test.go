package store_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// crowded adds n captures over three days, most with several offers that differ
// little: each part of the rule that chooses one is decisive for some of them.
func (w *world) crowded(r *rand.Rand, n int) {
	w.t.Helper()
	var fresh []obsRow
	for range n {
		w.mark++
		base := obsRow{
			item: 1 + r.Uint64N(6), site: worldSites[r.IntN(len(worldSites))], epoch: epoch, seq: w.mark,
			ms: w.now.Add(-time.Duration(r.IntN(72)) * time.Hour).UnixMilli(), outcome: contracts.PriceObserved,
		}
		if r.IntN(12) == 0 {
			base.outcome, base.price = contracts.Unavailable, -1
			fresh = append(fresh, base)
			continue
		}
		for offer := range uint16(1 + r.IntN(6)) {
			row := base
			row.offer, row.merchant = offer, fmt.Sprint("Merchant ", offer)
			row.price = -1 + r.Int64N(4)*100
			if r.IntN(4) > 0 {
				row.shipping = ptr(r.Int64N(4) * 100)
			}
			if r.IntN(5) == 0 {
				row.currency = []string{"CHF", "JPY"}[r.IntN(2)]
			}
			row.prime, row.buyBox = contracts.Flag(r.IntN(3)), []contracts.Flag{0, 0, 1, 1, 1, 2}[r.IntN(6)]
			fresh = append(fresh, row)
		}
	}
	w.rows = append(w.rows, fresh...)
	w.write(fresh)
}

// TestOneOfferStandsForACapture compares latestPerPair with a look at every
// row: from the newest captures, from windows by mandate and by pair, under
// filters, and for captures that are followed by later ones that are not
// visible yet.
func TestOneOfferStandsForACapture(t *testing.T) {
	w := newWorld(t, 61, 0)
	w.reports()
	r := rand.New(rand.NewPCG(6, 1))
	w.crowded(r, 250)
	w.setMark(w.mark)
	seen := w.rows
	w.crowded(r, 25)
	many := 0
	for n, c := range []query.ResultsRequest{
		{},
		{Sort: "asc"},
		{Site: "market.example"},
		{ItemID: 4},
		{OrderID: orderB},
		{Filters: query.Filters{Merchant: "Merchant 2"}},
		{Filters: query.Filters{IsBuyBox: ptr(false)}},
		{Filters: query.Filters{CoverageState: "PRICE_OBSERVED"}},
		{OrderID: orderA, CapturedFrom: "2026-03-06"},
		{OrderID: orderB, CapturedTo: "2026-03-07"},
		{ItemID: 3, CapturedFrom: "2026-03-06", CapturedTo: "2026-03-07"},
	} {
		c.LatestPerPair = true
		from, to := int64(math.MinInt64), int64(math.MaxInt64)
		if c.CapturedFrom != "" {
			from, to = time.Date(2026, 3, 6, 0, 0, 0, 0, time.UTC).UnixMilli(), w.now.UnixMilli()
		}
		if c.CapturedTo != "" {
			to = time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC).UnixMilli() - 1
		}
		for k, a := range []contracts.AccountID{accountWhole, accountOrder, accountSites, accountOther} {
			if every := effort.Often(2, 1); n%every != k%every {
				continue
			}
			rows := w.oracle(a, c, from, to, seen)
			for _, row := range rows {
				if row.offer > 0 {
					many++
				}
			}
			c.Limit = ptr([]int{3, 1000}[(n+k)/2%2])
			equals.Checkf(t, expected(rows), w.walk(t, a, c, nil), "account %s, %+v", a, c)
		}
	}
	if many < effort.Often(50, 100) {
		t.Errorf("only %d times another offer stands than the first", many)
	}
}

// TestWalkFromBeforeGoesOn continues after another offer of each pair than the
// one that stands, like a walk that began when that offer stood: the pair does
// not come again.
func TestWalkFromBeforeGoesOn(t *testing.T) {
	w := newWorld(t, 63, 0)
	w.crowded(rand.New(rand.NewPCG(6, 3)), 100)
	w.setMark(w.mark)
	v := query.Visibility{Mandate: mandateTwo, Versions: []uint64{7}, Applied: true, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
	for _, ascending := range []bool{false, true} {
		q := query.ResultsQuery{Latest: query.NewestRow, Watermark: query.Watermark{Epoch: epoch, Seq: w.mark}, Ascending: ascending}
		positions := func() (all []query.Position) {
			must.Do(t, w.store.Results(t.Context(), v, &q, func(b *query.Block) error {
				for i := range b.Len {
					all = append(all, b.Position(b.At(i)))
				}
				return nil
			}))
			return all
		}
		all := positions()
		for i, at := range all {
			if i%effort.Often(4, 1) > 0 {
				continue
			}
			for _, offer := range []uint16{0, 5} {
				at.Offer = offer
				q.After = &at
				if diff := gocmp.Diff(all[i+1:], positions(), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("ascending %t, after %+v (-want +got):\n%s", ascending, at, diff)
				}
			}
		}
	}
}

// TestBestOfEquallyCheapOffers: the best of a market is the offer that would
// stand for it: it holds the buy box where that is observed, or costs least
// with shipping.
func TestBestOfEquallyCheapOffers(t *testing.T) {
	w := newWorld(t, 64, 0)
	offers := []obsRow{
		{merchant: "Plain", buyBox: contracts.FlagFalse},
		{merchant: "Shipped", shipping: ptr(int64(500)), buyBox: contracts.FlagUnknown},
		{merchant: "Free", shipping: ptr(int64(0)), buyBox: contracts.FlagFalse},
		{merchant: "Holder", shipping: ptr(int64(900)), buyBox: contracts.FlagTrue},
	}
	for item, c := range map[uint64]struct{ site, best string }{5: {"market.example", "Holder"}, 6: {"gamma.example", "Free"}} {
		w.mark++
		var rows []obsRow
		for i, row := range offers {
			row.item, row.site, row.ms, row.epoch, row.seq, row.offer = item, c.site, w.now.UnixMilli(), epoch, w.mark, uint16(i)
			row.outcome, row.price = contracts.PriceObserved, 1000
			rows = append(rows, row)
		}
		w.add(rows)
		answer := must.Get(w.position(accountOther, query.PositionRequest{ItemID: contracts.ItemID(item), CandidatePrice: "9.99"}))(t)
		if got := answer.Positions[0].Best; *got.Merchant != c.best {
			t.Errorf("%s: the best is %s, want %s", c.site, *got.Merchant, c.best)
		}
	}
}
