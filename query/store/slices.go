package store

import (
	"context"
	"time"

	"preismon/contracts"
	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// A long read is cut into slices of its window, because ClickHouse merges the
// parts of a table into one order with one thread: slices are merged side by
// side, and given in their order. Each slice waits with its blocks when it is
// ahead, so what is held does not grow with the read.
const (
	slicesAtOnce = 2
	sliceBlocks  = 10    // that a slice may be ahead
	blockRows    = 16384 // of a sliced read
	densityParts = 4096  // into which a window is divided to measure it
)

// sliceable tells whether a read may be long and follows the key of
// observations_by_mandate.
func sliceable(q *query.ResultsQuery) bool {
	return q.Limit == 0 && q.Latest == query.AllRows && !q.Selectors.Product()
}

// earliest is before any capture that is accepted; it stands for an open
// lower bound.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// slices cuts the window of a read so that about as many rows are scanned in
// each, in the order of the read.
func (s *Store) slices(ctx context.Context, v query.Visibility, q *query.ResultsQuery) ([]contracts.Window, error) {
	from, to := q.Window.From.UnixMilli(), q.Window.To.UnixMilli()
	if q.Window.From.IsZero() {
		from = earliest.UnixMilli()
	}
	if q.Window.To.IsZero() {
		return []contracts.Window{q.Window}, nil
	}
	if a := q.After; a != nil && q.Ascending {
		from = max(from, a.CapturedMs)
	} else if a != nil {
		to = min(to, a.CapturedMs)
	}
	if from >= to {
		return []contracts.Window{{From: time.UnixMilli(from), To: time.UnixMilli(to)}}, nil
	}
	step := (to-from)/densityParts + 1
	p := params{}
	p.uint("mandate", uint64(v.Mandate))
	p.int("low", -to)
	p.int("high", -from)
	p.int("step", step)
	type part struct {
		at int64
		n  uint64
	}
	parts, err := rows(ctx, s, render("density.sql", nil, p), func(r driver.Rows) (pt part, err error) {
		err = r.Scan(&pt.at, &pt.n)
		return pt, err
	})
	if err != nil {
		return nil, err
	}
	// Newest first, as the key is: a slice ends with the part that fills it.
	var cuts []contracts.Window
	upper, n := to, uint64(0)
	for _, pt := range parts {
		if n += pt.n; n < s.sliceRows {
			continue
		}
		lower := max(from, to-(pt.at+1)*step+1)
		cuts = append(cuts, contracts.Window{From: time.UnixMilli(lower), To: time.UnixMilli(upper)})
		upper, n = lower-1, 0
	}
	if upper >= from {
		cuts = append(cuts, contracts.Window{From: time.UnixMilli(from), To: time.UnixMilli(upper)})
	}
	if q.Ascending {
		for i, j := 0, len(cuts)-1; i < j; i, j = i+1, j-1 {
			cuts[i], cuts[j] = cuts[j], cuts[i]
		}
	}
	return cuts, nil
}

// readSlices reads slices side by side and gives their blocks in order. A
// slice begins only when the one before it has its connection, so that reads
// which share the pool cannot wait for each other in a circle.
func (s *Store) readSlices(ctx context.Context, v query.Visibility, q *query.ResultsQuery, cuts []contracts.Window, each func(*query.Block) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ahead []*blockReader
	defer func() {
		cancel()
		for _, r := range ahead {
			r.drain()
		}
	}()
	next := 0
	begin := func() {
		sq := *q
		sq.Window = cuts[next]
		ahead = append(ahead, s.read(ctx, resultsStatement(v, &sq), q.Export, sliceBlocks, blockRows))
		next++
	}
	begin()
	for len(ahead) > 0 {
		for len(ahead) < slicesAtOnce && next < len(cuts) {
			select {
			case <-ahead[len(ahead)-1].begun:
				begin()
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if err := ahead[0].each(each); err != nil {
			return err
		}
		ahead = ahead[1:]
	}
	return nil
}
