package ingest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	lines "preismon/deploy/testserver/proxy"
	"preismon/ingest"
)

func TestPublisherCountsWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	p := newPublisher(t, nc, ingest.PublisherConfig{MaxInFlight: 8})
	for range 2 {
		for i := range 100 {
			must.Do(t, p.Publish(t.Context(), observations(i, 2)))
		}
		if s := p.Stats(); s.InFlight > 8 {
			t.Errorf("%d in flight", s.InFlight)
		}
	}
	stats, err := p.Flush(t.Context())
	if want := (ingest.Stats{Accepted: 100, Duplicates: 100}); err != nil || stats != want {
		t.Errorf("%+v, %v", stats, err)
	}
	if end, _ := ingest.End(t.Context(), js, event.StreamObservations); end != 100 {
		t.Errorf("the stream has %d", end)
	}
	if err := p.Publish(t.Context(), &event.Event{ID: "x", Kind: event.KindItem, Data: &contracts.Item{}}); err == nil {
		t.Error("an invalid event was taken")
	}
	p.Close()
	if err := p.Publish(t.Context(), observations(1, 1)); err == nil {
		t.Error("published after Close")
	}
}

func TestPublisherKeepsTheOrderOfARecord(t *testing.T) {
	t.Parallel()
	n := startServer(t)
	nc, js := streams(t, dial(t, n.url()))
	p := newPublisher(t, nc, ingest.PublisherConfig{AckTimeout: time.Second})
	var outage sync.WaitGroup
	outage.Go(func() {
		time.Sleep(100 * time.Millisecond)
		n.stop()
		n.start()
	})
	deadline := time.Now().Add(time.Second)
	version := 0
	for time.Now().Before(deadline) {
		version++
		must.Do(t, p.Publish(t.Context(), item(1, version)))
	}
	must.Get(p.Flush(t.Context()))(t)
	outage.Wait()
	s := must.Get(js.Stream(t.Context(), event.StreamCatalog))(t)
	m := must.Get(s.GetLastMsgForSubject(t.Context(), "catalog.item.1"))(t)
	if got, want := m.Header.Get(jetstream.MsgIDHeader), item(1, version).ID; got != want {
		t.Errorf("last is %s, want %s", got, want)
	}
}

// TestPublishAfter: a record is published unless another state of it came after
// what was read; states of other records do not matter.
func TestPublishAfter(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	p := newPublisher(t, nc, ingest.PublisherConfig{})
	after := func(read uint64, e *event.Event) error { return p.PublishAfter(t.Context(), read, e) }
	must.Do(t, after(0, item(1, 1)))
	if err := after(0, item(1, 2)); !errors.Is(err, ingest.ErrOvertaken) {
		t.Errorf("a new record that is there: %v", err)
	}
	must.Do(t, after(0, item(2, 1)))
	must.Do(t, after(2, item(1, 2)))
	if err := after(2, item(1, 3)); !errors.Is(err, ingest.ErrOvertaken) {
		t.Errorf("the state before: %v", err)
	}
	must.Do(t, after(3, item(1, 3)))
	if end, err := ingest.End(t.Context(), js, event.StreamCatalog); err != nil || end != 4 {
		t.Errorf("the stream has %d: %v", end, err)
	}
	if _, err := p.Flush(t.Context()); err != nil {
		t.Errorf("what was overtaken was refused: %v", err)
	}
}

// TestPublishAfterLostAcknowledgement: a record whose acknowledgement was lost is
// published, although the second try finds another state: its own.
func TestPublishAfterLostAcknowledgement(t *testing.T) {
	t.Parallel()
	server := testserver.NATS(t)
	_, js := streams(t, dial(t, server))
	line, through := lines.Before(t, server)
	p := newPublisher(t, dial(t, through), ingest.PublisherConfig{AckTimeout: 300 * time.Millisecond})
	line.Set(lines.Up, lines.Rule{Pattern: []byte(jetstream.ExpectedLastSubjSeqHeader), Left: -1, Answer: &lines.Rule{Then: lines.Hold}})
	var outage sync.WaitGroup
	outage.Go(func() {
		must.Eventually(t, time.Minute, "it tries again", func() bool { return p.Stats().Retries > 0 })
		line.Heal()
	})
	must.Do(t, p.PublishAfter(t.Context(), 0, item(1, 1)))
	outage.Wait()
	if end, err := ingest.End(t.Context(), js, event.StreamCatalog); err != nil || end != 1 {
		t.Errorf("the stream has %d: %v", end, err)
	}
}

func TestPublisherReportsPermanentFailure(t *testing.T) {
	t.Parallel()
	t.Run("no stream", func(t *testing.T) {
		n := startServer(t)
		p := newPublisher(t, dial(t, n.url()), ingest.PublisherConfig{NoStreamWait: 300 * time.Millisecond})
		must.Do(t, p.Publish(t.Context(), item(1, 1)))
		stats, err := p.Flush(t.Context())
		if err == nil || !strings.Contains(err.Error(), "CATALOG") || stats.Accepted != 0 {
			t.Errorf("%+v, %v", stats, err)
		}
		if err := p.Publish(t.Context(), item(1, 1)); err == nil {
			t.Error("published on")
		}
	})
	t.Run("a stream that comes late is waited for", func(t *testing.T) {
		n := startServer(t)
		nc := dial(t, n.url())
		p := newPublisher(t, nc, ingest.PublisherConfig{})
		must.Do(t, p.Publish(t.Context(), item(1, 1)))
		must.Eventually(t, time.Minute, "a retry", func() bool { return p.Stats().Retries > 0 })
		streams(t, nc)
		if stats, err := p.Flush(t.Context()); err != nil || stats.Accepted != 1 {
			t.Errorf("%+v, %v", stats, err)
		}
	})
	t.Run("larger than the stream takes: that event only", func(t *testing.T) {
		nc, js := connect(t)
		s, _ := js.Stream(t.Context(), event.StreamObservations)
		config := s.CachedInfo().Config
		config.MaxMsgSize = 2000
		must.Get(js.UpdateStream(t.Context(), config))(t)
		p := newPublisher(t, nc, ingest.PublisherConfig{})
		for i, size := range []int{1, 100, 1} {
			must.Do(t, p.Publish(t.Context(), observations(i, size)))
		}
		stats, err := p.Flush(t.Context())
		if err == nil || !strings.Contains(err.Error(), eventID(1, 1)) || stats.Accepted != 2 || stats.Failed != 1 {
			t.Errorf("%+v, %v", stats, err)
		}
	})
	t.Run("subject of another stream", func(t *testing.T) {
		n := startServer(t)
		nc := dial(t, n.url())
		js, _ := jetstream.New(nc)
		must.Get(js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"catalog.>"}}))(t)
		p := newPublisher(t, nc, ingest.PublisherConfig{})
		must.Do(t, p.Publish(t.Context(), item(1, 1)))
		if _, err := p.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "another stream") {
			t.Errorf("%v", err)
		}
	})
	t.Run("permission", func(t *testing.T) {
		s := must.Get(server.NewServer(&server.Options{
			Host: "127.0.0.1", Port: -1, StoreDir: t.TempDir(), JetStream: true, NoSigs: true, NoLog: true,
			Users: []*server.User{
				{Username: "admin", Password: "admin"},
				{Username: "crawler", Password: "pw", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"catalog.>"}}}},
			},
		}))(t)
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		s.ReadyForConnections(5 * time.Second)
		streams(t, dial(t, "nats://admin:admin@"+s.Addr().String()))
		p := newPublisher(t, dial(t, "nats://crawler:pw@"+s.Addr().String()), ingest.PublisherConfig{AckTimeout: 200 * time.Millisecond})
		must.Do(t, p.Publish(t.Context(), item(1, 1)))
		if _, err := p.Flush(t.Context()); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%v", err)
		}
	})
}

func TestPublisherFullStreamIsWaitedForUntilTheCallerLeaves(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	s, _ := js.Stream(t.Context(), event.StreamObservations)
	config := s.CachedInfo().Config
	config.MaxMsgs = 1
	must.Get(js.UpdateStream(t.Context(), config))(t)
	p := newPublisher(t, nc, ingest.PublisherConfig{MaxInFlight: 2, MaxBackoff: 100 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	for i := range 3 {
		must.Do(t, p.Publish(ctx, observations(i, 1)))
	}
	must.Eventually(t, time.Minute, "retries", func() bool { return p.Stats().Retries > 3 })
	cancel()
	if err := p.Publish(ctx, observations(3, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("publish into a full window: %v", err)
	}
	if stats, err := p.Flush(ctx); !errors.Is(err, context.Canceled) || stats.Accepted != 1 || stats.InFlight != 2 {
		t.Errorf("%+v, %v", stats, err)
	}
	if err := newPublisher(t, nc, ingest.PublisherConfig{}).Publish(ctx, observations(4, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("publish into an empty window: %v", err)
	}
	// There is room again, and nothing was forgotten.
	config.MaxMsgs = -1
	must.Get(js.UpdateStream(t.Context(), config))(t)
	if stats, err := p.Flush(t.Context()); err != nil || stats.Accepted != 3 {
		t.Errorf("%+v, %v", stats, err)
	}
}
