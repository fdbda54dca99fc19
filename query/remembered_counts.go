package query

import (
	"cmp"
	"context"
	"slices"

	"preismon/contracts"
)

// Tally implements Store. It does not remember a window that depends on the
// current time, since no other request will have the same.
func (r *remembering) Tally(ctx context.Context, v Visibility, q *ResultsQuery) ([]SiteTally, error) {
	return recallCounts(ctx, r, "tally", v, q, r.tally)
}

// tally sorts its result, so that two can be compared.
func (r *remembering) tally(ctx context.Context, v Visibility, q *ResultsQuery) ([]SiteTally, error) {
	sites, err := r.Store.Tally(ctx, v, q)
	slices.SortFunc(sites, func(a, b SiteTally) int { return cmp.Compare(a.Site, b.Site) })
	for _, site := range sites {
		slices.SortFunc(site.Prices, func(a, b PriceTally) int { return cmp.Compare(a.Currency, b.Currency) })
		slices.SortFunc(site.Wins, func(a, b Wins) int { return cmp.Compare(a.Merchant, b.Merchant) })
	}
	return sites, err
}

// ObservedBySite implements Store, like Tally.
func (r *remembering) ObservedBySite(ctx context.Context, v Visibility, q *ResultsQuery) (map[contracts.SiteKey]uint64, error) {
	return recallCounts(ctx, r, "observed by site", v, q, r.Store.ObservedBySite)
}

// recallCounts returns what is counted over the rows of a query. Rows up to a
// watermark never change, as for Results.
func recallCounts[T any](ctx context.Context, r *remembering, name string, v Visibility, q *ResultsQuery, read func(context.Context, Visibility, *ResultsQuery) (T, error)) (T, error) {
	if v.Snapshot == 0 || !v.Applied || q.FromNow || q.ToNow || explaining(ctx) != nil {
		return read(ctx, v, q)
	}
	question := rowsQuestion{*q, toMs(q.Window.From), toMs(q.Window.To)}
	question.Window, question.Read = contracts.Window{}, nil
	return recall(ctx, r, name, v, question, func(ctx context.Context) (T, error) { return read(ctx, v, q) })
}
