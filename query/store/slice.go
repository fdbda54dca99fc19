package store

import (
	"context"
	"sync"

	"preismon/query"
	"preismon/query/admission"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

// slice is a part of a stream: all of its rows, as one block, in order. Its
// statement has ended when its first row is sent, so that no client keeps a
// statement open.
//
// ClickHouse returns the rows of a cut as they lie in the parts of the table,
// and they are sorted here, by index: merging the parts row by row, with all of
// their columns and in one thread, costs ClickHouse four times as much.
type slice struct {
	piece   piece
	room    *admission.Room // that it is charged to
	block   query.Block     // all of its rows
	columns blockColumns    // numbers of the block being read
	sorter  sorter
	err     error
	end     context.CancelFunc // of its statement
	done    chan struct{}      // closed when block or err is set
}

// slicePool keeps the memory of slices between reads; the garbage collector
// empties it.
var slicePool = sync.Pool{New: func() any { return new(slice) }}

// slice reads a piece in the background, charged to a room. The slice is lent
// when it has been read.
func (s *Store) slice(ctx context.Context, v query.Visibility, p piece, room *admission.Room) *slice {
	sl := slicePool.Get().(*slice)
	if sl.bytes() > 2*p.bytes() { // it comes from a larger piece
		*sl = slice{}
	}
	sl.piece, sl.room, sl.done, sl.err = p, room, make(chan struct{}), nil
	ctx, sl.end = context.WithCancel(ctx)
	go func() {
		defer close(sl.done)
		sl.err = sl.read(ctx, s, v)
		room.Resize(sl.bytes())
		sl.Lend()
	}()
	return sl
}

func (sl *slice) read(ctx context.Context, s *Store, v query.Visibility) error {
	q := &sl.piece.query
	sl.block.Reset()
	sl.block.Held = sl
	if !sl.piece.options.unsorted {
		sl.block.Order = nil
	}
	err := s.do(ctx, resultsStatement(s.shards, v, q, sl.piece.options), true, func(ask *ch.Query) {
		ask.Result = sl.columns.results(columnsOf(q), &sl.block, true)
		ask.OnResult = func(_ context.Context, b proto.Block) error {
			if b.Rows > 0 {
				sl.columns.addTo(&sl.block, sl.piece.expected(b.Rows))
			}
			return nil
		}
	})
	if err == nil && sl.piece.options.unsorted {
		sl.sorter.sort(&sl.block, q.Ascending)
	}
	return err
}

// bytes returns the size of what the slice holds.
func (sl *slice) bytes() int64 { return sl.block.Bytes() + sl.columns.Bytes() + sl.sorter.bytes() }

// Lend implements query.Held.
func (sl *slice) Lend() {
	sl.room.Lend(func() { sl.block, sl.columns, sl.sorter = query.Block{}, blockColumns{}, sorter{} })
}

// TakeBack implements query.Held.
func (sl *slice) TakeBack() bool { return sl.room.TakeBack() }

// stop ends the slice, whether or not it has been read.
func (sl *slice) stop() {
	sl.end()
	<-sl.done
	sl.release()
}

// release returns the slice to the pool; it must not be used any more.
func (sl *slice) release() {
	sl.end()
	sl.room.Release()
	sl.room, sl.block.Held = nil, nil
	slicePool.Put(sl)
}
