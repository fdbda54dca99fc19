package query

import (
	"context"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
)

// wideStore has one order with the given number of pairs; each read of them
// takes a second of the test's clock.
type wideStore struct {
	candidateStore
	pairs int
	now   time.Time
}

func (w *wideStore) Orders(context.Context, Visibility, OrdersQuery) ([]contracts.Order, error) {
	return []contracts.Order{{OrderID: 1, Active: true}}, nil
}

func (w *wideStore) OrderPairs(_ context.Context, _ Visibility, q OrderPairsQuery) (found []OrderPair, _ error) {
	w.now = w.now.Add(time.Second)
	for i := int(q.After.Item) + 1; i <= w.pairs && len(found) < q.Limit; i++ {
		p := OrderPair{Pair: contracts.Pair{Item: contracts.ItemID(i), Site: "a"}, CapturedAt: w.now, Outcome: contracts.PriceObserved}
		if i%100_000 == 0 {
			p.Outcome = contracts.ProductNotFound
		}
		found = append(found, p)
	}
	return found, nil
}

func (w *wideStore) CountPairs(context.Context, Visibility, Selectors) (ScopeSize, error) {
	return ScopeSize{Pairs: uint64(w.pairs)}, nil
}

// TestQualityCountsGoWithThePage: the first page has the counts of all pairs if
// they are few enough and time permits, and is otherwise the same page with and
// without them.
func TestQualityCountsGoWithThePage(t *testing.T) {
	limit := 10
	for name, c := range map[string]struct {
		pairs   int
		reason  string
		soft    time.Duration
		counted bool
	}{
		"one read":      {7, "", time.Minute, true},
		"three reads":   {25_000, "", time.Minute, true},
		"of one reason": {25_000, "PRODUCT_NOT_FOUND", time.Minute, true},
		"too many":      {250_000, "", time.Minute, false},
		"found late":    {250_000, "PRODUCT_NOT_FOUND", time.Minute, false},
		"no time":       {25_000, "", time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wideStore{pairs: c.pairs, now: time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)}
			cfg := Defaults()
			cfg.CursorKey, cfg.SoftDeadline, cfg.HardBudget = contracts.Secret(strings.Repeat("k", 32)), c.soft, 5*time.Minute
			s := must.Get(New(cfg, w, func() time.Time { return w.now }))(t)
			r := QualityRequest{Limit: &limit, OrderID: 1, ReasonCode: c.reason}
			want := must.Get(s.ObservationQuality(t.Context(), Principal{}, r))(t)
			got, sites, err := s.QualityBySite(t.Context(), Principal{}, r)
			must.Do(t, err)
			if len(got.Data) != len(want.Data) || (got.Paging.NextCursor == "") != (want.Paging.NextCursor == "") {
				t.Errorf("%+v, want %+v", got.Paging, want.Paging)
			}
			if counted := len(sites) == 1 && sites[0].Pairs == c.pairs && sites[0].Reasons.PriceObserved == c.pairs; counted != c.counted {
				t.Errorf("sites %+v", sites)
			}
			if r.Cursor = got.Paging.NextCursor; r.Cursor == "" {
				return
			}
			next, sites, err := s.QualityBySite(t.Context(), Principal{}, r)
			if err != nil || sites != nil || len(next.Data) == 0 || next.Data[0].Item != got.Data[len(got.Data)-1].Item+1 {
				t.Errorf("the next page: %v, sites %v", err, sites)
			}
		})
	}
}

// TestQualitySearchEndsInTime looks for few pairs among many: a page that takes
// too long ends early, with fewer entries than its limit or none, and its
// cursor continues where it stopped (QUAL-00a, CUR-02).
func TestQualitySearchEndsInTime(t *testing.T) {
	w := &wideStore{pairs: 300_000, now: time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)}
	cfg := Defaults()
	cfg.CursorKey = contracts.Secret(strings.Repeat("k", 32))
	s := must.Get(New(cfg, w, func() time.Time { return w.now }))(t)
	limit := 10
	r := QualityRequest{Limit: &limit, OrderID: 1, ReasonCode: "PRODUCT_NOT_FOUND"}
	found, pages, empty := 0, 0, 0
	for {
		page := must.Get(s.ObservationQuality(t.Context(), Principal{}, r))(t)
		if found += len(page.Data); len(page.Data) == 0 {
			empty++
		}
		pages++
		if page.Paging.NextCursor == "" {
			break
		}
		r.Cursor = page.Paging.NextCursor
	}
	if found != 3 || pages < 5 || empty == 0 {
		t.Errorf("%d entries on %d pages, %d of them empty", found, pages, empty)
	}
}
