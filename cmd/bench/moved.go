package main

import (
	"context"
	"fmt"
	"time"

	"preismon/contracts/event"
)

// movedAnswers is how many requests one round of a read at moved watermarks has.
const movedAnswers = 10

// movedProducts is how many products are requested in turn.
const movedProducts = 5

// measureMoved measures the hot reads of rows, one after another, each at a
// watermark of its own, as if rows had arrived before it: once as if nobody knew
// which, so that nothing a node remembers of rows is valid, and once as if they
// were another product's, of the same mandate and at the same site.
func (r *run) measureMoved(ctx context.Context) {
	if r.world.nats == nil {
		r.result.miss("hot reads while rows arrive: on servers that others use, nothing can be announced")
		return
	}
	b, err := r.world.connect(r.world.natsURL)
	if r.failed(err) {
		return
	}
	defer b.conn.Close()
	readers, err := b.readers(r.Logger)
	r.failed(err)
	known := r.rows(ctx, "SELECT max(seq) FROM checkpoints WHERE stream = 'OBSERVATIONS' AND epoch = 1")
	if r.failed(nil) {
		return
	}
	at := event.Mark{Epoch: 1, Seq: uint64(known[0][0].(float64))}
	advance := func(ctx context.Context, elsewhere bool) error {
		var arrived *event.Arrivals
		if now := r.data.to.UnixMilli(); elsewhere {
			arrived = &event.Arrivals{After: at, Earliest: now, Latest: now, Items: []uint64{1 << 60}, Sites: []string{siteName(0)}, Mandates: []uint64{hotMandate}}
		}
		at.Seq++
		return announce(ctx, readers, event.Marks{event.StreamObservations: at}, arrived, r.advance)
	}
	t := r.table("Hot reads while rows arrive", fmt.Sprintf("One client. Each of %d requests is for a watermark that no other had.", movedAnswers))
	for _, q := range r.hotReads(ctx) {
		if q.statement == nil {
			continue
		}
		next := 0
		each := func(ask answer, elsewhere bool) task {
			return func(ctx context.Context) (d done) {
				for range movedAnswers {
					r.failed(advance(ctx, elsewhere))
					next++
					began := time.Now()
					ask(ctx, next%movedProducts)
					d.took += time.Since(began)
					d.rows++
				}
				return d
			}
		}
		series := r.compare(ctx, t, 1, r.size.movedRounds,
			contestant{"preismon, " + q.title, each(r.ours(q), false)}, contestant{"preismon, " + q.title + ", rows of another product", each(r.ours(q), true)},
			contestant{"ClickHouse over HTTP, " + q.title, each(r.theirs(q), false)})
		for i, of := range []struct{ key, title string }{{"_moved", "rows"}, {"_moved_elsewhere", "rows of another product of its mandate and site"}} {
			r.put(q.key+of.key, q.title+", each time after new "+of.title+": answers a second against the same rows from ClickHouse over HTTP", "×", faster(series[i], series[2]), 0, false, "")
		}
	}
}

// advance moves the watermark of the data set by one event, which has no rows.
func (r *run) advance(ctx context.Context) error {
	return r.world.exec(ctx, `INSERT INTO checkpoints SELECT * REPLACE (seq + 1 AS seq) FROM checkpoints
		WHERE stream = 'OBSERVATIONS' AND epoch = 1 ORDER BY seq DESC LIMIT 1`)
}
