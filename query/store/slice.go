package store

import (
	"context"
	"sync"

	"preismon/query"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

// slice is a part of a long read: all of its rows, as one block, in order.
// ClickHouse gives the rows of a slice as they lie in the parts of the table,
// and they are sorted here, by index: merging the parts row by row, with all
// of their columns and in one thread, costs it four times as much.
type slice struct {
	block   query.Block  // all of its rows
	columns blockColumns // numbers of the block that is being read
	sorter  sorter
	err     error
	begun   chan struct{} // closed when the statement has its connection, or ended without one
	done    chan struct{} // closed when columns or err are there
}

// slicePool keeps the room of slices between reads; the garbage collector
// empties it.
var slicePool = sync.Pool{New: func() any { return new(slice) }}

// start reads the slice, of about so many rows, in the background.
func (sl *slice) start(ctx context.Context, s *Store, v query.Visibility, q *query.ResultsQuery, rows int) {
	sl.begun, sl.done, sl.err = make(chan struct{}), make(chan struct{}), nil
	begin := sync.OnceFunc(func() { close(sl.begun) })
	st := resultsStatement(s.shards, v, q, manner{unsorted: true})
	go func() {
		defer close(sl.done)
		defer begin()
		sl.block.Reset()
		// A slot is given back before anybody waits for the client, so that
		// slow clients keep none.
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-ctx.Done():
			sl.err = kind(context.Cause(ctx))
			return
		}
		sl.err = s.do(ctx, st, func(ask *ch.Query) {
			ask.Result = sl.columns.results(q.Export, &sl.block, true)
			ask.OnResult = func(_ context.Context, b proto.Block) error {
				begin() // the first block, of the header alone, comes at once
				if b.Rows > 0 {
					sl.columns.addTo(&sl.block, rows)
				}
				return nil
			}
		})
		if sl.err == nil {
			sl.sorter.sort(&sl.block, q.Ascending)
		}
	}()
}
