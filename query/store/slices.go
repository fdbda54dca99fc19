package store

import (
	"context"
	"time"

	"preismon/contracts"
	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// A long read is cut into slices of its window, each of a size that can be
// held and sorted here: while one is encoded, the next is read, and what is
// held does not grow with the read.
const (
	slicesAtOnce = 2
	shortWindow  = time.Hour // is read in one piece: dashboards ask for it often, and measuring costs them more
	densityParts = 4096      // into which a window is divided to measure it
)

// sliceable tells whether a read may be long and follows the key of
// observations_by_mandate.
func sliceable(q *query.ResultsQuery) bool {
	short := !q.Window.From.IsZero() && !q.Window.To.IsZero() && q.Window.Length() <= shortWindow
	return q.Limit == 0 && q.Latest == query.AllRows && !q.Selectors.Product() && !short
}

// earliest is before any capture that is accepted; it stands for an open
// lower bound.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// cut is a part of a window, and how many rows are scanned in it, about.
type cut struct {
	window contracts.Window
	rows   int
}

// slices cuts the window of a read so that about as many rows are scanned in
// each, in the order of the read; none: it cannot be measured.
func (s *Store) slices(ctx context.Context, v query.Visibility, q *query.ResultsQuery) ([]cut, error) {
	from, to := q.Window.From.UnixMilli(), q.Window.To.UnixMilli()
	if q.Window.From.IsZero() {
		from = earliest.UnixMilli()
	}
	if q.Window.To.IsZero() {
		return nil, nil
	}
	if a := q.After; a != nil && q.Ascending {
		from = max(from, a.CapturedMs)
	} else if a != nil {
		to = min(to, a.CapturedMs)
	}
	if from >= to {
		return []cut{{contracts.Window{From: time.UnixMilli(from), To: time.UnixMilli(to)}, 0}}, nil
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
	var cuts []cut
	upper, n := to, uint64(0)
	for _, pt := range parts {
		if n += pt.n; n < s.sliceRows {
			continue
		}
		lower := max(from, to-(pt.at+1)*step+1)
		cuts = append(cuts, cut{contracts.Window{From: time.UnixMilli(lower), To: time.UnixMilli(upper)}, int(n)})
		upper, n = lower-1, 0
	}
	if upper >= from {
		cuts = append(cuts, cut{contracts.Window{From: time.UnixMilli(from), To: time.UnixMilli(upper)}, int(n)})
	}
	if q.Ascending {
		for i, j := 0, len(cuts)-1; i < j; i, j = i+1, j-1 {
			cuts[i], cuts[j] = cuts[j], cuts[i]
		}
	}
	return cuts, nil
}

// readSlices reads slices side by side and gives each in its turn. A slice
// begins only when the one before it has its connection, so that reads which
// share the pool cannot wait for each other in a circle.
func (s *Store) readSlices(ctx context.Context, v query.Visibility, q *query.ResultsQuery, cuts []cut, each func(*query.Block) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var ring [slicesAtOnce]*slice
	started := 0
	defer func() {
		cancel()
		for i := range min(started, slicesAtOnce) {
			<-ring[i].done
			slicePool.Put(ring[i])
		}
	}()
	start := func() {
		sq := *q
		sq.Window = cuts[started].window
		if started < slicesAtOnce {
			ring[started] = slicePool.Get().(*slice)
		}
		ring[started%slicesAtOnce].start(ctx, s, v, &sq, cuts[started].rows)
		started++
	}
	for i := range cuts {
		for started < min(len(cuts), i+slicesAtOnce) {
			if started > 0 {
				select {
				case <-ring[(started-1)%slicesAtOnce].begun:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			start()
		}
		sl := ring[i%slicesAtOnce]
		select {
		case <-sl.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if sl.err != nil {
			return sl.err
		}
		if err := each(&sl.block); err != nil {
			return err
		}
	}
	return nil
}
