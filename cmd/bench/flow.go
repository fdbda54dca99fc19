package main

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/ingest"
	"preismon/projector"
)

// flow is a publisher with a projector behind it, on the full tables.
type flow struct {
	conn      *nats.Conn
	js        jetstream.JetStream
	publisher *ingest.Publisher
	proj      *projector.Projector
	first     uint64 // sequence of the last event before this flow
	stop      func()
}

// flow starts a flow, which has caught up.
func (r *run) flow(ctx context.Context) (*flow, error) {
	b, err := r.broker(ctx, r.world.natsURL)
	if err != nil {
		return nil, err
	}
	f := &flow{conn: b.conn, js: b.js, stop: b.conn.Close}
	also := func(more func()) {
		before := f.stop
		f.stop = func() { more(); before() }
	}
	fail := func(err error) (*flow, error) {
		f.stop()
		return nil, err
	}
	pool, err := r.pool(r.world.database)
	if err != nil {
		return fail(err)
	}
	also(func() { _ = pool.Close() }) // nothing is under way
	consumer, proj, stop, err := r.lead(ctx, b, pool)
	if err != nil {
		return fail(err)
	}
	f.proj = proj
	also(stop)
	if f.first, err = ingest.End(ctx, b.js, event.StreamObservations); err != nil {
		return fail(err)
	}
	if err := consumer.CaughtUp(ctx, event.StreamObservations, f.first); err != nil {
		return fail(err)
	}
	if f.publisher, err = ingest.NewPublisher(b.conn, ingest.PublisherConfig{}, r.Logger); err != nil {
		return fail(err)
	}
	also(f.publisher.Close)
	return f, nil
}

// publish sends total events of one capture each, captured at this moment, at
// the steady rate, and calls each with every event before it is sent.
func (f *flow) publish(ctx context.Context, p *producer, total int, each func(*event.Event)) (took time.Duration, err error) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	start := time.Now()
	for sent := 0; sent < total; {
		<-tick.C
		for due := min(int(time.Since(start).Seconds()*visibleRate), total); sent < due; sent++ {
			p.at = time.Now().UTC()
			e := p.event(1)
			each(e)
			if err := f.publisher.Publish(ctx, e); err != nil {
				return 0, err
			}
		}
	}
	took = time.Since(start)
	_, err = f.publisher.Flush(ctx)
	return took, err
}
