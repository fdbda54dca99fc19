package main

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/migrated"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
	"preismon/ingest"
	"preismon/projector/clickhouse"
)

// TestCaughtUpOutlastsTerm: who waits until the tables have everything waits on
// when another process takes the lease, and until the term after that has caught
// up.
func TestCaughtUpOutlastsTerm(t *testing.T) {
	t.Parallel()
	nats, s := testserver.NATS(t), migrated.ClickHouse(t)
	b := must.Get(connect(ingest.Config{URL: nats, Name: t.Name()}))(t)
	t.Cleanup(b.conn.Close)
	must.Do(t, ingest.EnsureStreams(t.Context(), b.js, ingest.StreamConfig{}))
	between, through := proxy.Before(t, s.ProjectorDSN)
	tables := must.Get(clickhouse.ParseDSN(through))(t)
	lease, log := ingest.LeaseConfig{Key: ingest.ProjectorLease(0, 1), TTL: time.Second}, slog.New(slog.DiscardHandler)
	p := must.Get(newProjection(tables, b, lease, 0, log))(t)
	p.pairs = pairFlags{Order: 1000, Mandate: 1000}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx) }()
	t.Cleanup(func() {
		stop()
		must.Do(t, <-ended)
		must.Do(t, p.close())
	})
	must.Eventually(t, 20*time.Second, "it leads", func() bool { return p.led.Load() != nil })

	between.Refuse() // what is published now cannot be applied
	b.send(t, &event.Event{ID: uuid.NewString(), Kind: event.KindSite, Producer: "test", ProducedAt: time.Now().UTC(), Data: &contracts.Site{
		Site: "a.example", Name: "A", SiteType: contracts.Shop, CountryCode: "DE", CurrencyCode: "EUR",
	}})
	caught := make(chan error, 1)
	go func() { caught <- p.caughtUp(ctx) }()
	lease.Force = true
	other := must.Get(ingest.NewLease(lease, b.js, log))(t)
	term, giveBack := context.WithCancel(ctx)
	defer giveBack()
	go func() {
		_ = other.RunAsLeader(term, func(ctx context.Context, _ uint64) error {
			<-ctx.Done()
			return nil
		})
	}()
	must.Eventually(t, 20*time.Second, "its term ends", func() bool { return p.led.Load() == nil })
	select {
	case err := <-caught:
		t.Fatalf("it has caught up without tables: %v", err)
	default:
	}
	between.Mend()
	giveBack()
	select {
	case err := <-caught:
		must.Do(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("it still waits for the term that ended")
	}
}

// TestLinger: events that arrive within the time that the first of them may wait
// are one batch.
func TestLinger(t *testing.T) {
	t.Parallel()
	nats, s := testserver.NATS(t), migrated.ClickHouse(t)
	b := must.Get(connect(ingest.Config{URL: nats, Name: t.Name()}))(t)
	t.Cleanup(b.conn.Close)
	must.Do(t, ingest.EnsureStreams(t.Context(), b.js, ingest.StreamConfig{}))
	tables := must.Get(clickhouse.ParseDSN(s.ProjectorDSN))(t)
	p := must.Get(newProjection(tables, b, ingest.LeaseConfig{Key: ingest.ProjectorLease(0, 1), Alone: true}, 0, slog.New(slog.DiscardHandler)))(t)
	p.pairs, p.linger = pairFlags{Order: 1000, Mandate: 1000}, 5*time.Second
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx) }()
	t.Cleanup(func() {
		stop()
		must.Do(t, <-ended)
		must.Do(t, p.close())
	})
	must.Eventually(t, 20*time.Second, "it leads", func() bool { return p.led.Load() != nil })
	const sites = 10 // far apart: as many batches by default
	for n := range sites {
		b.send(t, &event.Event{ID: uuid.NewString(), Kind: event.KindSite, Producer: "test", ProducedAt: time.Now().UTC(), Data: &contracts.Site{
			Site: contracts.SiteKey(fmt.Sprintf("%c.example", 'a'+n)), Name: "A", SiteType: contracts.Shop, CountryCode: "DE", CurrencyCode: "EUR",
		}})
		time.Sleep(200 * time.Millisecond)
	}
	must.Do(t, p.caughtUp(ctx))
	if got := p.led.Load().consumer.Progress(); got.Events != sites || got.Batches > 3 {
		t.Errorf("%d events were %d batches", got.Events, got.Batches)
	}
}
