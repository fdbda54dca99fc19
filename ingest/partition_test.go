package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

// share returns the configuration of one partition's loop.
func share(partition, partitions int) ingest.ConsumerConfig {
	return ingest.ConsumerConfig{Partition: partition, Partitions: partitions, MaxMessages: 20, Linger: time.Millisecond, PassLinger: 20 * time.Millisecond}
}

// of returns the partition of batch n of observations.
func of(n, partitions int) int { return event.Partition(observations(n, 1).Subject(), partitions) }

// TestPartitionsShareTheStream: each loop applies its own sites in order and
// the whole catalogue, its batches cover everything without a gap, and what
// cannot be read is put into the dead letters once: by the owner of its site,
// or, in the catalogue, by the first loop that reads it.
func TestPartitionsShareTheStream(t *testing.T) {
	t.Parallel()
	const partitions, total = 3, 400
	nc, js := connect(t)
	want := make([][]string, partitions)
	buried := make([]uint64, partitions) // unreadable, by the partition of their sites
	records := uint64(0)                 // unreadable, in the catalogue
	var items []string
	for n := range total {
		publish(t, nc, observations(n, 2))
		want[of(n, partitions)] = append(want[of(n, partitions)], eventID(1, n))
		switch n % 40 {
		case 7:
			publish(t, nc, item(n, 1))
			items = append(items, eventID(2, n*1000+1))
		case 9:
			subject := fmt.Sprintf("observations.shop-%d=example", n%7)
			must.Get(js.Publish(t.Context(), subject, []byte("no event")))(t)
			buried[event.Partition(subject, partitions)]++
		case 11:
			must.Get(js.Publish(t.Context(), fmt.Sprintf("catalog.item.%d", n), []byte("no event")))(t)
			records++
		}
	}
	sinks, loops := make([]*recorder, partitions), make([]*running, partitions)
	for p := range partitions {
		sinks[p] = newRecorder()
		loops[p] = run(t, js, share(p, partitions), sinks[p])
	}
	end := must.Get(ingest.End(t.Context(), js, event.StreamObservations))(t)
	letters := records
	for p, l := range loops {
		l.reach(t, js)
		l.stop()
		equals.Checkf(t, want[p], sinks[p].ids(event.StreamObservations), "partition %d: observations", p)
		equals.Checkf(t, items, sinks[p].ids(event.StreamCatalog), "partition %d: catalogue", p)
		pr := l.Progress()
		if done := sinks[p].done[at(event.StreamObservations, pr.Observations.Epoch)]; done != end || pr.Observations.Applied != end || pr.Observations.Lag != 0 {
			t.Errorf("partition %d: the sink has %d, and %+v, want %d", p, done, pr.Observations, end)
		}
		own := uint64(len(want[p]) + len(items))
		if pr.Events != own || pr.Poison != buried[p]+records || pr.Rows != 2*uint64(len(want[p])) || pr.Retries+pr.Restarts != 0 {
			t.Errorf("partition %d: %+v, want %d events and %d dead letters", p, pr, own, buried[p]+records)
		}
		if passed := end - uint64(len(want[p])) - buried[p]; pr.Passed != passed {
			t.Errorf("partition %d: passed over %d, want %d", p, pr.Passed, passed)
		}
		info := must.Get(js.Consumer(t.Context(), event.StreamObservations, fmt.Sprintf("projector-%d-%d", partitions, p)))(t)
		if f := info.CachedInfo().AckFloor.Stream; f != end {
			t.Errorf("partition %d: acknowledged up to %d, want %d", p, f, end)
		}
		letters += buried[p]
	}
	if n, err := ingest.End(t.Context(), js, event.StreamDeadLetters); err != nil || n != letters {
		t.Errorf("%d dead letters, %v, want %d", n, err, letters)
	}
}

// TestQuietPartitionReachesTheEnd: a partition without messages of its own gets
// few batches, which cover more than those of a busy one, and its loop never
// gets stuck for lack of acknowledgements.
func TestQuietPartitionReachesTheEnd(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	const backlog = 2000
	for range backlog / 100 {
		var list []*event.Event
		for range 100 {
			list = append(list, observations(1, 1)) // of shop-1, partition 0 of 2
			list[len(list)-1].ID = fmt.Sprintf("00000000-0000-4000-0009-%012d", time.Now().UnixNano()%1e12)
		}
		publish(t, nc, list...)
	}
	end := must.Get(ingest.End(t.Context(), js, event.StreamObservations))(t)
	sink := newRecorder()
	c := share(1, 2)
	c.PassLinger = 300 * time.Millisecond
	loop := run(t, js, c, sink)
	loop.reach(t, js)
	if n, least := uint64(len(sink.batches)), end/40; n < least || n > least+2 {
		t.Errorf("%d batches for a backlog of %d, want one for 40 messages", n, end)
	}
	for _, b := range sink.batches {
		if len(b.Messages) > 0 || b.Last-b.First >= 40 {
			t.Errorf("batch %d to %d has %d messages", b.First, b.Last, len(b.Messages))
		}
	}
	// While messages of others arrive one by one, it waits for several.
	before, began := len(sink.batches), time.Now()
	for range 30 {
		e := observations(1, 1)
		e.ID = fmt.Sprintf("00000000-0000-4000-0008-%012d", time.Now().UnixNano()%1e12)
		publish(t, nc, e)
		time.Sleep(5 * time.Millisecond) // the linger runs on the real clock
	}
	loop.reach(t, js)
	sink.mu.Lock()
	defer sink.mu.Unlock()
	if n, most := len(sink.batches)-before, 1+int(time.Since(began)/c.PassLinger); n > most {
		t.Errorf("%d batches for 30 messages of another partition, want at most %d", n, most)
	}
}

// TestOwnMessageEndsTheWait: a message of its own does not wait longer because
// of those passed over before it.
func TestOwnMessageEndsTheWait(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	sink := newRecorder()
	c := share(1, 2)
	c.PassLinger = time.Hour
	loop := run(t, js, c, sink)
	must.Eventually(t, time.Minute, "the stream open", func() bool { return loop.Progress().Observations.Epoch > 0 })
	publish(t, nc, observations(1, 1)) // of partition 0
	publish(t, nc, observations(2, 1)) // of partition 1
	must.Eventually(t, time.Minute, "both done", func() bool { return loop.Progress().Observations.Applied == 2 })
	if b := sink.batches[0]; b.First != 1 || b.Last != 2 || len(b.Messages) != 1 {
		t.Errorf("batch %d to %d of %d messages", b.First, b.Last, len(b.Messages))
	}
}

// TestTakeoverWithinOnePartition: a takeover in one partition leaves the others
// alone.
func TestTakeoverWithinOnePartition(t *testing.T) {
	t.Parallel()
	const total = 300
	nc, js := connect(t)
	sinks := []*recorder{newRecorder(), newRecorder()}
	other := run(t, js, share(0, 2), sinks[0])
	loop := run(t, js, share(1, 2), sinks[1])
	want := make([][]string, 2)
	var items []string // of both partitions
	for n := range total {
		publish(t, nc, observations(n, 1), item(n+1, 1))
		want[of(n, 2)] = append(want[of(n, 2)], eventID(1, n))
		items = append(items, eventID(2, (n+1)*1000+1))
		if n%75 == 74 {
			loop.stop() // in the middle of its work
			loop = run(t, js, share(1, 2), sinks[1])
		}
	}
	for p, l := range []*running{other, loop} {
		l.reach(t, js)
		equals.Checkf(t, want[p], sinks[p].ids(event.StreamObservations), "partition %d", p)
		equals.Checkf(t, items, sinks[p].ids(event.StreamCatalog), "partition %d: catalogue", p)
	}
	if p := other.Progress(); p.Restarts+p.Redelivered+p.Retries != 0 {
		t.Errorf("the other partition was disturbed: %+v", p)
	}
}

// TestWaitAppliedWaitsForABeginning: a projector that reads one stream so far is
// about to read the other.
func TestWaitAppliedWaitsForABeginning(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	publish(t, nc, observations(2, 1), item(1, 1))
	loop := run(t, js, share(0, 1), newRecorder())
	loop.reach(t, js)
	loop.stop()
	must.Do(t, js.DeleteConsumer(t.Context(), event.StreamCatalog, ingest.ProjectorConsumer(0, 1)))
	waited := make(chan error, 1)
	go func() { waited <- ingest.WaitApplied(t.Context(), js, 0) }()
	select {
	case err := <-waited:
		t.Fatal("it did not wait: ", err)
	case <-time.After(300 * time.Millisecond):
	}
	run(t, js, share(0, 1), newRecorder())
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

// TestWaitAppliedWaitsForAllPartitions: it waits for all partitions of the
// number given, or of the only number that runs, and for no other consumer.
func TestWaitAppliedWaitsForAllPartitions(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	if err := ingest.WaitApplied(t.Context(), js, 0); err == nil || !strings.Contains(err.Error(), "no projector") {
		t.Errorf("nobody ran: %v", err)
	}
	publish(t, nc, observations(2, 1), item(1, 1))
	rebuild := share(2, 3)
	rebuild.Name = ingest.RebuildConsumer(2, 3)
	stale := run(t, js, rebuild, newRecorder())
	stale.reach(t, js)
	stale.stop()
	loop := run(t, js, share(0, 2), newRecorder())
	loop.reach(t, js)
	if err := ingest.WaitApplied(t.Context(), js, 0); err == nil || !strings.Contains(err.Error(), "partition 1 of 2") {
		t.Errorf("partition 1 never ran: %v", err)
	}
	sink := newRecorder()
	release := make(chan struct{})
	sink.finish = func(*event.Batch) { <-release }
	run(t, js, share(1, 2), sink)
	must.Eventually(t, time.Minute, "the batch to be in the sink", func() bool { sink.mu.Lock(); defer sink.mu.Unlock(); return sink.under == 1 })
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := ingest.WaitApplied(short, js, 0); err == nil {
		t.Error("it did not wait for partition 1")
	}
	close(release)
	publish(t, nc, observations(3, 1))
	if err := ingest.WaitApplied(t.Context(), js, 0); err != nil {
		t.Error(err)
	}
	stale = run(t, js, share(0, 1), newRecorder())
	stale.reach(t, js)
	stale.stop()
	publish(t, nc, observations(4, 1))
	if err := ingest.WaitApplied(t.Context(), js, 2); err != nil {
		t.Error(err)
	}
	short, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := ingest.WaitApplied(short, js, 0); err == nil || !strings.Contains(err.Error(), "projectors of 1 and of 2 partitions: say by --partitions") {
		t.Errorf("two numbers of partitions: %v", err)
	}
	short, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := ingest.WaitApplied(short, js, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the only projector of one partition is stopped: %v", err)
	}
}

func TestConsumerConfigOfPartitions(t *testing.T) {
	t.Parallel()
	if err := (ingest.ConsumerConfig{Partition: 2, Partitions: 3}).Validate(); err != nil {
		t.Error(err)
	}
	if err := (ingest.ConsumerConfig{Partition: 3, Partitions: 3}).Validate(); err == nil || !strings.Contains(err.Error(), "consumer partition: 3") {
		t.Errorf("3 of 3: %v", err)
	}
}
