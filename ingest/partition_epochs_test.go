package ingest_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

// TestEpochBegunByAnotherPartition: the partition that finds the lost tail
// marks it, once; the one that knows nothing of it follows without a restart.
func TestEpochBegunByAnotherPartition(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	for n := range 5 {
		publish(t, nc, observations(n, 1))
	}
	created := firstEpoch(t, js, event.StreamObservations)
	quiet, finder := newRecorder(), newRecorder()
	other := run(t, js, share(1, 2), quiet)
	other.reach(t, js)
	finder.done[at(event.StreamObservations, created)] = 5
	for seq := uint64(1); seq <= 5; seq++ {
		if n := int(seq - 1); of(n, 2) == 0 {
			id := eventID(1, n)
			if seq > 3 {
				id = eventID(1, n+100_000) // it was another event then
			}
			finder.seen = append(finder.seen, seen{stream: event.StreamObservations, epoch: created, seq: seq, id: id})
		}
	}
	loop := run(t, js, share(0, 2), finder)
	must.Eventually(t, time.Minute, "both in the new epoch", func() bool {
		a, b := loop.Progress().Observations, other.Progress().Observations
		return a.Epoch > created && a.Epoch == b.Epoch && a.Applied == 5 && b.Applied == 5
	})
	publish(t, nc, observations(10, 1), observations(11, 1))
	loop.reach(t, js)
	other.reach(t, js)
	if got := finder.seen[len(finder.seen)-1].id; got != eventID(1, 10) && got != eventID(1, 11) {
		t.Errorf("the last event of partition 0 is %s", got)
	}
}

// TestShortStreamOfWhichAPartitionKnowsNothing: the stream is read again
// completely, since only other partitions know where it is unchanged, and what
// was left to the old epoch would never be read.
func TestShortStreamOfWhichAPartitionKnowsNothing(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	var want []string
	for n := range 12 {
		publish(t, nc, observations(n, 1))
		if of(n, 2) == 1 {
			want = append(want, eventID(1, n))
		}
	}
	created := firstEpoch(t, js, event.StreamObservations)
	sink := newRecorder()
	sink.done[at(event.StreamObservations, created)] = 20 // none of them ours
	loop := run(t, js, share(1, 2), sink)
	must.Eventually(t, time.Minute, "the new epoch", func() bool { p := loop.Progress().Observations; return p.Epoch > created && p.Applied == 12 })
	equals.Check(t, want, sink.ids(event.StreamObservations))
}

// TestWhoIsBehindANewEpoch: a sink that had less than the one that found the
// lost tail continues from where it was, through all epochs since: a partition
// that stood still, rebuilt tables, tables from an older backup.
func TestWhoIsBehindANewEpoch(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	for n := range 12 {
		publish(t, nc, observations(n, 1), item(n+1, 1))
	}
	streams := []string{event.StreamObservations, event.StreamCatalog}
	now := func(stream string) event.Incarnation {
		state := must.Get(ingest.NewHistory(js).State(t.Context(), stream))(t)
		return state.Incarnation
	}
	for fork := range 2 {
		finder := newRecorder()
		for _, stream := range streams {
			finder.done[at(stream, now(stream).Epoch)] = 20
		}
		for n := range 12 {
			finder.seen = append(finder.seen, seen{stream: event.StreamObservations, epoch: now(event.StreamObservations).Epoch, seq: uint64(n + 1), id: eventID(1, n)})
		}
		loop := run(t, js, share(0, 1), finder)
		must.Eventually(t, time.Minute, "both streams have a new epoch", func() bool {
			p := loop.Progress()
			return len(now(event.StreamObservations).Forks) == fork+1 && p.Observations.Applied == 12 &&
				len(now(event.StreamCatalog).Forks) == fork+1 && p.Catalog.Applied == 12
		})
		loop.stop()
	}
	for _, c := range []struct {
		partition, partitions int
		had                   uint64
	}{{0, 1, 0}, {0, 1, 5}, {1, 2, 5}, {1, 2, 0}, {0, 1, 12}} {
		var observed, records []string
		for n := int(c.had); n < 12; n++ {
			if of(n, c.partitions) == c.partition {
				observed = append(observed, eventID(1, n))
			}
			records = append(records, eventID(2, (n+1)*1000+1))
		}
		sink := newRecorder()
		for _, stream := range streams {
			if c.had > 0 {
				sink.done[at(stream, now(stream).Created)] = c.had
			}
		}
		loop := run(t, js, share(c.partition, c.partitions), sink)
		loop.reach(t, js)
		loop.stop()
		equals.Checkf(t, observed, sink.ids(event.StreamObservations), "%+v: observations", c)
		equals.Checkf(t, records, sink.ids(event.StreamCatalog), "%+v: catalogue", c)
	}
}

// TestForkFarBehindOthersMessages: the newest event that a partition knows is
// found even behind more messages of others than are usually looked through.
func TestForkFarBehindOthersMessages(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	publish(t, nc, observations(2, 1), observations(4, 1)) // of partition 1; it took the first
	const others = 75_000
	for range others {
		must.Get(js.PublishAsync("observations.shop-1=example", nil, jetstream.WithStallWait(time.Minute)))(t)
	}
	<-js.PublishAsyncComplete()
	created := firstEpoch(t, js, event.StreamObservations)
	sink := newRecorder()
	sink.done[at(event.StreamObservations, created)] = others + 10
	sink.seen = []seen{{stream: event.StreamObservations, epoch: created, seq: 1, id: eventID(1, 2)}}
	c := share(1, 2)
	c.MaxMessages = 10_000
	loop := run(t, js, c, sink)
	must.Eventually(t, time.Minute, "the new epoch", func() bool { p := loop.Progress().Observations; return p.Epoch > created && p.Applied == others+2 })
	equals.Check(t, []string{eventID(1, 2), eventID(1, 4)}, sink.ids(event.StreamObservations))
}

// TestTailLostWhilePassedOver: the stream comes back as an older copy that grew
// longer than before. The loop had passed over messages of others up to its old
// end and knows none of their events, and yet must read what is there now.
func TestTailLostWhilePassedOver(t *testing.T) {
	t.Parallel()
	n := startServer(t)
	nc, js := streams(t, dial(t, n.url()))
	publish(t, nc, observations(2, 1)) // of partition 1
	n.stop()
	saved := filepath.Join(t.TempDir(), "nats")
	must.Do(t, os.CopyFS(saved, os.DirFS(n.dir)))
	n.start()
	must.Eventually(t, time.Minute, "connection", nc.IsConnected)
	sink := newRecorder()
	loop := run(t, js, share(1, 2), sink)
	for _, i := range []int{1, 3, 5} { // of partition 0
		publish(t, nc, observations(i, 1))
	}
	loop.reach(t, js)
	n.stop()
	restored := &natsServer{tb: t, dir: saved, port: -1}
	restored.start()
	var want []*event.Event
	for _, i := range []int{4, 6, 9, 11, 13} { // of partition 1
		want = append(want, observations(i, 1))
		if of(i, 2) != 1 {
			t.Fatalf("batch %d is of partition 0", i)
		}
	}
	again := dial(t, restored.url())
	publish(t, again, want...)
	again.Close()
	restored.stop()
	must.Do(t, os.RemoveAll(n.dir))
	must.Do(t, os.Rename(saved, n.dir))
	n.start()
	must.Eventually(t, time.Minute, "connection", nc.IsConnected)
	ids := func() (all []string) {
		seen := map[string]bool{}
		for _, id := range sink.ids(event.StreamObservations) {
			if !seen[id] { // a sink knows events by their ids
				seen[id] = true
				all = append(all, id)
			}
		}
		return all
	}
	must.Eventually(t, time.Minute, "everything is applied", func() bool { return len(ids()) == 6 })
	all := []string{eventID(1, 2)}
	for _, e := range want {
		all = append(all, e.ID)
	}
	equals.Check(t, all, ids())
}
