package ingest_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

func TestConsumerStartsOverWithANewStream(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	for i := range 10 {
		publish(t, nc, observations(i, 1))
	}
	sink := newRecorder()
	c := run(t, js, ingest.ConsumerConfig{}, sink)
	c.reach(t, js)
	old := c.Progress().Observations.Epoch
	must.Do(t, js.DeleteStream(t.Context(), event.StreamObservations))
	must.Eventually(t, time.Minute, "the next second", func() bool { return time.Now().Unix() > int64(old) })
	streams(t, nc)
	for i := range 5 {
		publish(t, nc, observations(100+i, 1))
	}
	must.Eventually(t, time.Minute, "the new epoch", func() bool {
		p := c.Progress().Observations
		return p.Epoch > old && p.Applied == 5
	})
	if ids := sink.ids(event.StreamObservations); len(ids) != 15 || distinct(ids) != 15 {
		t.Errorf("%d events", len(ids))
	}
}

// Observations wait for the whole catalogue, but not for the rest of one that
// was replaced by a shorter one before it was read.
func TestConsumerDoesNotWaitForTheRestOfAnOldCatalogue(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	for i := range 20 {
		publish(t, nc, item(i+1, 1))
	}
	sink := newRecorder()
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	sink.before = func(context.Context, *event.Batch) error {
		once.Do(func() { close(entered) })
		<-release
		return nil
	}
	c := run(t, js, ingest.ConsumerConfig{MaxMessages: 5}, sink)
	<-entered
	old := c.Progress().Catalog.Epoch
	must.Do(t, js.DeleteStream(t.Context(), event.StreamCatalog))
	must.Eventually(t, time.Minute, "the next second", func() bool { return time.Now().Unix() > int64(old) })
	streams(t, nc)
	publish(t, nc, item(1, 2), item(2, 2), observations(1, 1))
	close(release)
	c.reach(t, js)
	if p := c.Progress(); p.Catalog.Epoch == old || p.Catalog.Lag != 0 || p.Catalog.Last != 2 || len(sink.ids(event.StreamObservations)) != 1 {
		t.Errorf("%+v", p)
	}
}

// A stream that lost its tail assigns the lost sequences to other events. They
// must not be mistaken for those already applied.
func TestConsumerBeginsANewEpochAfterALostTail(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	for i := range 5 {
		publish(t, nc, observations(i, 1))
	}
	created := firstEpoch(t, js, event.StreamObservations)
	sink := newRecorder()
	sink.done[at(event.StreamObservations, created)] = 8 // 6 to 8 are lost
	c := run(t, js, ingest.ConsumerConfig{}, sink)
	must.Eventually(t, time.Minute, "the new epoch", func() bool { e := c.Progress().Observations.Epoch; return e > created })
	publish(t, nc, observations(20, 1))
	c.reach(t, js)
	equals.Check(t, []string{eventID(1, 20)}, sink.ids(event.StreamObservations))
	epoch := c.Progress().Observations.Epoch
	c.stop()
	// A later consumer finds the same epoch, and EnsureStreams keeps it.
	streams(t, nc)
	publish(t, nc, observations(21, 1))
	c = run(t, js, ingest.ConsumerConfig{}, sink)
	c.reach(t, js)
	if got := c.Progress().Observations; got.Epoch != epoch || got.Applied != 7 {
		t.Errorf("%+v, want epoch %d", got, epoch)
	}
}

// A stream that was restored from an old copy assigns sequences again, maybe
// before anyone notices: the events that were taken show where they begin to
// differ.
func TestConsumerFindsReusedSequences(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		messages, applied, same int
		resume                  int          // the sink's checkpoint, if it crashed before it was at applied; 0: it is at applied
		unknown                 map[int]bool // sequences that the sink knows nothing about
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
			created := firstEpoch(t, js, event.StreamObservations)
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
					sink.seen = append(sink.seen, seen{stream: event.StreamObservations, epoch: created, seq: uint64(seq), id: id})
				}
			}
			before := len(sink.seen)
			loop := run(t, js, ingest.ConsumerConfig{}, sink)
			from := min(c.same, c.resume) + 1
			must.Eventually(t, time.Minute, "everything else is applied", func() bool {
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
			equals.Check(t, want, got)
		})
	}
}

// In CATALOG the records that were taken show where its sequences were assigned
// again.
func TestConsumerFindsReusedSequencesOfTheCatalogue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		records []int // that the stream has, from sequence 1 on: items
		taken   []int // that the sink has
		from    int   // where reading goes on
	}{
		"fewer than were applied":    {[]int{1, 2}, []int{1, 2, 3, 4}, 3},
		"others":                     {[]int{1, 2, 13, 14, 15}, []int{1, 2, 3, 4}, 3},
		"the last one is so again":   {[]int{1, 2, 13, 4, 15}, []int{1, 2, 3, 4}, 3},
		"all are as they were":       {[]int{1, 2, 3, 4, 15}, []int{1, 2, 3, 4}, 5},
		"some have newer states":     {[]int{1, 2, 3, 4, 3, 4}, []int{1, 2, 3, 4}, 5},
		"others, some of them newer": {[]int{1, 2, 13, 14, 13, 15}, []int{1, 2, 3, 4}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			nc, js := connect(t)
			versions := map[int]int{}
			var want []string
			for i, n := range c.records {
				versions[n]++
				e := item(n, versions[n])
				publish(t, nc, e)
				if i+1 >= c.from && !slices.Contains(c.records[i+1:], n) {
					want = append(want, e.ID)
				}
			}
			created := firstEpoch(t, js, event.StreamCatalog)
			sink := newRecorder()
			sink.done[at(event.StreamCatalog, created)] = uint64(len(c.taken))
			for i, n := range c.taken {
				sink.seen = append(sink.seen, seen{stream: event.StreamCatalog, epoch: created, seq: uint64(i + 1), record: item(n, 1).Subject()})
			}
			loop := run(t, js, ingest.ConsumerConfig{}, sink)
			must.Eventually(t, time.Minute, "everything else is applied", func() bool {
				p := loop.Progress().Catalog
				return (p.Epoch > created) == (c.from <= len(c.taken)) && p.Epoch > 0 && p.Applied == uint64(len(c.records))
			})
			if d := cmp.Diff(want, sink.ids(event.StreamCatalog)[len(c.taken):], cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

// Another client on the same durable consumer takes deliveries away. The loop
// must notice and still get them.
func TestConsumerNoticesAThief(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	sink := newRecorder()
	c := run(t, js, ingest.ConsumerConfig{Linger: time.Millisecond}, sink)
	publish(t, nc, observations(0, 1))
	c.reach(t, js)
	thief := must.Get(js.Consumer(t.Context(), event.StreamObservations, "projector-0"))(t)
	var stolen atomic.Int32
	stealing := must.Get(thief.Consume(func(jetstream.Msg) { stolen.Add(1) }, jetstream.PullMaxMessages(3)))(t)
	for i := range 200 {
		publish(t, nc, observations(i+1, 1))
	}
	must.Eventually(t, time.Minute, "a theft", func() bool { return stolen.Load() > 0 })
	stealing.Stop()
	<-stealing.Closed()
	publish(t, nc, observations(500, 1), observations(501, 1))
	c.reach(t, js)
	if ids := sink.ids(event.StreamObservations); len(ids) != 203 || distinct(ids) != 203 {
		t.Errorf("%d events, %d distinct", len(ids), distinct(ids))
	}
	t.Logf("stolen %d, restarts %d", stolen.Load(), c.Progress().Restarts)
}
