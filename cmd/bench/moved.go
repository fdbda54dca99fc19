package main

import (
	"context"
	"fmt"
	"time"
)

// movedAnswers is how many requests one round of a read at moved watermarks has.
const movedAnswers = 10

// measureMoved measures the hot reads of rows, one after another, each at a
// watermark of its own, as if rows had arrived before it: nothing that a node
// remembers of the rows is valid.
func (r *run) measureMoved(ctx context.Context) {
	advance := r.advance
	if r.world.nats != nil { // on servers that others use, nothing is announced
		b, err := r.world.connect(r.world.natsURL)
		if r.failed(err) {
			return
		}
		defer b.conn.Close()
		readers, err := b.readers(r.Logger)
		r.failed(err)
		advance = func(ctx context.Context) error { return announce(ctx, readers, r.advance) }
	}
	t := r.table("Hot reads while rows arrive", fmt.Sprintf("One client. Each of %d requests is for a watermark that no other had.", movedAnswers))
	for _, q := range r.hotReads(ctx) {
		if q.statement == nil {
			continue
		}
		next := 0
		each := func(ask answer) task {
			return func(ctx context.Context) (d done) {
				for range movedAnswers {
					r.failed(advance(ctx))
					next++
					began := time.Now()
					ask(ctx, next)
					d.took += time.Since(began)
					d.rows++
				}
				return d
			}
		}
		series := r.compare(ctx, t, 1, r.size.movedRounds,
			contestant{"preismon, " + q.title, each(r.ours(q))}, contestant{"ClickHouse over HTTP, " + q.title, each(r.theirs(q))})
		r.put(q.key+"_moved", q.title+", each time after new rows: answers a second against the same rows from ClickHouse over HTTP", "×", faster(series[0], series[1]), 0, false, "")
	}
}

// advance moves the watermark of the data set by one event, which has no rows.
func (r *run) advance(ctx context.Context) error {
	return r.world.exec(ctx, `INSERT INTO checkpoints SELECT * REPLACE (seq + 1 AS seq) FROM checkpoints
		WHERE stream = 'OBSERVATIONS' AND epoch = 1 ORDER BY seq DESC LIMIT 1`)
}
