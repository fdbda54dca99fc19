package ingest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

func TestConsumerAppliesTheCatalogueFirstThenEverythingInOrder(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	var want, wantItems []string
	for i := range 200 {
		publish(t, nc, observations(i, 3))
		want = append(want, eventID(1, i))
	}
	for i := range 50 {
		publish(t, nc, item(i+1, 1))
		wantItems = append(wantItems, eventID(2, (i+1)*1000+1))
	}
	sink := newRecorder()
	c := run(t, js, ingest.ConsumerConfig{MaxMessages: 30, Linger: time.Millisecond}, sink)
	c.reach(t, js)
	c.stop()
	if d := cmp.Diff(want, sink.ids(event.StreamObservations)); d != "" {
		t.Error("observations (-want +got):\n" + d)
	}
	if d := cmp.Diff(wantItems, sink.ids(event.StreamCatalog)); d != "" {
		t.Error("catalogue (-want +got):\n" + d)
	}
	for i, s := range sink.seen {
		if (s.stream == event.StreamCatalog) != (i < 50) {
			t.Fatalf("event %d of the run is from %s", i, s.stream)
		}
	}
	for _, b := range sink.batches {
		if len(b.Messages) > 30 {
			t.Errorf("batch of %d messages", len(b.Messages))
		}
	}
	p := c.Progress()
	if p.Events != 250 || p.Rows != 600 || p.Poison != 0 || p.Retries != 0 || p.Restarts != 0 || p.Observations.Lag != 0 || p.Observations.Applied != 200 {
		t.Errorf("%+v", p)
	}
	if sink.overlap {
		t.Error("calls of the sink overlapped")
	}
	info := must.Get(js.Consumer(t.Context(), event.StreamObservations, "projector-0"))(t)
	if f := info.CachedInfo().AckFloor.Stream; f != 200 {
		t.Errorf("acknowledged up to %d", f)
	}
}

func TestConsumerPutsPoisonIntoTheDeadLetters(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	send := func(subject, body string) {
		must.Get(js.Publish(t.Context(), subject, []byte(body)))(t)
	}
	good := func(e *event.Event) string {
		b := must.Get(event.Encode(e))(t)
		return string(b)
	}
	publish(t, nc, observations(0, 1))
	send("observations.shop", "no json\nat all")
	send("observations.shop", strings.Replace(good(observations(9, 1)), `"version":1`, `"version":2`, 1))
	publish(t, nc, observations(1, 1))
	send("observations.shop", good(item(1, 1)))
	send("observations.elsewhere", good(observations(8, 1)))
	send("catalog.item.1", good(observations(7, 1)))
	send("catalog.item.2", good(item(3, 1)))
	publish(t, nc, observations(2, 1), item(4, 1))

	sink := newRecorder()
	var early string
	sink.before = func(ctx context.Context, b *event.Batch) error {
		// What is missing from the batch is already in the dead letters.
		s, err := js.Stream(ctx, event.StreamDeadLetters)
		if err != nil {
			return err
		}
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(event.DeadLetterSubject(b.Stream)))
		if err != nil {
			return err
		}
		if missing := b.Last - b.First + 1 - uint64(len(b.Messages)); info.State.Subjects[event.DeadLetterSubject(b.Stream)] < missing {
			early = b.Stream
		}
		return nil
	}
	c := run(t, js, ingest.ConsumerConfig{}, sink)
	c.reach(t, js)
	if early != "" {
		t.Errorf("a batch of %s came before its dead letters", early)
	}
	equals.Check(t, []string{eventID(1, 0), eventID(1, 1), eventID(1, 2)}, sink.ids(event.StreamObservations))
	equals.Check(t, []string{eventID(2, 4001)}, sink.ids(event.StreamCatalog))
	if p := c.Progress(); p.Poison != 6 {
		t.Errorf("%+v", p)
	}

	type letter struct{ Stream, Seq, Subject, Reason, Body string }
	want := map[string]letter{
		"OBSERVATIONS 2": {Subject: "observations.shop", Reason: "not", Body: "no json\nat all"},
		"OBSERVATIONS 3": {Subject: "observations.shop", Reason: "version: 2 is unknown"},
		"OBSERVATIONS 5": {Subject: "observations.shop", Reason: "kind: item does not belong into OBSERVATIONS"},
		"OBSERVATIONS 6": {Subject: "observations.elsewhere", Reason: "subject: observations.elsewhere"},
		"CATALOG 1":      {Subject: "catalog.item.1", Reason: "kind: observations does not belong into CATALOG"},
		"CATALOG 2":      {Subject: "catalog.item.2", Reason: "subject: catalog.item.2, but the event belongs to catalog.item.3"},
	}
	s := must.Get(js.Stream(t.Context(), event.StreamDeadLetters))(t)
	equals.Is(t, uint64(len(want)), s.CachedInfo().State.Msgs, "dead letters")
	for seq := range uint64(len(want)) {
		m := must.Get(s.GetMsg(t.Context(), seq+1))(t)
		key := m.Header.Get(event.HeaderStream) + " " + m.Header.Get(event.HeaderSeq)
		w, ok := want[key]
		if !ok || m.Header.Get(event.HeaderSubject) != w.Subject || !strings.Contains(m.Header.Get(event.HeaderReason), w.Reason) || m.Header.Get(event.HeaderEpoch) == "" {
			t.Errorf("%s: %v", key, m.Header)
		}
		if w.Body != "" && string(m.Data) != w.Body {
			t.Errorf("%s: body %q", key, m.Data)
		}
	}

	// A second reader of the same messages writes no letter twice.
	c.stop()
	again := run(t, js, ingest.ConsumerConfig{}, newRecorder())
	again.reach(t, js)
	if info, err := s.Info(t.Context()); err != nil || info.State.Msgs != uint64(len(want)) {
		t.Errorf("%d dead letters after a second run, %v", info.State.Msgs, err)
	}
}

func TestConsumerRetriesTheSinkWithTheSameBatch(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	for i := range 30 {
		publish(t, nc, observations(i, 1))
	}
	sink := newRecorder()
	var first, again []string
	fails := 0
	sink.before = func(_ context.Context, b *event.Batch) error {
		ids := make([]string, len(b.Messages))
		for i, m := range b.Messages {
			ids[i] = m.Event.ID
		}
		if fails++; fails == 1 {
			first = ids
		} else if fails <= 4 {
			again = ids
		}
		if fails <= 3 {
			return errors.New("the database is away")
		}
		return nil
	}
	c := run(t, js, ingest.ConsumerConfig{MaxMessages: 10}, sink)
	c.reach(t, js)
	if d := cmp.Diff(first, again); d != "" || len(first) == 0 {
		t.Errorf("another batch the second time: %s", d)
	}
	if p := c.Progress(); p.Retries != 3 {
		t.Errorf("%+v", p)
	}
	if ids := sink.ids(event.StreamObservations); len(ids) != 30 || distinct(ids) != 30 {
		t.Errorf("%d events", len(ids))
	}
}

// While the sink is stuck, the server stops waiting for acknowledgements and
// delivers again; no message may reach the sink twice.
func TestConsumerDropsRedeliveries(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	for i := range 300 {
		publish(t, nc, observations(i, 1))
	}
	sink := newRecorder()
	release := make(chan struct{})
	sink.before = func(context.Context, *event.Batch) error {
		<-release
		return nil
	}
	c := run(t, js, ingest.ConsumerConfig{MaxMessages: 5, AckWait: time.Second}, sink)
	must.Eventually(t, time.Minute, "the sink to be called", func() bool { sink.mu.Lock(); defer sink.mu.Unlock(); return sink.inside == 1 })
	time.Sleep(2500 * time.Millisecond) // the server's clock; there is no other
	close(release)
	c.reach(t, js)
	must.Eventually(t, time.Minute, "redeliveries dropped", func() bool { return c.Progress().Redelivered > 0 })
	if ids := sink.ids(event.StreamObservations); len(ids) != 300 || distinct(ids) != 300 {
		t.Errorf("%d events, %d distinct", len(ids), distinct(ids))
	}
	t.Logf("%+v", c.Progress())
}

func TestConsumerOutlivesTheServer(t *testing.T) {
	t.Parallel()
	n := startServer(t)
	nc, js := streams(t, dial(t, n.url()))
	sink := newRecorder()
	sink.before = func(ctx context.Context, _ *event.Batch) error { time.Sleep(time.Millisecond); return nil }
	c := run(t, js, ingest.ConsumerConfig{MaxMessages: 20, Linger: time.Millisecond}, sink)

	p := newPublisher(t, nc, ingest.PublisherConfig{AckTimeout: time.Second, MaxInFlight: 4})
	const total = 3_000
	published := make(chan error, 1)
	go func() {
		for i := range total {
			if err := p.Publish(t.Context(), observations(i, 2)); err != nil {
				published <- err
				return
			}
		}
		_, err := p.Flush(t.Context())
		published <- err
	}()
	for range 3 {
		before := c.Progress().Observations.Applied
		must.Eventually(t, time.Minute, "some progress", func() bool { return c.Progress().Observations.Applied >= min(before+50, total) })
		n.stop()
		n.start()
	}
	must.Do(t, <-published)
	stats := p.Stats()
	if stats.Accepted+stats.Duplicates != total {
		t.Errorf("published %+v", stats)
	}
	must.Eventually(t, time.Minute, "connection", nc.IsConnected)
	c.reach(t, js)
	ids := sink.ids(event.StreamObservations)
	if len(ids) != total || distinct(ids) != total {
		t.Errorf("%d events, %d distinct, want %d", len(ids), distinct(ids), total)
	}
	t.Logf("publisher %+v, consumer %+v", stats, c.Progress())
}
