package query

import (
	"context"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
)

// timed is a Store that has rows of such times, the newest first.
type timed struct {
	Store
	rows []time.Time
}

// Results has one block.
func (s *timed) Results(_ context.Context, _ Visibility, _ *ResultsQuery, each func(*Block) error) error {
	b := &Block{Len: len(s.rows)}
	text := func(d *Dict, v string) {
		d.Index = append(d.Index, uint32(d.Values.Len()))
		d.Values.Append(v)
	}
	for i, at := range s.rows {
		b.Order = append(b.Order, uint32(i))
		b.Item, b.CapturedMs = append(b.Item, 1), append(b.CapturedMs, at.UnixMilli())
		b.Epoch, b.Seq, b.Capture, b.Offer = append(b.Epoch, 1), append(b.Seq, 1), append(b.Capture, 0), append(b.Offer, 0)
		b.Outcome, b.PriceMinor = append(b.Outcome, 0), append(b.PriceMinor, 1)
		text(&b.Site, "shop.example")
		text(&b.Currency, "EUR")
		text(&b.Merchant, "")
	}
	return each(b)
}

// TestCountedRowsAheadOfNow: rows dated ahead of now do not count, also where
// the rows read are as many as the caller counts at most.
func TestCountedRowsAheadOfNow(t *testing.T) {
	now := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	r := must.Get(newRemembering(&timed{rows: []time.Time{now.Add(time.Minute), now.Add(-time.Minute), now.Add(-time.Hour)}}, Defaults()))(t)
	q := ResultsQuery{Window: contracts.Window{From: now.Add(-24 * time.Hour), To: now}, ToNow: true, Limit: 3}
	n := 0
	all, err := r.counted(t.Context(), Visibility{Snapshot: 1, Applied: true}, &q, func(b *Block) error { n += b.Len; return nil })
	if !all || err != nil || n != 2 {
		t.Errorf("%d rows, %v, %v", n, all, err)
	}
}
