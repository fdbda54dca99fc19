package cluster_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/deploy/testserver/cluster"
)

// TestCluster: three servers keep what is acknowledged when one is killed, cut
// off, or late.
func TestCluster(t *testing.T) {
	cluster.Quick()
	began := time.Now()
	c := cluster.Start(t)
	t.Logf("started in %s", time.Since(began))
	nc, err := nats.Connect(c.URL(0), nats.DontRandomize(), nats.MaxReconnects(-1)) // the first, which stays: one that is cut off takes nothing
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	var s jetstream.Stream
	for began := time.Now(); s == nil; { // their leader may not have heard of all three yet
		s, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Replicas: 3})
		if err != nil && time.Since(began) > 10*time.Second {
			t.Fatal(err)
		}
	}
	want := uint64(0)
	publish := func() {
		t.Helper()
		for began := time.Now(); ; { // an election may take its time on a busy machine
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			_, err := js.Publish(ctx, "s", nil, jetstream.WithMsgID(time.Now().String()))
			cancel()
			if err == nil {
				want++
				return
			}
			if time.Since(began) > time.Minute {
				t.Fatal(err)
			}
		}
	}
	publish()
	began = time.Now()
	c.Kill(2)
	publish()
	if err := c.Whole(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("killed, and whole again, in %s", time.Since(began))
	// What was acknowledged by two, of which one is cut off, waits for it: the
	// third has to have it before.
	caughtUp(t, s)
	began = time.Now()
	c.Split(1)
	publish()
	c.Heal()
	if err := c.Whole(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("split, and whole again, in %s", time.Since(began))
	info := now(t, s)
	for began := time.Now(); info.State.LastSeq < want; info = now(t, s) { // who answers may not have applied it yet
		if time.Since(began) > 10*time.Second {
			t.Errorf("%d messages of %d", info.State.LastSeq, want)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	to := (cluster.Node(info.Cluster.Leader) + 1) % cluster.Size
	for began := time.Now(); cluster.Node(info.Cluster.Leader) != to; info = now(t, s) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		err := c.StepDown(ctx, nc, "S", "", to) // again: another election may have come between
		cancel()
		if time.Since(began) > time.Minute {
			t.Fatalf("%s leads, want %d: %v", info.Cluster.Leader, to, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, r := range info.Cluster.Replicas {
		t.Logf("%+v", *r)
	}
}

// caughtUp waits until all replicas have what the leader has.
func caughtUp(t *testing.T, s jetstream.Stream) {
	t.Helper()
	behind := func() bool {
		return slices.ContainsFunc(now(t, s).Cluster.Replicas, func(p *jetstream.PeerInfo) bool { return !p.Current || p.Lag > 0 })
	}
	for began := time.Now(); behind(); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("a replica does not catch up")
		}
	}
}

// now asks a stream how it is, as long as an election goes on.
func now(t *testing.T, s jetstream.Stream) *jetstream.StreamInfo {
	t.Helper()
	for began := time.Now(); ; {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		info, err := s.Info(ctx)
		cancel()
		if err == nil && info.Cluster.Leader != "" {
			return info
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("nobody leads: %v", err)
		}
	}
}
