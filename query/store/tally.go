package store

import (
	"context"

	"preismon/contracts"
	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// wholeOf returns the statement of file over all rows of a query, in no order.
func (s *Store) wholeOf(ctx context.Context, file string, v query.Visibility, q *query.ResultsQuery) (statement, error) {
	few, err := s.ofFewPairs(ctx, v, q)
	return wholeStatement(file, s.shards, v, q, few), err
}

func wholeStatement(file string, n shards, v query.Visibility, q *query.ResultsQuery, few bool) statement {
	all := *q
	all.Limit, all.After, all.Ascending = 0, nil, false
	p, sh := shapeOf(n, v, &all, readOptions{unsorted: true, byPair: few})
	return render(file, sh, p).of(ofSums)
}

// Tally implements query.Store.
func (s *Store) Tally(ctx context.Context, v query.Visibility, q *query.ResultsQuery) ([]query.SiteTally, error) {
	st, err := s.wholeOf(ctx, "tally.sql", v, q)
	if err != nil {
		return nil, err
	}
	return rows(ctx, s, st, func(r driver.Rows) (t query.SiteTally, err error) {
		var (
			prices [][]any
			wins   []any
		)
		if err := r.Scan((*string)(&t.Site), &t.Pairs, &t.Priced, &t.Unavailable, &t.Unknown, &t.FirstMs, &t.LastMs, &prices, &wins); err != nil {
			return t, err
		}
		for _, p := range prices {
			t.Prices = append(t.Prices, query.PriceTally{
				Currency: contracts.Currency(p[0].(string)), Count: p[1].(uint64), Min: p[2].(int64), Median: p[3].(int64), Max: p[4].(int64),
			})
		}
		merchants, counts := wins[0].([]string), wins[1].([]uint64)
		for i, m := range merchants {
			t.Wins = append(t.Wins, query.Wins{Merchant: m, Wins: counts[i]})
		}
		return t, nil
	})
}

// ObservedBySite implements query.Store.
func (s *Store) ObservedBySite(ctx context.Context, v query.Visibility, q *query.ResultsQuery) (map[contracts.SiteKey]uint64, error) {
	st, err := s.wholeOf(ctx, "observed_by_site.sql", v, q)
	if err != nil {
		return nil, err
	}
	return byKey(ctx, s, st, countOfSite)
}
