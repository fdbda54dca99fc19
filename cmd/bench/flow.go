package main

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"preismon/contracts/event"
	"preismon/ingest"
	"preismon/projector"
)

// flow is a publisher with a projector behind it, on the full tables.
type flow struct {
	*broker
	publisher *ingest.Publisher
	proj      *projector.Projector
	first     uint64 // sequence of the last event before this flow
}

// withFlow starts a flow, which has caught up. Its projector has a lease as taken
// by `preismon up`: its fence must not block the next leader.
func (r *run) withFlow(ctx context.Context, do func(context.Context, *flow)) {
	b, err := r.world.connect(r.world.natsURL)
	if r.failed(err) {
		return
	}
	defer b.conn.Close()
	pool := r.pool(r.world.database)
	defer pool.Close() //nolint:errcheck // nothing is under way
	r.failed(ingest.EnsureStreams(ctx, b.js, ingest.StreamConfig{}))
	lease, err := ingest.NewLease(ingest.LeaseConfig{Key: ingest.ProjectorLease(0, 1), Alone: true}, b.js, r.Logger)
	if r.failed(err) {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = lease.RunAsLeader(ctx, func(ctx context.Context, fence uint64) error {
		defer cancel() // it leads once
		var consumer *ingest.Consumer
		f := &flow{broker: b}
		if f.proj, consumer, r.err = r.projector(b, pool, fence); r.err != nil {
			return r.err
		}
		r.err = consuming(ctx, consumer, func() (err error) {
			if f.first, err = ingest.End(ctx, b.js, event.StreamObservations); err != nil {
				return err
			}
			if err := consumer.CaughtUp(ctx, event.StreamObservations, f.first); err != nil {
				return err
			}
			if f.publisher, err = ingest.NewPublisher(b.conn, ingest.PublisherConfig{}, r.Logger); err != nil {
				return err
			}
			defer f.publisher.Close()
			do(ctx, f)
			return r.err
		})
		return r.err
	})
	r.failed(err)
}

// projector returns a projector, and the consumer that feeds it.
func (r *run) projector(b *broker, conn projector.Conn, fence uint64) (*projector.Projector, *ingest.Consumer, error) {
	cfg := projector.DefaultConfig()
	cfg.Fence, cfg.Logger = fence, r.Logger
	var err error
	if cfg.Readers, err = b.readers(r.Logger); err != nil {
		return nil, nil, err
	}
	proj, err := projector.New(cfg, conn)
	if err != nil {
		return nil, nil, err
	}
	consumer, err := ingest.NewConsumer(ingest.ConsumerConfig{}, b.js, proj, r.Logger)
	return proj, consumer, err
}

// consuming runs a consumer while something is done.
func consuming(ctx context.Context, consumer *ingest.Consumer, do func() error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var group errgroup.Group
	group.Go(func() error { return consumer.Run(ctx) })
	err := do()
	stop()
	return errors.Join(err, group.Wait())
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
