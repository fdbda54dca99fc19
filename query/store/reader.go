package store

import (
	"context"
	"sync"

	"preismon/query"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

// blocksAhead is how many blocks a plain read is decoded ahead of the caller,
// so that the server, the decoder and the encoder work at the same time.
const blocksAhead = 2

// blockReader runs one statement and keeps its blocks until they are taken.
type blockReader struct {
	full, empty chan *blockColumns
	done        chan error
	columns     []*blockColumns
}

// columnPool keeps the memory of blocks between reads; the garbage collector
// empties it.
var columnPool = sync.Pool{New: func() any { return new(blockColumns) }}

// read starts a statement. It may run ahead of its reader by the given number
// of blocks, and stops with ctx.
func (s *Store) read(ctx context.Context, st statement, columns columnSet, ahead int) *blockReader {
	r := &blockReader{
		full: make(chan *blockColumns, ahead), empty: make(chan *blockColumns, ahead+1), done: make(chan error, 1),
	}
	for range ahead {
		c := columnPool.Get().(*blockColumns)
		r.columns = append(r.columns, c)
		r.empty <- c
	}
	go func() {
		defer close(r.full)
		r.done <- r.run(ctx, s, st, columns)
	}()
	return r
}

// run passes on the blocks of the statement in order.
func (r *blockReader) run(ctx context.Context, s *Store, st statement, columns columnSet) error {
	var c *blockColumns
	results := make(proto.Results, 0, 20)
	next := func() error {
		select {
		case c = <-r.empty:
			results = append(results[:0], c.results(columns, &c.Block, false)...)
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := next(); err != nil {
		return kind(err)
	}
	return s.do(ctx, st, false, func(q *ch.Query) {
		q.Result = &rotating{&results}
		q.OnResult = func(ctx context.Context, b proto.Block) error {
			if b.Rows == 0 {
				return nil
			}
			select {
			case r.full <- c:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			return next()
		}
	})
}

// do runs a statement that reads observations, or a part of a stream of them;
// results sets where they go.
func (s *Store) do(ctx context.Context, st statement, ofStream bool, results func(*ch.Query)) error {
	end, err := s.node.Rows(ctx, ofStream)
	if err != nil {
		return kind(err)
	}
	defer end()
	ctx, exec := s.ask(ctx, st)
	q := exec.native(st)
	results(&q)
	return exec.end(s.circuit.guard(ctx, func() error { return s.reads.do(ctx, q) }))
}

// each passes the blocks to take in order. A block is valid until take returns;
// an error of take ends the read and is returned.
func (r *blockReader) each(take func(*query.Block) error) error {
	return r.eachColumns(func(c *blockColumns) error { return take(c.filled()) })
}

// eachColumns is each for callers that need columns that a block does not have.
func (r *blockReader) eachColumns(take func(*blockColumns) error) error {
	for c := range r.full {
		if err := take(c); err != nil {
			return err
		}
		r.empty <- c
	}
	return <-r.done
}

// drain waits until the statement, whose context has ended, is over, and
// returns its memory to the pool.
func (r *blockReader) drain() {
	for range r.full { //nolint:revive // the rest is discarded
	}
	for _, c := range r.columns {
		columnPool.Put(c)
	}
}

// rotating decodes each block into the columns that are current at that time.
type rotating struct{ to *proto.Results }

func (r *rotating) DecodeResult(reader *proto.Reader, version int, b proto.Block) error {
	return r.to.DecodeResult(reader, version, b)
}
