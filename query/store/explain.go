package store

import (
	"context"
	"math/bits"

	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// RowsAtMost implements query.ExtStore by what ClickHouse finds of the very
// statement of the read in the indexes of its tables, without reading a row of
// them. A table that others are spread over has no index of its own.
func (s *Store) RowsAtMost(ctx context.Context, v query.Visibility, q *query.ResultsQuery) (total uint64, known bool, err error) {
	if s.shards.Several() {
		return 0, false, nil
	}
	few, err := s.ofFewPairs(ctx, v, q)
	if err != nil {
		return 0, false, err
	}
	// Without filters: an index that rules all out would tell whether the brand of
	// another mandate's items exists.
	all := *q
	all.Brand, all.Manufacturer, all.Merchant, all.IsPrime, all.IsBuyBox, all.Outcomes = "", "", "", nil, nil, nil
	st := resultsStatement(s.shards, v, &all, readOptions{byPair: few, unsorted: q.Read != nil})
	st.name, st.text = "rows_at_most", "EXPLAIN ESTIMATE "+st.text
	tables, err := rows(ctx, s, st, func(r driver.Rows) (t estimate, err error) {
		var database string
		var parts, marks uint64
		err = r.Scan(&database, &t.table, &parts, &t.rows, &marks)
		return t, err
	})
	for _, t := range tables {
		switch t.table {
		case "observations", "observations_by_mandate", "latest_observations":
			total += t.rows
		}
	}
	return coarse(total), err == nil, err
}

// coarse is a larger number that tells nothing about the rows of others, which
// lie between those that are looked at.
func coarse(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	return max(1<<13, uint64(1)<<bits.Len64(n-1))
}

// estimate is how many rows of a table are looked at, at most.
type estimate struct {
	table string
	rows  uint64
}
