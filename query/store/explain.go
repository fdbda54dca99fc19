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

// RowsAtMost implements query.Store with what ClickHouse finds for the same
// statement as the read in the indexes of its tables, without reading any of
// their rows. Tables spread over several shards have no index of the whole; the
// bound is then the number of rows of the mandate.
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

// estimate is how many rows of its tables a read scans at most.
type estimate struct {
	rows, tables uint64
	when         moment // not after the rows were estimated
	at           time.Time
}

// estimateLasts is how long an estimate is reused: the index counts whole
// granules, and those of new parts hold rows of other mandates, too.
const estimateLasts = time.Minute

// bound returns the bound at a moment: each row added to observations since
// then may add one to each table. Merges remove no row that the read scans. Not
// ok: the estimate is too old, or the bound is larger than a new estimate would
// be.
func (e estimate) bound(now *moment) (bound uint64, ok bool) {
	if time.Since(e.at) > estimateLasts || now == nil || now.rows == 0 || e.when.rows == 0 || now.generation != e.when.generation || now.rows < e.when.rows {
		return 0, false
	}
	bound = coarse(e.rows + e.tables*(now.rows-e.when.rows))
	return bound, bound == coarse(e.rows)
}

// estimated returns a remembered estimate as long as a new one would be the
// same, or nearly: the projectors count the rows, and the visibility has the
// floor from which they count. Rows of a grant that is not yet filled in are
// added at old positions.
func (s *Store) estimated(ctx context.Context, v query.Visibility, q *query.ResultsQuery, few bool) (uint64, error) {
	// Without filters: an index that excludes all rows would reveal whether the
	// brand of another mandate's items exists.
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
	st := resultsStatement(s.shards, v, &all, readOptions{byPair: few, unsorted: q.Read != nil, current: tryCurrent(q)})
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
	if tryCurrent(q) { // the longer statement, where it is needed, reads the same table twice, and what came later
		e.rows, e.tables = 3*e.rows, 4
	}
	if now != nil && may {
		e.when, e.at = *now, time.Now()
		s.estimates.Put(key, e)
	}
	return coarse(e.rows), nil
}

// estimateOf identifies a read, regardless of how far the tables are.
func estimateOf(v query.Visibility, q *query.ResultsQuery, few bool) question {
	of := *q
	of.Watermark, of.Read, of.Window = query.Watermark{}, nil, contracts.Window{}
	from, to := q.Window.From, q.Window.To // a time in another millennium cannot be encoded as JSON
	text, err := json.Marshal([]any{v, of, from.IsZero(), from.UnixMilli(), to.IsZero(), to.UnixMilli(), few, q.Read != nil})
	if err != nil {
		panic(err) // plain values always marshal
	}
	return sha256.Sum256(text)
}

// ofMandateAtMost bounds the rows of a read by those that its mandate has in
// its window; there is no bound while a grant is being filled in. How many rows
// are scanned for them depends on the parts of each shard, so it is not
// bounded.
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
	}{n, !w.From.IsZero(), !w.To.IsZero()}, p).of(ofSums)
}

// coarse rounds up to a number that reveals nothing about rows of others, which
// lie between those that are scanned.
func coarse(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	return max(1<<13, uint64(1)<<bits.Len64(n-1))
}
