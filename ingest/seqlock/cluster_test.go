package seqlock_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"preismon/contracts/event"
	"preismon/deploy/testserver/cluster"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/ingest/seqlock"
)

// TestServersThatAreKilled: when one of three servers was killed or cut off, or
// all of them were killed, which loses the stream: after they are complete
// again, a projector soon writes, and readers know so. Known fault: when two
// were killed, a reader served by the third, which holds what the others lost,
// may repeat an old answer for minutes.
func TestServersThatAreKilled(t *testing.T) {
	effort.Full(t, "a cluster of NATS")
	t.Parallel()
	c := cluster.Start(t)
	w := at(t, c.URL(0), seqlock.Config{Partitions: 1, Replicas: cluster.Size})
	writer, reader := w.writer(t, 0), w.reader(t)
	var saved []int
	for round := range uint64(4) {
		old := -1
		which := rand.Perm(cluster.Size)[:[]int{0, 1, cluster.Size}[rand.IntN(3)]]
		split := rand.IntN(2) == 0 && len(which) == 1
		for _, i := range which {
			if split {
				c.Split(i)
			} else {
				c.Kill(i)
			}
		}
		switch { // one of them comes back on an older disk
		case split || len(which) == 0:
		case round%3 == 0:
			must.Do(t, c.Save(which[0]))
			saved = append(saved, which[0])
		case len(saved) > 0 && slices.Contains(which, saved[len(saved)-1]):
			old = saved[len(saved)-1]
			must.Do(t, c.Restore(old))
			saved = nil
		}
		time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
		c.Heal()
		must.Do(t, c.Whole(t.Context()))
		began := time.Now()
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			err := writer.Begin(ctx)
			cancel()
			if err == nil {
				break
			}
			if time.Since(began) > 40*time.Second {
				t.Fatalf("round %d, %v, split %v: %v", round, which, split, err)
			}
		}
		begun := time.Since(began)
		writer.End(event.Marks{"OBSERVATIONS": {Epoch: 1, Seq: round}}, nil)
		for {
			if got := reader.Written(t.Context()); got != nil && got.Partitions[0]["OBSERVATIONS"].Seq == round {
				break
			}
			if time.Since(began) > 60*time.Second {
				t.Fatalf("round %d, %v, split %v: the reader answers %+v, %+v; the stream has %s", round, which, split, reader.Written(t.Context()), reader.Stats(), w.last(t, "checkpoints.written.1.0").Data)
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Logf("round %d, servers %v, split %v, old disk %d: written after %v, known after %v", round, which, split, old, begun.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	}
}

// TestEndOfALeaderThatIsCutOff: a leader that is cut off from the others
// accepts an End and loses it. The End is sent again to the next leader,
// although the first leader, before it gave up, refused the second attempt.
func TestEndOfALeaderThatIsCutOff(t *testing.T) {
	effort.Full(t, "a cluster of NATS")
	t.Parallel()
	c := cluster.Start(t)
	w := at(t, c.URL(0), seqlock.Config{Partitions: 1, Replicas: cluster.Size})
	writer, reader := w.writer(t, 0), w.reader(t)
	for began := time.Now(); ; { // the servers' leader may not have heard of all three yet
		must.Do(t, writer.Begin(t.Context()))
		if _, err := w.js.Stream(t.Context(), seqlock.Stream); err == nil {
			break
		}
		if time.Since(began) > 20*time.Second {
			t.Fatal("no stream after 20 s")
		}
	}
	s := must.Get(w.js.Stream(t.Context(), seqlock.Stream))(t)
	leader := cluster.Node(s.CachedInfo().Cluster.Leader)
	writer = at(t, "nats://"+c.Clients(leader).Address(), w.cfg).writer(t, 0)
	must.Do(t, writer.Begin(t.Context()))
	c.Split(leader)
	writer.End(event.Marks{"OBSERVATIONS": {Epoch: 1, Seq: 7}}, nil)
	time.Sleep(5 * time.Second) // the second attempt was sent after 1.25 s, and the others have elected a leader
	c.Heal()
	must.Do(t, c.Whole(t.Context()))
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if got := reader.Written(t.Context()); got != nil && got.Partitions[0]["OBSERVATIONS"].Seq == 7 {
			t.Logf("known after %v", time.Since(began))
			return
		}
		if time.Since(began) > 30*time.Second {
			t.Fatalf("the reader knows nothing: %+v; the stream has %s", reader.Stats(), w.last(t, "checkpoints.written.1.0").Data)
		}
	}
}
