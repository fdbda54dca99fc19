package mcp_test

import (
	"cmp"
	"context"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/query"
)

func (m *market) Results(ctx context.Context, v query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) error {
	m.mu.Lock()
	slow := m.slow
	m.mu.Unlock()
	if slow != nil && slow(q) {
		return context.DeadlineExceeded
	}
	for part := range slices.Chunk(m.matching(v, q), 100) {
		if err := cmp.Or(ctx.Err(), each(blockOf(part))); err != nil {
			return err
		}
	}
	return nil
}

func (m *market) ObservedBySite(_ context.Context, v query.Visibility, q *query.ResultsQuery) (map[contracts.SiteKey]uint64, error) {
	seen, all := map[contracts.Pair]bool{}, map[contracts.SiteKey]uint64{}
	for _, r := range m.matching(v, q) {
		if !seen[r.Pair] {
			seen[r.Pair] = true
			all[r.Site]++
		}
	}
	return all, nil
}

func (m *market) matching(v query.Visibility, q *query.ResultsQuery) (found []observed) {
	pairs := m.pairs(v, q.Selectors)
	newest := map[contracts.Pair]observed{}
	for _, r := range m.rows {
		if _, ok := pairs[r.Pair]; !ok || !q.Window.From.IsZero() && r.at.Before(q.Window.From) || !q.Window.To.IsZero() && r.at.After(q.Window.To) {
			continue
		}
		if first, ok := newest[r.Pair]; !ok || m.compare(r, first) < 0 {
			newest[r.Pair] = r
		}
		found = append(found, r)
	}
	found = slices.DeleteFunc(found, func(r observed) bool {
		first := newest[r.Pair]
		switch {
		case q.Latest == query.NewestRow && r != first, q.Latest == query.NewestWhole && (r.at != first.at || r.seq != first.seq),
			q.Brand != "" && m.item(r.Item).Brand != q.Brand, q.Merchant != "" && r.merchant != q.Merchant,
			q.IsBuyBox != nil && r.buyBox != contracts.FlagOf(*q.IsBuyBox), q.Outcomes != nil && !slices.Contains(q.Outcomes, r.outcome):
			return true
		}
		if q.After == nil {
			return false
		}
		a := q.After
		order := m.compare(r, observed{Pair: contracts.Pair{Item: a.Item, Site: a.Site}, at: time.UnixMilli(a.CapturedMs), seq: a.Seq, offer: a.Offer})
		return q.Ascending && order >= 0 || !q.Ascending && order <= 0
	})
	slices.SortFunc(found, m.compare)
	if q.Ascending {
		slices.Reverse(found)
	}
	if q.Limit > 0 {
		found = found[:min(q.Limit, len(found))]
	}
	return found
}

func blockOf(rows []observed) *query.Block {
	b := &query.Block{Len: len(rows)}
	add := func(d *query.Dict, s string) {
		d.Index = append(d.Index, uint32(d.Values.Len()))
		d.Values.Append(s)
	}
	for _, r := range rows {
		b.Item = append(b.Item, uint64(r.Item))
		add(&b.Site, string(r.Site))
		b.CapturedMs = append(b.CapturedMs, r.at.UnixMilli())
		b.Epoch, b.Seq = append(b.Epoch, 1), append(b.Seq, r.seq)
		b.Capture, b.Offer = append(b.Capture, 0), append(b.Offer, r.offer)
		b.Outcome = append(b.Outcome, uint8(r.outcome))
		add(&b.Currency, r.currency)
		b.PriceMinor = append(b.PriceMinor, r.price)
		add(&b.Merchant, r.merchant)
		b.ShippingMinor = append(b.ShippingMinor, 490)
		b.IsPrime, b.IsBuyBox = append(b.IsPrime, uint8(contracts.FlagTrue)), append(b.IsBuyBox, uint8(r.buyBox))
		b.RatingTenths = append(b.RatingTenths, contracts.NoRating)
		add(&b.Manufacturer, "Observed Maker")
		add(&b.DeliveryText, "tomorrow")
		b.Title.Append(r.title)
		b.URL.Append("https://shop.example/p/" + r.Item.String())
	}
	return b
}

// RowsAtMost has no index.
func (m *market) RowsAtMost(context.Context, query.Visibility, *query.ResultsQuery) (query.AtMost, error) {
	return query.AtMost{}, nil
}
