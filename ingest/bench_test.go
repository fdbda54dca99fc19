package ingest_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/ingest"
)

// quiet is connect without log output.
func quiet(b *testing.B) (*nats.Conn, jetstream.JetStream) {
	b.Helper()
	nc, err := ingest.Connect(ingest.Config{URL: startServer(b).url()})
	must(b, err)
	b.Cleanup(nc.Close)
	return streams(b, nc)
}

// BenchmarkPublish publishes events, which are validated and encoded. One op is
// one message.
func BenchmarkPublish(b *testing.B) {
	for _, size := range []int{1, 100} {
		e := observations(1, size)
		encoded, err := event.Encode(e)
		must(b, err)
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			nc, _ := quiet(b)
			p, err := ingest.NewPublisher(nc, ingest.PublisherConfig{}, slog.New(slog.DiscardHandler))
			must(b, err)
			b.SetBytes(int64(len(encoded)))
			for b.Loop() {
				e.ID = uuid.NewString()
				must(b, p.Publish(b.Context(), e))
			}
			_, err = p.Flush(b.Context())
			must(b, err)
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "observations/s")
			p.Close()
		})
	}
}

// nothing is a Sink that does nothing.
type nothing struct{}

func (nothing) Resume(context.Context, string, event.Incarnation) (uint64, error) { return 0, nil }
func (nothing) Taken(context.Context, string, uint32, uint64, uint64) (map[uint64]string, error) {
	return nil, nil
}
func (nothing) ApplyCatalog(context.Context, *event.Batch) error { return nil }
func (nothing) BeginObservations(context.Context, *event.Batch) func() error {
	return func() error { return nil }
}

// BenchmarkConsume drains a backlog into a sink that does nothing. One op is
// the whole backlog.
func BenchmarkConsume(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			nc, js := quiet(b)
			messages := 200_000 / size
			p, err := ingest.NewPublisher(nc, ingest.PublisherConfig{}, slog.New(slog.DiscardHandler))
			must(b, err)
			for i := range messages {
				must(b, p.Publish(b.Context(), observations(i, size)))
			}
			_, err = p.Flush(b.Context())
			must(b, err)
			p.Close()
			for b.Loop() {
				c, err := ingest.NewConsumer(ingest.ConsumerConfig{}, js, nothing{}, slog.New(slog.DiscardHandler))
				must(b, err)
				ctx, cancel := context.WithCancel(b.Context())
				over := make(chan error)
				go func() { over <- c.Run(ctx) }()
				must(b, c.CaughtUp(ctx, event.StreamObservations, uint64(messages)))
				cancel()
				<-over
			}
			b.ReportMetric(float64(b.N*messages)/b.Elapsed().Seconds(), "messages/s")
			b.ReportMetric(float64(b.N*messages*size)/b.Elapsed().Seconds(), "observations/s")
		})
	}
}

// BenchmarkLines reads a file of events. One op is 200 lines of 100
// observations.
func BenchmarkLines(b *testing.B) {
	var all []*event.Event
	for i := range 200 {
		all = append(all, observations(i, 100))
	}
	text := ndjson(b, all...)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for l, err := range ingest.Lines(bytes.NewReader(text)) {
			if err != nil || l.Err != nil {
				b.Fatal(err, l.Err)
			}
		}
	}
}
