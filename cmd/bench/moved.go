package main

import (
	"context"
	"fmt"
	"time"

	"preismon/ingest/seqlock"
)

// movedAnswers is how many requests one round of a read at moved watermarks has.
const movedAnswers = 10

// measureMoved measures the hot reads of rows, one after another, each at a
// watermark of its own, as if rows had arrived before it: nothing that a node
// remembers of the rows is valid.
func (r *run) measureMoved(ctx context.Context) error {
	reads, err := r.hotReads(ctx)
	if err != nil {
		return err
	}
	marks, err := r.world.openMarks()
	if err != nil {
		return err
	}
	defer marks.close()
	t := Table{Title: "Hot reads while rows arrive", Note: fmt.Sprintf("One client. Each of %d requests is for a watermark that no other had.", movedAnswers)}
	for _, q := range reads {
		if q.statement == nil {
			continue
		}
		next := 0
		each := func(ask func(n int) error) func(context.Context) (done, error) {
			return func(ctx context.Context) (d done, err error) {
				for range movedAnswers {
					if err := marks.advance(ctx); err != nil {
						return d, err
					}
					next++
					began := time.Now()
					if err := ask(next); err != nil {
						return d, err
					}
					d.took += time.Since(began)
					d.rows++
				}
				return d, nil
			}
		}
		series, err := r.interleave(ctx, 1, r.size.movedRounds,
			contestant{"preismon, " + q.title, each(func(n int) error { return r.hotAnswer(ctx, q.path, q.ask(n)) })},
			contestant{"ClickHouse over HTTP, " + q.title, each(func(n int) error { return r.hotStatement(ctx, q.statement(n)) })},
		)
		if err != nil {
			return fmt.Errorf("%s: %w", q.title, err)
		}
		t.Series = append(t.Series, series...)
		r.result.put(q.key+"_moved", q.title+", each time after new rows: answers a second against the same rows from ClickHouse over HTTP", "×", faster(series[0], series[1]), 0, false, "")
	}
	r.result.Tables = append(r.result.Tables, t)
	return nil
}

// marks advances the watermark of the data set.
type marks struct {
	world *world
	lock  *seqlock.Writer // nil: on servers that others use, nothing is announced
	close func()
}

func (w *world) openMarks() (*marks, error) {
	if w.nats == nil {
		return &marks{world: w, close: func() {}}, nil
	}
	lock, conn, err := w.announcer()
	if err != nil {
		return nil, err
	}
	return &marks{w, lock, conn.Close}, nil
}

// advance moves the watermark by one event, which has no rows.
func (m *marks) advance(ctx context.Context) error {
	if m.lock != nil {
		if err := m.lock.Begin(ctx); err != nil {
			return err
		}
		defer m.lock.End(nil)
	}
	return m.world.exec(ctx, `INSERT INTO checkpoints SELECT * REPLACE (seq + 1 AS seq) FROM checkpoints
		WHERE stream = 'OBSERVATIONS' AND epoch = 1 ORDER BY seq DESC LIMIT 1`)
}
