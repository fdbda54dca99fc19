package projector_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

// TestCatalogSequencesReused: a CATALOG that lost its tail and assigned its
// sequences to other records before anyone looked is noticed by the audit and by
// the next leader, which applies those records: I1.
func TestCatalogSequencesReused(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log := slog.New(slog.DiscardHandler)
	nc := must.Get(ingest.Connect(ingest.Config{URL: testserver.NATS(t), Name: t.Name(), Logger: log}))(t)
	t.Cleanup(nc.Close)
	js := must.Get(jetstream.New(nc))(t)
	must.Do(t, ingest.EnsureStreams(ctx, js, ingest.StreamConfig{}))
	publisher := must.Get(ingest.NewPublisher(nc, ingest.PublisherConfig{}, log))(t)
	t.Cleanup(publisher.Close)
	record := func(id int) *event.Event {
		return &event.Event{
			ID: uuid.NewString(), Kind: event.KindItem, Producer: "test", ProducedAt: start,
			Data: &contracts.Item{ItemID: contracts.ItemID(id), Name: "an item"},
		}
	}
	for _, id := range []int{1, 2, 3, 4, 5, 6, 107, 108, 109, 10, 11, 12} {
		must.Do(t, publisher.Publish(ctx, record(id)))
		must.Get(publisher.Flush(ctx))(t) // keeps their order
	}
	history := ingest.NewHistory(js)
	stream := must.Get(history.State(ctx, event.StreamCatalog))(t)

	applied := &event.Batch{Stream: event.StreamCatalog, Epoch: stream.Epoch, First: 1, Last: 9}
	for seq := 1; seq <= 9; seq++ {
		applied.Messages = append(applied.Messages, event.Message{Seq: uint64(seq), Event: record(seq)})
	}
	w.apply(applied)
	if a := found(w.audit(history, false)); !slices.Equal(a, []string{
		"lost CATALOG 1 at 7-7", "lost CATALOG 1 at 8-8", "lost CATALOG 1 at 9-9",
	}) {
		t.Errorf("found %q", a)
	}

	w.restart()
	consumer := must.Get(ingest.NewConsumer(ingest.ConsumerConfig{}, js, w.p, log))(t)
	ended := make(chan error)
	reading, stop := context.WithCancel(ctx)
	go func() { ended <- consumer.Run(reading) }()
	equals.NoError(t, consumer.CaughtUp(ctx, event.StreamCatalog, 12), "%+v", consumer.Progress())
	stop()
	must.Do(t, <-ended)
	if at := consumer.Progress().Catalog; at.Epoch <= stream.Epoch {
		t.Errorf("the epoch stays %d", at.Epoch)
	}
	var items string
	w.scan("SELECT toString(arraySort(groupArray(item))) FROM items FINAL", nil, &items)
	if want := "[1,2,3,4,5,6,7,8,9,10,11,12,107,108,109]"; items != want {
		t.Errorf("items %s, want %s", items, want)
	}
	if a := w.audit(history, false); len(a.Findings) > 0 || a.Records != 12 {
		t.Errorf("%+v", a)
	}
}
