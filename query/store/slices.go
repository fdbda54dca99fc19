package store

import (
	"context"
	"time"

	"preismon/query"
)

// A long read is cut into slices of its window, each of a size that can be
// held and sorted here: while one is encoded, the next is read, and what is
// held does not grow with the read, but where more captures share one instant
// than a slice has rows.
const (
	slicesAtOnce = 2
	shortWindow  = time.Hour // is read in one piece: dashboards ask for it often, and measuring costs them more
)

// sliceable tells whether a read may be long and follows the key of
// observations_by_mandate.
func sliceable(q *query.ResultsQuery) bool {
	short := !q.Window.From.IsZero() && q.Window.Length() <= shortWindow
	return q.Limit == 0 && q.Latest == query.AllRows && !q.Selectors.Product() && !q.Window.To.IsZero() && !short
}

// readSlices reads slices side by side and gives each in its turn. A slice
// begins only when the one before it has its connection, so that reads which
// share the pool cannot wait for each other in a circle.
func (s *Store) readSlices(ctx context.Context, v query.Visibility, q *query.ResultsQuery, cuts *cutter, each func(*query.Block) error) error {
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
	start := func(c cut) {
		sq := *q
		sq.Window = c.window()
		if started < slicesAtOnce {
			ring[started] = slicePool.Get().(*slice)
		}
		ring[started%slicesAtOnce].start(ctx, s, v, &sq, int(c.rows))
		started++
	}
	for i := 0; ; i++ {
		for started < i+slicesAtOnce {
			next, ok, err := cuts.next(ctx)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if started > 0 {
				select {
				case <-ring[(started-1)%slicesAtOnce].begun:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			start(next)
		}
		if i == started {
			return nil
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
}
