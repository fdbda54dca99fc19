package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/embedded"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
	"preismon/ingest"
	"preismon/projector"
	"preismon/projector/clickhouse"
)

// connFunc is a function used as a connection: a broken projector differs from
// a correct one in what it does with its connection.

type connFunc func(ctx context.Context, q ch.Query) error

func (f connFunc) Do(ctx context.Context, q ch.Query) error { return f(ctx, q) }

// isInsert reports whether a statement writes rows of observations.
func isInsert(q *ch.Query) bool { return q.Input != nil && strings.Contains(q.QueryID, "observations") }

// heedless goes on to checkpoint and acknowledge whatever becomes of the
// insert, like a projector that acknowledges first.
func heedless(c projector.Conn) projector.Conn {
	return connFunc(func(ctx context.Context, q ch.Query) error {
		err := c.Do(ctx, q)
		if isInsert(&q) {
			return nil
		}
		return err
	})
}

// blind repeats a failed insert without reading back.
func blind(c projector.Conn) projector.Conn {
	return connFunc(func(ctx context.Context, q ch.Query) error {
		id := q.QueryID
		err := c.Do(ctx, q)
		for try := 1; err != nil && isInsert(&q) && ctx.Err() == nil; try++ {
			time.Sleep(20 * time.Millisecond)
			q.QueryID = fmt.Sprintf("%s.%d", id, try)
			err = c.Do(ctx, q)
		}
		return err
	})
}

func sound(c projector.Conn) projector.Conn { return c }

// project runs a projector within the test, until it ends.
func (w *world) project(t *testing.T, fence uint64, build func(projector.Conn) projector.Conn) *ingest.Consumer {
	t.Helper()
	cfg := must.Get(clickhouse.ParseDSN(w.projectorTables.URL(w.clickhouse.DSN(embedded.ProjectorUser, ""))))(t)
	pool := clickhouse.Open(cfg, 8)
	conn := must.Get(ingest.Connect(ingest.Config{URL: w.nats.URL()}))(t)
	js := must.Get(jetstream.New(conn))(t)
	pc := projector.DefaultConfig()
	pc.Fence, pc.Logger = fence, quiet
	p := must.Get(projector.New(pc, build(pool)))(t)
	consumer := must.Get(ingest.NewConsumer(ingest.ConsumerConfig{}, js, p, nil))(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = consumer.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		conn.Close()
		_ = pool.Close()
	})
	return consumer
}

// TestFaultSuiteCanFailProjector: the checks find nothing wrong with a correct
// projector, and detect those built wrong that follow it under the same faults.
func TestFaultSuiteCanFailProjector(t *testing.T) {
	effort.Full(t, "faults in a broken projector")
	w := newWorld(t, 1)
	w.startQuery()
	defer w.live()()
	for i, c := range []struct {
		name  string
		build func(projector.Conn) projector.Conn
		do    func(w *world, rnd *rand.Rand) error
		found func(v verdictOf) bool // nil: nothing may be found
	}{
		{"the right one", sound, func(w *world, rnd *rand.Rand) error { return errors.Join(cutInsert(w, rnd), lostReply(w, rnd)) }, nil},
		{"acknowledge-before-insert", heedless, cutInsert, func(v verdictOf) bool { return v.lost > 0 }},
		{"blind-retry", blind, lostReply, func(v verdictOf) bool { return v.doubled > 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if n, err := doubled(t.Context(), w.db()); err != nil || n > 0 {
				t.Fatalf("%d rows are doubled before it starts, %v", n, err)
			}
			consumer := w.project(t, uint64(i+1), c.build)
			w.producer.resume()
			rnd := rand.New(rand.NewPCG(1, 1))
			for n := 1; n <= 10; n++ {
				since := w.ledger.mark()
				must.Do(t, c.do(w, rnd))
				w.heal()
				time.Sleep(200 * time.Millisecond)
				must.Do(t, w.producer.pause(healed))
				// The consumer reports that it is done: what is missing now
				// will never come.
				end, err := ingest.End(t.Context(), w.streams(), event.StreamObservations)
				if err == nil {
					wait, done := context.WithTimeout(t.Context(), healed)
					err = consumer.CaughtUp(wait, event.StreamObservations, end)
					done()
				}
				must.Do(t, err)
				if c.found != nil {
					w.patience = 2 * time.Second
				}
				v := w.settle(t.Context(), since)
				switch {
				case c.found != nil && c.found(v):
					fmt.Printf("broken=%s caught=%d lost=%d doubled=%d\n", c.name, n, v.lost, v.doubled)
					return
				case c.found == nil && v.err != nil:
					t.Fatal(v.err)
				case c.found == nil && n == 3:
					return
				}
				w.producer.resume()
			}
			t.Error("ten faults did not show that it is built wrong")
		})
	}
}

func lostReply(w *world, _ *rand.Rand) error {
	defer w.projectorTables.Reset()
	return loseReply(w)
}

func cutInsert(w *world, rnd *rand.Rand) error {
	return w.meets(w.projectorTables, proxy.Up, proxy.Rule{Pattern: []byte("-observations-"), Left: 500 + rnd.Int64N(1000), Then: proxy.Break})
}
