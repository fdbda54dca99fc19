package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/embedded"
	"preismon/ingest"
	"preismon/ingest/seqlock"
)

// broker is a connection to NATS.
type broker struct {
	conn *nats.Conn
	js   jetstream.JetStream
}

// connect connects to NATS.
func (w *world) connect(natsURL string) (*broker, error) {
	conn, err := ingest.Connect(ingest.Config{URL: natsURL, Name: "preismon bench", Logger: w.cfg.Logger})
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &broker{conn, js}, nil
}

// readers returns the readers that are notified of the checkpoints that one
// writes here.
func (b *broker) readers(log *slog.Logger) (*seqlock.Writer, error) {
	return seqlock.NewWriter(seqlock.Config{Partitions: 1}, b.js, 0, log)
}

// announce notifies readers before and after checkpoints are written, whose
// observations arrived.
func announce(ctx context.Context, readers *seqlock.Writer, written event.Marks, arrived *event.Arrivals, write func(context.Context) error) error {
	if err := readers.Begin(ctx); err != nil {
		return err
	}
	defer readers.End(written, arrived)
	return write(ctx)
}

// withBroker connects to a NATS server that lives for one measurement, and has
// the program's streams.
func (r *run) withBroker(ctx context.Context, do func(context.Context, *broker)) {
	n, err := embedded.StartNATS(ctx, embedded.NATSConfig{Dir: r.folder, Logger: r.Logger})
	if r.failed(err) {
		return
	}
	defer n.Stop(context.WithoutCancel(ctx)) //nolint:errcheck // nothing of it is needed
	b, err := r.world.connect(n.URL())
	if r.failed(err) {
		return
	}
	defer b.conn.Close()
	if !r.failed(ingest.EnsureStreams(ctx, b.js, ingest.StreamConfig{})) {
		do(ctx, b)
	}
}

// empty recreates the stream of observations.
func (b *broker) empty(ctx context.Context) error {
	if err := b.js.DeleteStream(ctx, event.StreamObservations); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	return ingest.EnsureStreams(ctx, b.js, ingest.StreamConfig{})
}

// letter is an event in its published form.
type letter struct {
	subject, id string
	data        []byte
}

func encode(events []*event.Event) ([]letter, error) {
	all := make([]letter, len(events))
	for i, e := range events {
		b, err := event.Encode(e)
		if err != nil {
			return nil, err
		}
		all[i] = letter{e.Subject(), e.ID, b}
	}
	return all, nil
}

// bare publishes ready-made bytes asynchronously and waits for all
// acknowledgements: what a producer without our rules would do.
func (b *broker) bare(ctx context.Context, letters []letter) error {
	js, err := jetstream.New(b.conn, jetstream.WithPublishAsyncMaxPending(800)) // events of 40 kB: as many bytes under way as ours
	if err != nil {
		return err
	}
	futures := make([]jetstream.PubAckFuture, len(letters))
	for i, l := range letters {
		if futures[i], err = js.PublishAsync(l.subject, l.data, jetstream.WithMsgID(l.id), jetstream.WithStallWait(time.Minute)); err != nil {
			return err
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for _, f := range futures {
		select {
		case err := <-f.Err():
			return err
		default:
		}
	}
	return nil
}

// measurePublish publishes events, ours and as bare bytes.
func (r *run) measurePublish(ctx context.Context) { r.withBroker(ctx, r.publish) }

func (r *run) publish(ctx context.Context, b *broker) {
	const captures = 100
	p := r.data.producer(r.Seed, r.data.to)
	events := make([]*event.Event, r.size.publishBatch)
	for i := range events {
		events[i] = p.event(captures)
	}
	letters, err := encode(events)
	r.failed(err)
	var bytes int64
	for _, l := range letters {
		bytes += int64(len(l.data))
	}
	defer r.profileSelf("publish")()
	timed := func(do func(ctx context.Context) error) task {
		return func(ctx context.Context) done {
			r.failed(b.empty(ctx))
			began := time.Now()
			r.failed(do(ctx))
			return done{rows: int64(len(events)) * captures, bytes: bytes, took: time.Since(began)}
		}
	}
	t := r.table("Publishing, 100 captures an event", "Rows are captures. Ours validates and encodes each event; the server runs in this process.")
	series := r.compare(ctx, t, 1, r.size.streamRounds,
		contestant{"preismon publisher", timed(func(ctx context.Context) error {
			p, err := ingest.NewPublisher(b.conn, ingest.PublisherConfig{}, r.Logger)
			if err != nil {
				return err
			}
			defer p.Close()
			for _, e := range events {
				if err := p.Publish(ctx, e); err != nil {
					return err
				}
			}
			_, err = p.Flush(ctx)
			return err
		})},
		contestant{"bare PublishAsync of ready-made bytes", timed(func(ctx context.Context) error { return b.bare(ctx, letters) })},
	)
	r.put("publish_vs_bare_publish", "publishing: speed against bare PublishAsync of ready-made bytes", "×", faster(series[0], series[1]), 0, false, "")
}
