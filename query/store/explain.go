package store

import (
	"context"
	"math/bits"

	"preismon/contracts"
	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// RowsAtMost implements query.ExtStore by what ClickHouse finds of the very
// statement of the read in the indexes of its tables, without reading a row of
// them. Spread over several shards they have no index of the whole, and there
// are no more rows than those of the mandate.
func (s *Store) RowsAtMost(ctx context.Context, v query.Visibility, q *query.ResultsQuery) (query.AtMost, error) {
	if s.shards.Several() {
		return s.ofMandateAtMost(ctx, v, q)
	}
	few, err := s.ofFewPairs(ctx, v, q)
	if err != nil {
		return query.AtMost{}, err
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
	var total uint64
	for _, t := range tables {
		switch t.table {
		case "observations", "observations_by_mandate", "latest_observations":
			total += t.rows
		}
	}
	if err != nil {
		return query.AtMost{}, err
	}
	return query.AtMost{Rows: new(coarse(total)), Scanned: new(coarse(total))}, nil
}

// ofMandateAtMost bounds the rows of a read by those that its mandate has in its
// window: not while what it was granted is filled in. How many are looked at for
// them depends on the parts of each shard.
func (s *Store) ofMandateAtMost(ctx context.Context, v query.Visibility, q *query.ResultsQuery) (most query.AtMost, err error) {
	if !v.Applied {
		return most, nil
	}
	var total uint64
	if err := row(ctx, s, rowsOfMandate(s.shards, v, q.Window), &total); err != nil {
		return most, err
	}
	most.Rows = new(coarse(total))
	return most, nil
}

func rowsOfMandate(n shards, v query.Visibility, w contracts.Window) statement {
	p := params{}
	p.uint("mandate", uint64(v.Mandate))
	if !w.From.IsZero() {
		p.int("from_ms", w.From.UnixMilli())
	}
	if !w.To.IsZero() {
		p.int("to_ms", w.To.UnixMilli())
	}
	return render("rows_of_mandate.sql", struct {
		Shards   shards
		From, To bool
	}{n, !w.From.IsZero(), !w.To.IsZero()}, p)
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
