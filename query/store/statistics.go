package store

import (
	"context"
	"fmt"
	"math/big"

	"preismon/contracts"
	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// statisticsShape is what statistics.sql depends on.
type statisticsShape struct {
	resultsShape
	ByItem, BySite, ByMerchant, ByBrand bool
	Trend, Rest                         bool
}

func statisticsStatement(n shards, v query.Visibility, q *query.StatisticsQuery, few bool) statement {
	rows := q.Rows
	rows.Latest, rows.Limit, rows.After = query.AllRows, 0, nil
	rows.Window.From = q.Rows.Window.From.Add(-query.HeldAtMost)
	p, of := shapeOf(n, v, &rows, readOptions{byPair: few})
	sh := statisticsShape{resultsShape: of}
	sh.ByItem, sh.BySite, sh.ByMerchant, sh.ByBrand = q.By == query.ByProduct, q.By == query.BySite, q.By == query.ByMerchant, q.By == query.ByBrand
	sh.Rest = q.Rest
	p.int("begin_ms", q.Edges[0])
	p.int("end_ms", q.Until)
	p.int("hold_ms", query.HeldAtMost.Milliseconds())
	ints(p, "edges", q.Edges)
	if sh.Trend = len(q.TrendEdges) > 0; sh.Trend {
		ints(p, "trend_edges", q.TrendEdges)
	}
	p.uint("after_item", uint64(q.After.Item))
	p.text("after_text", q.After.Text)
	p.uint("after_bucket", uint64(q.After.Bucket))
	p.uint("limit", uint64(q.Limit))
	return render("statistics.sql", sh, p).of(ofSums)
}

// Statistics implements query.Store.
func (s *Store) Statistics(ctx context.Context, v query.Visibility, q *query.StatisticsQuery) ([]query.Statistic, error) {
	few, err := s.ofFewPairs(ctx, v, &q.Rows)
	if err != nil {
		return nil, err
	}
	return rows(ctx, s, statisticsStatement(s.shards, v, q, few), func(r driver.Rows) (st query.Statistic, err error) {
		var (
			whole  uint8
			wins   []any
			prices [][]any
		)
		if err := r.Scan(&whole, (*uint64)(&st.Item), &st.Text, &st.Bucket, &st.Pairs, &st.Priced, &st.Unavailable, &st.NotFound, &st.Unknown, &st.Changes,
			&st.InMs, &st.OutMs, &st.UnknownMs, &st.RestrictedMs, &wins, &prices); err != nil {
			return st, err
		}
		st.Whole = whole == 1
		merchants, counts := wins[0].([]string), wins[1].([]uint64)
		for i, m := range merchants {
			st.Wins = append(st.Wins, query.Wins{Merchant: m, Wins: counts[i]})
		}
		for _, t := range prices {
			quantiles := t[3].([]int64)
			weighted, ok := new(big.Int).SetString(t[7].(string), 10)
			if !ok {
				return st, fmt.Errorf("a sum %q", t[7])
			}
			price := query.PriceStatistic{
				Currency: contracts.Currency(t[0].(string)), Count: t[1].(uint64), Min: t[2].(int64), P25: quantiles[0], Median: quantiles[1], P75: quantiles[2],
				Max: t[4].(int64), First: t[5].(int64), Last: t[6].(int64), Weighted: weighted, HeldMs: t[8].(int64),
			}
			if len(q.TrendEdges) > 0 {
				price.Trend = t[9].(map[uint32]int64)
			}
			st.Prices = append(st.Prices, price)
		}
		return st, nil
	})
}
