package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"math/bits"
	"time"

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
	e, err := s.estimated(ctx, v, q, few)
	return query.AtMost{Rows: new(e), Scanned: new(e)}, err
}

// estimate is how many rows of its tables a read looks at, at most.
type estimate struct {
	rows, tables uint64
	when         moment // not after the rows were estimated
	at           time.Time
}

// estimateLasts is for how long an estimate is told again: the index counts whole
// granules, and those of new parts have rows of other mandates, too.
const estimateLasts = time.Minute

// bound is the bound at a moment: each row that observations have won since may be
// one more of each table. Merges take none away that the read looks at. Not ok: it
// is larger than what would be told if it were estimated anew.
func (e estimate) bound(now *moment) (bound uint64, ok bool) {
	if time.Since(e.at) > estimateLasts || now == nil || now.rows == 0 || e.when.rows == 0 || now.generation != e.when.generation || now.rows < e.when.rows {
		return 0, false
	}
	bound = coarse(e.rows + e.tables*(now.rows-e.when.rows))
	return bound, bound == coarse(e.rows)
}

// estimated is remembered for as long as it is what would be estimated again, or
// nearly: the projectors count the rows, and the visibility has the floor from
// which on they do. What is granted but not filled in yet comes to old places.
func (s *Store) estimated(ctx context.Context, v query.Visibility, q *query.ResultsQuery, few bool) (uint64, error) {
	// Without filters: an index that rules all out would tell whether the brand of
	// another mandate's items exists.
	all := *q
	all.Filters, all.Outcomes = query.Filters{}, nil
	all.Window = q.Cover()
	now, may := s.newest.Load(), v.Snapshot != 0 && v.Applied
	key := estimateOf(v, &all, few)
	if e, ok := s.estimates.Get(key); ok && may {
		if bound, ok := e.bound(now); ok {
			return bound, nil
		}
	}
	st := resultsStatement(s.shards, v, &all, readOptions{byPair: few, unsorted: q.Read != nil})
	st.name, st.text = "rows_at_most", "EXPLAIN ESTIMATE "+st.text
	var e estimate
	_, err := rows(ctx, s, st, func(r driver.Rows) (_ struct{}, err error) {
		var database, table string
		var parts, found, marks uint64
		if err = r.Scan(&database, &table, &parts, &found, &marks); err == nil {
			switch table {
			case "observations", "observations_by_mandate", "latest_observations":
				e.rows += found
			}
		}
		return struct{}{}, err
	})
	if err != nil {
		return 0, err
	}
	e.tables = 1
	if fromLatest(q) {
		e.tables = 2
	}
	if now != nil && may {
		e.when, e.at = *now, time.Now()
		s.estimates.Put(key, e)
	}
	return coarse(e.rows), nil
}

// estimateOf stands for a read, but for how far the tables are.
func estimateOf(v query.Visibility, q *query.ResultsQuery, few bool) question {
	of := *q
	of.Watermark, of.Read, of.Window = query.Watermark{}, nil, contracts.Window{}
	from, to := q.Window.From, q.Window.To // a time of another millennium is no JSON
	text, err := json.Marshal([]any{v, of, from.IsZero(), from.UnixMilli(), to.IsZero(), to.UnixMilli(), few, q.Read != nil})
	if err != nil {
		panic(err) // plain values
	}
	return sha256.Sum256(text)
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
