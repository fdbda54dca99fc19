package seqlock_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/cluster"
	"preismon/ingest/seqlock"
)

// TestCluster: whichever servers of three were killed or cut off, also all of
// them, which loses the stream: when they are whole again a projector writes soon,
// and readers know so.
func TestCluster(t *testing.T) {
	testserver.Full(t, "a cluster of NATS")
	cluster.Quick()
	c := cluster.Start(t)
	connect := func() (*nats.Conn, jetstream.JetStream) {
		nc, err := nats.Connect(c.URL(0)+","+c.URL(1)+","+c.URL(2), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		return nc, js
	}
	cfg := seqlock.Config{Partitions: 1, Replicas: 3, Wait: 100 * time.Millisecond}
	_, js := connect()
	writer, err := seqlock.NewWriter(cfg, js, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	nc, rjs := connect()
	r, err := seqlock.NewReader(cfg, nc, rjs, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = r.Run(ctx) // gives nil when ctx ends
	}()
	t.Cleanup(func() { cancel(); <-over })
	var saved []int
	for round := range uint64(6) {
		old := -1
		which := rand.Perm(cluster.Size)[:rand.IntN(cluster.Size+1)]
		split := rand.IntN(2) == 0 && len(which) == 1
		for _, i := range which {
			if split {
				c.Split(i)
			} else {
				c.Kill(i)
			}
		}
		switch { // one of them comes back on a disk of before
		case split || len(which) == 0:
		case round%3 == 0:
			if err := c.Save(which[0]); err != nil {
				t.Fatal(err)
			}
			saved = append(saved, which[0])
		case len(saved) > 0 && slices.Contains(which, saved[len(saved)-1]):
			old = saved[len(saved)-1]
			if err := c.Restore(old); err != nil {
				t.Fatal(err)
			}
			saved = nil
		}
		time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
		c.Heal()
		if err := c.Whole(t.Context()); err != nil {
			t.Fatal(err)
		}
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
		writer.End(event.Marks{"OBSERVATIONS": {Epoch: 1, Seq: round}})
		for {
			if w := r.Written(t.Context()); w != nil && w.Partitions[0]["OBSERVATIONS"].Seq == round {
				break
			}
			if time.Since(began) > 60*time.Second {
				t.Fatalf("round %d, %v, split %v: the reader knows nothing: %+v", round, which, split, r.Stats())
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Logf("round %d, servers %v, split %v, old disk %d: written after %v, known after %v", round, which, split, old, begun.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	}
}
