package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/ingest"
)

func TestConsumerAppliesTheCatalogueFirstThenEverythingInOrder(t *testing.T) {
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
	info, err := js.Consumer(t.Context(), event.StreamObservations, "projector-0")
	if err != nil {
		t.Fatal(err)
	}
	if f := info.CachedInfo().AckFloor.Stream; f != 200 {
		t.Errorf("acknowledged up to %d", f)
	}
}

func TestConsumerGoesOnWhereTheSinkIs(t *testing.T) {
	nc, js := connect(t)
	sink := newRecorder()
	want := 0
	for round := range 4 {
		c := run(t, js, ingest.ConsumerConfig{MaxMessages: 7, Linger: time.Millisecond}, sink)
		for range 40 {
			publish(t, nc, observations(want, 1), item(want+1, 1))
			want++
		}
		if round%2 == 0 {
			c.reach(t, js)
		}
		c.stop() // in the odd rounds in the middle of its work
	}
	c := run(t, js, ingest.ConsumerConfig{}, sink)
	c.reach(t, js)
	for _, stream := range []string{event.StreamCatalog, event.StreamObservations} {
		if ids := sink.ids(stream); len(ids) != want || distinct(ids) != want {
			t.Errorf("%s: %d events, %d of them distinct, want %d", stream, len(ids), distinct(ids), want)
		}
	}
}

// The sink's knowledge decides, not the server's: here the sink lost its last
// batches, which the server saw acknowledged.
func TestConsumerStepsBackWhenTheSinkIsBehind(t *testing.T) {
	nc, js := connect(t)
	for i := range 20 {
		publish(t, nc, observations(i, 1))
	}
	sink := newRecorder()
	c := run(t, js, ingest.ConsumerConfig{}, sink)
	c.reach(t, js)
	c.stop()
	sink.mu.Lock()
	for k := range sink.done {
		if strings.HasPrefix(k, event.StreamObservations) {
			sink.done[k] = 5
		}
	}
	sink.seen = sink.seen[:5]
	sink.mu.Unlock()
	c = run(t, js, ingest.ConsumerConfig{}, sink)
	eventually(t, "all applied", func() bool { return len(sink.ids(event.StreamObservations)) == 20 })
	if p := c.Progress(); p.Redelivered != 0 {
		t.Errorf("%+v", p)
	}
}

func TestConsumerPutsPoisonIntoTheDeadLetters(t *testing.T) {
	nc, js := connect(t)
	send := func(subject, body string) {
		if _, err := js.Publish(t.Context(), subject, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	good := func(e *event.Event) string {
		b, err := event.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
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
		// What the batch lacks is in the dead letters already.
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
	if d := cmp.Diff([]string{eventID(1, 0), eventID(1, 1), eventID(1, 2)}, sink.ids(event.StreamObservations)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{eventID(2, 4001)}, sink.ids(event.StreamCatalog)); d != "" {
		t.Error(d)
	}
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
	s, err := js.Stream(t.Context(), event.StreamDeadLetters)
	if err != nil {
		t.Fatal(err)
	}
	if n := s.CachedInfo().State.Msgs; n != uint64(len(want)) {
		t.Errorf("%d dead letters", n)
	}
	for seq := range uint64(len(want)) {
		m, err := s.GetMsg(t.Context(), seq+1)
		if err != nil {
			t.Fatal(err)
		}
		key := m.Header.Get(event.HeaderStream) + " " + m.Header.Get(event.HeaderSeq)
		w, ok := want[key]
		if !ok || m.Header.Get(event.HeaderSubject) != w.Subject || !strings.Contains(m.Header.Get(event.HeaderReason), w.Reason) || m.Header.Get(event.HeaderEpoch) == "" {
			t.Errorf("%s: %v", key, m.Header)
		}
		if w.Body != "" && string(m.Data) != w.Body {
			t.Errorf("%s: body %q", key, m.Data)
		}
	}

	// A second reader of the same messages buries nothing twice.
	c.stop()
	again := run(t, js, ingest.ConsumerConfig{}, newRecorder())
	again.reach(t, js)
	if info, err := s.Info(t.Context()); err != nil || info.State.Msgs != uint64(len(want)) {
		t.Errorf("%d dead letters after a second run, %v", info.State.Msgs, err)
	}
}

func TestConsumerRetriesTheSinkWithTheSameBatch(t *testing.T) {
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

// While the sink is stuck the server gives up waiting and delivers again;
// none of it may reach the sink twice.
func TestConsumerDropsWhatIsDeliveredAgain(t *testing.T) {
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
	eventually(t, "the sink to be called", func() bool { sink.mu.Lock(); defer sink.mu.Unlock(); return sink.inside == 1 })
	time.Sleep(2500 * time.Millisecond) // the server's clock, there is no other
	close(release)
	c.reach(t, js)
	eventually(t, "redeliveries dropped", func() bool { return c.Progress().Redelivered > 0 })
	if ids := sink.ids(event.StreamObservations); len(ids) != 300 || distinct(ids) != 300 {
		t.Errorf("%d events, %d distinct", len(ids), distinct(ids))
	}
	t.Logf("%+v", c.Progress())
}

func TestConsumerOutlivesTheServer(t *testing.T) {
	n := startServer(t)
	nc, js := streams(t, dial(t, n.url()))
	sink := newRecorder()
	sink.before = func(ctx context.Context, _ *event.Batch) error { time.Sleep(time.Millisecond); return nil }
	c := run(t, js, ingest.ConsumerConfig{MaxMessages: 20, Linger: time.Millisecond}, sink)

	p := newPublisher(t, nc, ingest.PublisherConfig{AckTimeout: time.Second, MaxInFlight: 4})
	const total = 10_000
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
		eventually(t, "some progress", func() bool { return c.Progress().Observations.Applied >= min(before+50, total) })
		n.stop()
		n.start()
	}
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	stats := p.Stats()
	if stats.Accepted+stats.Duplicates != total {
		t.Errorf("published %+v", stats)
	}
	eventually(t, "connection", nc.IsConnected)
	c.reach(t, js)
	ids := sink.ids(event.StreamObservations)
	if len(ids) != total || distinct(ids) != total {
		t.Errorf("%d events, %d distinct, want %d", len(ids), distinct(ids), total)
	}
	t.Logf("publisher %+v, consumer %+v", stats, c.Progress())
}

func TestConsumerBeginsAnewWithANewStream(t *testing.T) {
	nc, js := connect(t)
	for i := range 10 {
		publish(t, nc, observations(i, 1))
	}
	sink := newRecorder()
	c := run(t, js, ingest.ConsumerConfig{}, sink)
	c.reach(t, js)
	old := c.Progress().Observations.Epoch
	if err := js.DeleteStream(t.Context(), event.StreamObservations); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the next second", func() bool { return time.Now().Unix() > int64(old) })
	streams(t, nc)
	for i := range 5 {
		publish(t, nc, observations(100+i, 1))
	}
	eventually(t, "the new epoch", func() bool {
		p := c.Progress().Observations
		return p.Epoch > old && p.Applied == 5
	})
	if ids := sink.ids(event.StreamObservations); len(ids) != 15 || distinct(ids) != 15 {
		t.Errorf("%d events", len(ids))
	}
}

// A stream that lost its tail gives the lost sequences to other events. They
// must not be taken for those that are done.
func TestConsumerBeginsANewEpochAfterALostTail(t *testing.T) {
	nc, js := connect(t)
	for i := range 5 {
		publish(t, nc, observations(i, 1))
	}
	info, err := js.Stream(t.Context(), event.StreamObservations)
	if err != nil {
		t.Fatal(err)
	}
	created := uint32(info.CachedInfo().Created.Unix())
	sink := newRecorder()
	sink.done[at(event.StreamObservations, created)] = 8 // 6 to 8 are lost
	c := run(t, js, ingest.ConsumerConfig{}, sink)
	eventually(t, "the new epoch", func() bool { e := c.Progress().Observations.Epoch; return e > created })
	publish(t, nc, observations(20, 1))
	c.reach(t, js)
	if d := cmp.Diff([]string{eventID(1, 20)}, sink.ids(event.StreamObservations)); d != "" {
		t.Error(d)
	}
	epoch := c.Progress().Observations.Epoch
	c.stop()
	// It is the same for whoever comes next, and EnsureStreams leaves it.
	streams(t, nc)
	publish(t, nc, observations(21, 1))
	c = run(t, js, ingest.ConsumerConfig{}, sink)
	c.reach(t, js)
	if got := c.Progress().Observations; got.Epoch != epoch || got.Applied != 7 {
		t.Errorf("%+v, want epoch %d", got, epoch)
	}
}

// A stream that was restored from an old copy gives sequences again, maybe
// before anybody looks: what was taken tells from where on they are others.
func TestConsumerFindsSequencesGivenAgain(t *testing.T) {
	for name, c := range map[string]struct {
		messages, applied, same int
		resume                  int          // the sink's checkpoint, when it crashed before the last; 0: applied
		unknown                 map[int]bool // sequences of which the sink knows nothing
	}{
		"fewer than were applied":       {messages: 6, applied: 9, same: 3},
		"as many":                       {messages: 9, applied: 9, same: 3},
		"more":                          {messages: 12, applied: 9, same: 3},
		"the last one only":             {messages: 9, applied: 9, same: 8},
		"all":                           {messages: 9, applied: 9, same: 0},
		"some were no events":           {messages: 9, applied: 9, same: 3, unknown: map[int]bool{9: true, 5: true, 2: true}},
		"many":                          {messages: 300, applied: 290, same: 100},
		"fewer than are taken":          {messages: 6, applied: 9, same: 6, resume: 4},
		"more, beyond the checkpoint":   {messages: 12, applied: 9, same: 6, resume: 4},
		"all beyond the checkpoint":     {messages: 12, applied: 9, same: 4, resume: 4},
		"none, beyond the checkpoint":   {messages: 12, applied: 9, same: 9, resume: 4},
		"none, all is as it was":        {messages: 12, applied: 9, same: 9},
		"none, and nothing can be said": {messages: 12, applied: 9, same: 9, unknown: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true}},
	} {
		t.Run(name, func(t *testing.T) {
			nc, js := connect(t)
			for i := range c.messages {
				publish(t, nc, observations(i+1, 1))
			}
			s, err := js.Stream(t.Context(), event.StreamObservations)
			if err != nil {
				t.Fatal(err)
			}
			created := uint32(s.CachedInfo().Created.Unix())
			sink := newRecorder()
			if c.resume == 0 {
				c.resume = c.applied
			}
			sink.done[at(event.StreamObservations, created)] = uint64(c.resume)
			for seq := 1; seq <= c.applied; seq++ {
				id := eventID(1, seq)
				if seq > c.same {
					id = eventID(1, seq+100_000)
				}
				if !c.unknown[seq] {
					sink.seen = append(sink.seen, seen{event.StreamObservations, created, uint64(seq), id})
				}
			}
			before := len(sink.seen)
			loop := run(t, js, ingest.ConsumerConfig{}, sink)
			from := min(c.same, c.resume) + 1
			eventually(t, "everything else is applied", func() bool {
				p := loop.Progress().Observations
				return (p.Epoch > created) == (c.same < c.applied) && p.Epoch > 0 && p.Applied == uint64(c.messages)
			})
			var want, got []string
			for seq := from; seq <= c.messages; seq++ {
				want = append(want, eventID(1, seq))
			}
			for _, s := range sink.seen[before:] {
				got = append(got, s.id)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Someone else on the same durable consumer takes deliveries away. The loop
// must notice and get them all the same.
func TestConsumerNoticesAThief(t *testing.T) {
	nc, js := connect(t)
	sink := newRecorder()
	c := run(t, js, ingest.ConsumerConfig{Linger: time.Millisecond}, sink)
	publish(t, nc, observations(0, 1))
	c.reach(t, js)
	thief, err := js.Consumer(t.Context(), event.StreamObservations, "projector-0")
	if err != nil {
		t.Fatal(err)
	}
	var stolen atomic.Int32
	stealing, err := thief.Consume(func(jetstream.Msg) { stolen.Add(1) }, jetstream.PullMaxMessages(3))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		publish(t, nc, observations(i+1, 1))
	}
	eventually(t, "a theft", func() bool { return stolen.Load() > 0 })
	stealing.Stop()
	<-stealing.Closed()
	publish(t, nc, observations(500, 1), observations(501, 1))
	c.reach(t, js)
	if ids := sink.ids(event.StreamObservations); len(ids) != 203 || distinct(ids) != 203 {
		t.Errorf("%d events, %d distinct", len(ids), distinct(ids))
	}
	t.Logf("stolen %d, restarts %d", stolen.Load(), c.Progress().Restarts)
}

func TestConsumerEndsInOrder(t *testing.T) {
	for _, test := range []struct {
		name    string
		cause   error
		applied bool
	}{
		{"asked to end: the batch in the sink is finished", nil, true},
		{"lease lost: it is not", ingest.ErrLeaseLost, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			nc, js := connect(t)
			publish(t, nc, observations(1, 1))
			sink := newRecorder()
			entered, release := make(chan struct{}, 1), make(chan struct{})
			sink.before = func(ctx context.Context, _ *event.Batch) error {
				entered <- struct{}{}
				select {
				case <-release:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			c := run(t, js, ingest.ConsumerConfig{}, sink)
			<-entered
			c.cancel(test.cause)
			if test.applied {
				select {
				case <-c.over:
					t.Fatal("ended with a batch in the sink")
				case <-time.After(50 * time.Millisecond):
				}
				close(release)
			}
			select {
			case <-c.over:
			case <-time.After(5 * time.Second):
				t.Fatal("does not end")
			}
			if got := len(sink.ids(event.StreamObservations)) == 1; got != test.applied {
				t.Errorf("applied: %v", got)
			}
			floor := uint64(0)
			if test.applied {
				floor = 1
			}
			info, err := js.Consumer(t.Context(), event.StreamObservations, "projector-0")
			if err != nil || info.CachedInfo().AckFloor.Stream != floor {
				t.Errorf("acknowledged up to %d, %v", info.CachedInfo().AckFloor.Stream, err)
			}
		})
	}
}

func TestConsumerGraceIsLimited(t *testing.T) {
	nc, js := connect(t)
	publish(t, nc, observations(1, 1))
	sink := newRecorder()
	entered := make(chan struct{}, 1)
	sink.before = func(ctx context.Context, _ *event.Batch) error {
		entered <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	c := run(t, js, ingest.ConsumerConfig{Grace: 50 * time.Millisecond}, sink)
	<-entered
	c.stop()
	if len(sink.ids(event.StreamObservations)) != 0 {
		t.Error("applied")
	}
}

// Messages as large as the server takes must not stand in the way for ever.
func TestConsumerReadsTheLargest(t *testing.T) {
	nc, js := connect(t)
	s, err := js.Stream(t.Context(), event.StreamObservations)
	if err != nil {
		t.Fatal(err)
	}
	config := s.CachedInfo().Config
	config.MaxMsgSize = -1 // an operator's
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	huge := strings.Repeat("x", int(nc.MaxPayload())-50)
	for range 30 {
		if _, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: "observations.x", Data: []byte(huge)}); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, nc, observations(1, 1))
	sink := newRecorder()
	c := run(t, js, ingest.ConsumerConfig{MaxBytes: 1 << 20}, sink)
	c.reach(t, js)
	if p := c.Progress(); p.Poison != 30 || p.Events != 1 {
		t.Errorf("%+v", p)
	}
	dead, err := js.Stream(t.Context(), event.StreamDeadLetters)
	if err != nil {
		t.Fatal(err)
	}
	m, err := dead.GetMsg(t.Context(), 1)
	if err != nil || m.Header.Get(event.HeaderCut) != strconv.Itoa(len(huge)) {
		t.Errorf("%v, %v", m.Header, err)
	}
}

// While a backlog waits the sink has two batches, never more, and the
// catalogue passes both at the next border; when the first fails, both come
// again, in order.
func TestConsumerGivesTheNextBatchWhileOneIsWritten(t *testing.T) {
	nc, js := connect(t)
	for i := range 100 {
		publish(t, nc, observations(i, 1))
	}
	sink := newRecorder()
	both, release := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	sink.finish = func(b *event.Batch) {
		if b.First == 1 && held.CompareAndSwap(false, true) {
			<-both
			<-release
		}
	}
	var fails atomic.Int32
	sink.before = func(_ context.Context, b *event.Batch) error {
		if b.Stream == event.StreamCatalog {
			sink.mu.Lock()
			defer sink.mu.Unlock()
			if sink.under > 0 {
				t.Error("the catalogue came while observations were under way")
			}
			return nil
		}
		if b.First == 1 && fails.Add(1) == 1 {
			return errors.New("the database is away")
		}
		return nil
	}
	c := run(t, js, ingest.ConsumerConfig{MaxMessages: 10, Linger: 500 * time.Millisecond}, sink)
	eventually(t, "two batches under way", func() bool { sink.mu.Lock(); defer sink.mu.Unlock(); return sink.most == 2 })
	publish(t, nc, item(1, 1))
	close(both)
	if a := c.Progress().Observations.Applied; a != 0 {
		t.Errorf("%d applied before the first batch was", a)
	}
	close(release)
	c.reach(t, js)
	if sink.most != 2 || fails.Load() != 2 {
		t.Errorf("%d batches under way, the first was tried %d times, want 2 and 2", sink.most, fails.Load())
	}
	if ids := sink.ids(event.StreamObservations); len(ids) != 100 || distinct(ids) != 100 {
		t.Errorf("%d events", len(ids))
	}
	if sink.overlap {
		t.Error("calls of the sink overlapped")
	}
}

// A batch that is not full waits while another is written, and grows.
func TestConsumerGivesSmallBatchesToAnIdleSinkOnly(t *testing.T) {
	nc, js := connect(t)
	sink := newRecorder()
	release := make(chan struct{})
	sink.finish = func(*event.Batch) { <-release }
	publish(t, nc, observations(0, 1))
	c := run(t, js, ingest.ConsumerConfig{Linger: time.Millisecond}, sink)
	eventually(t, "a batch under way", func() bool { sink.mu.Lock(); defer sink.mu.Unlock(); return sink.under == 1 })
	for i := range 20 {
		publish(t, nc, observations(1+i, 1))
	}
	time.Sleep(50 * time.Millisecond) // lingers long enough
	close(release)
	c.reach(t, js)
	if sink.most != 1 {
		t.Errorf("%d batches at once", sink.most)
	}
}

// Whatever fence a leader met that is newer: it stops at once, and says so.
func TestDeposedSinkEndsTheLoopAndTheTerm(t *testing.T) {
	nc, js := connect(t)
	publish(t, nc, observations(0, 1))
	deposed := fmt.Errorf("observations: %w", event.ErrDeposed)
	for _, c := range []struct {
		name string
		sink ingest.Sink
	}{
		{"in a batch", &recorder{done: map[string]uint64{}, before: func(context.Context, *event.Batch) error { return deposed }}},
		{"asked where to resume", refuses{deposed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := ingest.NewLease(ingest.LeaseConfig{Key: "projector.0", TTL: 500 * time.Millisecond}, js, logger(t))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var fences []uint64
			err = l.RunAsLeader(ctx, func(ctx context.Context, fence uint64) error {
				if fences = append(fences, fence); len(fences) == 2 {
					return nil // the lease was given up, and is ours again
				}
				consumer, err := ingest.NewConsumer(ingest.ConsumerConfig{}, js, c.sink, logger(t))
				if err != nil {
					return err
				}
				err = consumer.Run(ctx)
				if !errors.Is(err, event.ErrDeposed) || ctx.Err() != nil {
					t.Errorf("%v, lease: %v", err, ctx.Err())
				}
				if p := consumer.Progress(); p.Retries != 0 {
					t.Errorf("%d retries", p.Retries)
				}
				return err
			})
			if err != nil || len(fences) != 2 || fences[1] <= fences[0] {
				t.Errorf("%v, fences %d", err, fences)
			}
		})
	}
}

// Whatever refuses for good ends the loop, the term and the role: the lease is
// free for another, and the error says why.
func TestRefusingSinkEndsTheRole(t *testing.T) {
	nc, js := connect(t)
	publish(t, nc, observations(0, 1))
	refused := fmt.Errorf("the tables are others: %w", event.ErrRefused)
	for _, c := range []struct {
		name string
		sink ingest.Sink
	}{
		{"in a batch", &recorder{done: map[string]uint64{}, before: func(context.Context, *event.Batch) error { return refused }}},
		{"asked where to resume", refuses{refused}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := ingest.NewLease(ingest.LeaseConfig{Key: "projector.0"}, js, logger(t))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			terms := 0
			err = l.RunAsLeader(ctx, func(ctx context.Context, _ uint64) error {
				terms++
				consumer, err := ingest.NewConsumer(ingest.ConsumerConfig{}, js, c.sink, logger(t))
				if err != nil {
					return err
				}
				return consumer.Run(ctx)
			})
			if !errors.Is(err, event.ErrRefused) || ctx.Err() != nil || terms != 1 {
				t.Errorf("%v after %d terms", err, terms)
			}
		})
	}
}

// A sink that began with other messages than the stream has now gets them in a
// new epoch, behind what it applied, and the loop ends: what it knew is void.
func TestSinkFindsAFork(t *testing.T) {
	nc, js := connect(t)
	for n := range 9 {
		publish(t, nc, observations(n+1, 1))
	}
	history := ingest.NewHistory(js)
	state, err := history.State(t.Context(), event.StreamObservations)
	if err != nil {
		t.Fatal(err)
	}
	old := state.Epoch
	sink := newRecorder()
	sink.done[at(event.StreamObservations, old)] = 4
	sink.before = func(_ context.Context, b *event.Batch) error {
		if b.Epoch == old {
			return fmt.Errorf("of others: %w", event.ErrForked)
		}
		return nil
	}
	consumer, err := ingest.NewConsumer(ingest.ConsumerConfig{}, js, sink, logger(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := consumer.Run(ctx); !errors.Is(err, event.ErrForked) {
		t.Fatalf("Run = %v", err)
	}
	if state, err = history.State(t.Context(), event.StreamObservations); err != nil {
		t.Fatal(err)
	}
	if len(state.Forks) != 1 || state.Forks[0].After != 4 || state.Epoch <= old {
		t.Fatalf("%+v, want a fork after 4", state.Incarnation)
	}
	run(t, js, ingest.ConsumerConfig{}, sink).reach(t, js)
	var want []string
	for n := 5; n <= 9; n++ {
		want = append(want, eventID(1, n))
	}
	if d := cmp.Diff(want, sink.ids(event.StreamObservations)); d != "" {
		t.Error(d)
	}
}

// refuses is a Sink that does not know where to resume.
type refuses struct{ err error }

func (r refuses) Resume(context.Context, string, event.Incarnation) (uint64, error) { return 0, r.err }

func (r refuses) Taken(context.Context, string, uint32, uint64, uint64) (map[uint64]string, error) {
	return nil, r.err
}
func (r refuses) ApplyCatalog(context.Context, *event.Batch) error { return r.err }
func (r refuses) BeginObservations(context.Context, *event.Batch) func() error {
	return func() error { return r.err }
}

// TestMessagesGoToAnother: what waits goes to a leader that was deposed and
// had asked for it; the new one does not wait until it comes again by itself.
func TestMessagesGoToAnother(t *testing.T) {
	nc, js := connect(t)
	publish(t, nc, item(1, 1), observations(1, 1))
	config := ingest.ConsumerConfig{AckWait: 10 * time.Minute}
	before := newRecorder()
	c := run(t, js, config, before)
	c.reach(t, js)
	c.stop()
	deposed, err := js.Consumer(t.Context(), event.StreamObservations, ingest.ProjectorConsumer(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	asked, err := deposed.Fetch(1000, jetstream.FetchMaxWait(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // it waits at the server
	after := newRecorder()
	for k, seq := range before.done {
		after.done[k] = seq - 1 // the tables have less: it comes again
	}
	began := time.Now()
	loop := run(t, js, config, after)
	eventually(t, "all is applied", func() bool { return len(after.ids(event.StreamObservations)) == 1 })
	taken := 0
	for range asked.Messages() {
		taken++
		break
	}
	if taken == 0 {
		t.Error("nothing went to the other: this proves nothing")
	}
	t.Logf("applied after %v, %d restarts", time.Since(began), loop.Progress().Restarts)
}
