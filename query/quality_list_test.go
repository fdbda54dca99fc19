package query

import (
	"context"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
)

// wideStore has one order of so many pairs, each read of which takes a second
// of the test's clock.
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

// TestQualitySearchEndsInTime looks for few pairs among many: a page that
// takes too long ends early, with fewer entries than its limit, maybe none,
// and its cursor goes on where it stopped (QUAL-00a, CUR-02).
func TestQualitySearchEndsInTime(t *testing.T) {
	w := &wideStore{pairs: 300_000, now: time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)}
	cfg := Defaults()
	cfg.CursorKey = contracts.Secret(strings.Repeat("k", 32))
	s, err := New(cfg, w, func() time.Time { return w.now })
	if err != nil {
		t.Fatal(err)
	}
	limit := 10
	r := QualityRequest{Limit: &limit, OrderID: 1, ReasonCode: "PRODUCT_NOT_FOUND"}
	found, pages, empty := 0, 0, 0
	for {
		page, err := s.ObservationQuality(t.Context(), Principal{}, r)
		if err != nil {
			t.Fatal(err)
		}
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
