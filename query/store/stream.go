package store

import (
	"context"
	"errors"
	"sync"

	"preismon/query"
)

// stream passes on the rows of a stream slice by slice: while one is sent, the
// next is cut and read if there is room for it. A read that holds a slice never waits
// for another.
func (s *Store) stream(ctx context.Context, from *pieces, each func(*query.Block) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	var now, next *slice
	var starting sync.WaitGroup // of next
	defer func() {
		cancel()
		starting.Wait()
		_ = from.wait()
		for _, sl := range []*slice{now, next} {
			if sl != nil {
				<-sl.done
				sl.release()
			}
		}
	}()
	for {
		if now == nil {
			p, ok, err := from.next(ctx)
			if err != nil || !ok {
				return err
			}
			room, err := from.read.Reserve(ctx, p.bytes())
			if err != nil {
				return err
			}
			now = s.slice(ctx, from.vis, p, room)
			from.plan(ctx)
		}
		select {
		case <-now.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		sent, whole := (*query.Position)(nil), now.TakeBack()
		if whole {
			if now.err != nil {
				return now.err
			}
			from.observe(now)
			var nextErr error
			starting.Go(func() { next, nextErr = s.prefetch(ctx, from) })
			err = each(&now.block)
			starting.Wait()
			reclaimed, ok := errors.AsType[*query.Reclaimed](err)
			if err != nil && !ok {
				return err
			}
			if nextErr != nil {
				return nextErr
			}
			if whole = err == nil; !whole {
				sent = reclaimed.After
			}
		}
		if whole {
			from.taken()
		} else {
			from.reclaimed()
			if next != nil {
				next.stop()
				from.putBack(next.piece, nil)
				next = nil
			}
			from.putBack(now.piece, sent)
		}
		now.release()
		now, next = next, nil
	}
}

// prefetch starts the next slice if there is room for it now; nil: there is no
// room, or no next slice.
func (s *Store) prefetch(ctx context.Context, from *pieces) (*slice, error) {
	p, ok, err := from.next(ctx)
	if err != nil || !ok {
		return nil, err
	}
	room := from.read.TryReserve(p.bytes())
	if room == nil {
		from.putBack(p, nil)
		return nil, nil
	}
	return s.slice(ctx, from.vis, p, room), nil
}
