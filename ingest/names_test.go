package ingest_test

import (
	"context"
	"testing"
	"time"

	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

// TestNames: after an upgrade, running installations find their leases and
// their positions under these names, so they never change.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		partition, partitions    int
		lease, consumer, rebuild string
	}{
		{0, 1, "projector.0", "projector-0", "rebuild-0"},
		{0, 3, "projector.3.0", "projector-3-0", "rebuild-3-0"},
		{2, 3, "projector.3.2", "projector-3-2", "rebuild-3-2"},
	} {
		got := []string{
			ingest.ProjectorLease(c.partition, c.partitions), ingest.ProjectorConsumer(c.partition, c.partitions),
			ingest.RebuildConsumer(c.partition, c.partitions),
		}
		equals.Checkf(t, []string{c.lease, c.consumer, c.rebuild}, got, "%d of %d", c.partition, c.partitions)
	}
}

// TestSeveralNumbersOfPartitions: the projector of a single partition
// and the two projectors of two partitions lead at the same time, each from the
// beginning of the streams to their end, and none disturbs another.
func TestSeveralNumbersOfPartitions(t *testing.T) {
	t.Parallel()
	const total = 200
	nc, js := connect(t)
	type place struct{ partition, partitions int }
	sinks, loops := map[place]*recorder{}, map[place]*running{}
	want := map[place][]string{}
	start := func(at place) {
		lease := must.Get(ingest.NewLease(ingest.LeaseConfig{Key: ingest.ProjectorLease(at.partition, at.partitions), TTL: time.Second}, js, logger(t)))(t)
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		leads := make(chan struct{})
		go func() {
			_ = lease.RunAsLeader(ctx, func(ctx context.Context, _ uint64) error {
				close(leads)
				<-ctx.Done()
				return nil
			})
		}()
		select {
		case <-leads:
		case <-time.After(10 * time.Second):
			t.Fatalf("partition %d of %d stands by", at.partition, at.partitions)
		}
		sinks[at] = newRecorder()
		loops[at] = run(t, js, share(at.partition, at.partitions), sinks[at])
	}
	places := []place{{0, 1}, {0, 2}, {1, 2}}
	start(places[0])
	for n := range total {
		publish(t, nc, observations(n, 1))
		for _, at := range places {
			if of(n, at.partitions) == at.partition {
				want[at] = append(want[at], eventID(1, n))
			}
		}
		if n == total/2 {
			start(places[1])
			start(places[2])
		}
	}
	for _, at := range places {
		loops[at].reach(t, js)
		equals.Checkf(t, want[at], sinks[at].ids(event.StreamObservations), "partition %d of %d", at.partition, at.partitions)
		if p := loops[at].Progress(); p.Restarts+p.Redelivered+p.Retries != 0 {
			t.Errorf("partition %d of %d was disturbed: %+v", at.partition, at.partitions, p)
		}
	}
}
