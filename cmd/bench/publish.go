package main

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/ingest"
	"preismon/ingest/seqlock"
	"preismon/projector"
)

// broker is a connection to NATS with the program's streams.
type broker struct {
	conn *nats.Conn
	js   jetstream.JetStream
}

func (r *run) broker(ctx context.Context, natsURL string) (*broker, error) {
	conn, err := ingest.Connect(ingest.Config{URL: natsURL, Name: "preismon bench", Logger: r.Logger})
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	if err == nil {
		err = ingest.EnsureStreams(ctx, js, ingest.StreamConfig{})
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &broker{conn, js}, nil
}

// readers returns the readers that are notified of the checkpoints a projector
// writes here.
func (r *run) readers(b *broker) (projector.Readers, error) {
	return seqlock.NewWriter(seqlock.Config{Partitions: 1}, b.js, 0, r.Logger)
}

// scratchBroker returns a NATS server that lives for one measurement.
func (r *run) scratchBroker(ctx context.Context) (_ *broker, stop func(), err error) {
	natsURL, stopServer, err := r.world.scratchNATS(ctx)
	if err != nil {
		return nil, nil, err
	}
	b, err := r.broker(ctx, natsURL)
	if err != nil {
		stopServer()
		return nil, nil, err
	}
	return b, func() {
		b.conn.Close()
		stopServer()
	}, nil
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
	failed := make(chan error, len(letters))
	for _, l := range letters {
		f, err := js.PublishAsync(l.subject, l.data, jetstream.WithMsgID(l.id), jetstream.WithStallWait(time.Minute))
		if err != nil {
			return err
		}
		select {
		case err := <-f.Err():
			failed <- err
		default:
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func (r *run) measurePublish(ctx context.Context) error {
	b, stop, err := r.scratchBroker(ctx)
	if err != nil {
		return err
	}
	defer stop()
	const captures = 100
	p := r.data.producer(r.Seed, r.data.to)
	events := make([]*event.Event, r.size.publishBatch)
	for i := range events {
		events[i] = p.event(captures)
	}
	letters, err := encode(events)
	if err != nil {
		return err
	}
	var bytes int64
	for _, l := range letters {
		bytes += int64(len(l.data))
	}
	stopProfile, err := r.profileSelf("publish")
	if err != nil {
		return err
	}
	defer stopProfile()
	timed := func(do func(ctx context.Context) error) func(ctx context.Context) (done, error) {
		return func(ctx context.Context) (done, error) {
			if err := b.empty(ctx); err != nil {
				return done{}, err
			}
			began := time.Now()
			err := do(ctx)
			return done{rows: int64(len(events)) * captures, bytes: bytes, took: time.Since(began)}, err
		}
	}
	series, err := r.interleave(ctx, 1, r.size.streamRounds,
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
	if err != nil {
		return err
	}
	r.result.Tables = append(r.result.Tables, Table{
		Title: "Publishing, 100 captures an event", Series: series, Note: "Rows are captures. Ours validates and encodes each event; the server runs in this process.",
	})
	r.result.put("publish_vs_bare_publish", "publishing: speed against bare PublishAsync of ready-made bytes", "×", faster(series[0], series[1]), 0, false, "")
	return nil
}
