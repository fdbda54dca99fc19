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

// busOf returns a connection to a NATS server of the test, with its streams.
func busOf(t *testing.T) *bus {
	t.Helper()
	b := must.Get(connect(ingest.Config{URL: testserver.NATS(t), Name: t.Name()}))(t)
	t.Cleanup(b.conn.Close)
	must.Do(t, ingest.EnsureStreams(t.Context(), b.js, ingest.StreamConfig{}))
	return b
}

// projecting runs a projector that leads, until the test ends.
func projecting(t *testing.T, b *bus, tables clickhouse.Config, lease ingest.LeaseConfig, linger time.Duration) (*projection, context.Context) {
	t.Helper()
	p := must.Get(newProjection(tables, b, lease, 0, slog.New(slog.DiscardHandler)))(t)
	p.pairs, p.batches = pairFlags{Order: 1000, Mandate: 1000}, batchFlags{Linger: linger}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx) }()
	t.Cleanup(func() {
		stop()
		must.Do(t, <-ended)
		must.Do(t, p.close())
	})
	must.Eventually(t, 20*time.Second, "it leads", func() bool { return p.led.Load() != nil })
	return p, ctx
}

func siteEvent(site contracts.SiteKey) *event.Event {
	return &event.Event{ID: uuid.NewString(), Kind: event.KindSite, Producer: "test", ProducedAt: time.Now().UTC(), Data: &contracts.Site{
		Site: site, Name: "A", SiteType: contracts.Shop, CountryCode: "DE", CurrencyCode: "EUR",
	}}
}

// TestCaughtUpOutlastsTerm: who waits until the tables have everything waits on
// when another process takes the lease, and until the term after that has caught
// up.
func TestCaughtUpOutlastsTerm(t *testing.T) {
	t.Parallel()
	b := busOf(t)
	between, through := proxy.Before(t, migrated.ClickHouse(t).ProjectorDSN)
	lease := ingest.LeaseConfig{Key: ingest.ProjectorLease(0, 1), TTL: time.Second}
	p, ctx := projecting(t, b, must.Get(clickhouse.ParseDSN(through))(t), lease, 0)

	between.Refuse() // what is published now cannot be applied
	b.send(t, siteEvent("a.example"))
	caught := make(chan error, 1)
	go func() { caught <- p.caughtUp(ctx) }()
	lease.Force = true
	other := must.Get(ingest.NewLease(lease, b.js, slog.New(slog.DiscardHandler)))(t)
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
	b := busOf(t)
	tables := must.Get(clickhouse.ParseDSN(migrated.ClickHouse(t).ProjectorDSN))(t)
	p, ctx := projecting(t, b, tables, ingest.LeaseConfig{Key: ingest.ProjectorLease(0, 1), Alone: true}, 5*time.Second)
	const sites = 10 // far apart: as many batches by default
	for n := range sites {
		b.send(t, siteEvent(contracts.SiteKey(fmt.Sprintf("%c.example", 'a'+n))))
		time.Sleep(200 * time.Millisecond)
	}
	must.Do(t, p.caughtUp(ctx))
	if got := p.led.Load().consumer.Progress(); got.Events != sites || got.Batches > 3 {
		t.Errorf("%d events were %d batches", got.Events, got.Batches)
	}
}
