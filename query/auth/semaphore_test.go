package auth_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// Two nodes share an account's slots instead of doubling them (choices 34):
// never more run at the same time, all of them can be used, and a slot
// released on one node is free on the other.
func TestSlotsAreShared(t *testing.T) {
	t.Parallel() // it mostly waits
	address := testserver.NATS(t)
	limits := limitsOf(1000, time.Hour)
	one, _ := counters(t, address, limits)
	two, _ := counters(t, address, limits)
	nodes := []*auth.Throttle{one, two}
	const account contracts.AccountID = 77

	var held []func()
	for i := range limits.HeavyAtOnce {
		release := must.Get(nodes[i%2].Heavy(account))(t)
		held = append(held, release)
	}
	for i, node := range nodes {
		if _, err := node.Heavy(account); fault.KindOf(err) != fault.RateLimited {
			t.Errorf("node %d gave a ninth slot: %v", i, err)
		}
		if limit, free := node.HeavySlots(account); limit != 8 || free != 0 {
			t.Errorf("node %d: %d of %d free", i, free, limit)
		}
		if _, free := node.HeavySlots(account + 1); free != 8 {
			t.Errorf("node %d: another account has %d free", i, free)
		}
	}
	held[0]() // on the first node
	held[0]()
	release := must.Get(two.Heavy(account))(t)
	if _, err := two.Heavy(account); err == nil {
		t.Error("a slot was freed twice")
	}
	release()
	for _, release := range held[1:] {
		release()
	}
	eventually(t, "all slots are free", 20*time.Second, func() bool {
		_, a := one.HeavySlots(account)
		_, b := two.HeavySlots(account)
		return a == 8 && b == 8
	})

	// Random load: as many clients as there are slots are not refused, and
	// there are never more running than slots.
	var running, most, missed atomic.Int64
	var all sync.WaitGroup
	for client := range limits.HeavyAtOnce {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(client)))
			for range 40 {
				release, err := nodes[r.IntN(2)].Heavy(account)
				if err != nil {
					missed.Add(1)
					continue
				}
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
				running.Add(-1)
				release()
			}
		})
	}
	all.Wait()
	if most.Load() > 8 || missed.Load() > 3 { // a slot may be requested while it is being returned
		t.Errorf("%d ran at once, %d were refused", most.Load(), missed.Load())
	}
}

// The slots of a dead node become free when its claim has expired, and a node
// that cannot reach the others counts alone.
func TestSlotsOfADeadNode(t *testing.T) {
	t.Parallel() // it mostly waits
	address := testserver.NATS(t)
	limits := limitsOf(1000, time.Hour)
	var offset atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	node := func() (*auth.Throttle, *nats.Conn) {
		nc := must.Get(nats.Connect(address))(t)
		t.Cleanup(nc.Close)
		js := must.Get(jetstream.New(nc))(t)
		throttle := must.Get(auth.NewSharedThrottle(limits, auth.SharedDefaults(), js, slog.New(slog.DiscardHandler), now))(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { _ = throttle.Run(ctx); close(ended) }()
		t.Cleanup(func() { cancel(); <-ended })
		return throttle, nc
	}
	dead, conn := node()
	alive, _ := node()
	const account contracts.AccountID = 78
	eventually(t, "the nodes know of each other", 20*time.Second, func() bool {
		release := must.Get(dead.Heavy(account))(t)
		defer release()
		_, free := alive.HeavySlots(account)
		again := must.Get(alive.Heavy(account))(t)
		again()
		return free == 7
	})
	for range limits.HeavyAtOnce {
		eventually(t, "a slot", 20*time.Second, func() bool {
			_, err := dead.Heavy(account)
			return err == nil
		})
	}
	if _, err := alive.Heavy(account); err == nil {
		t.Fatal("a ninth slot")
	}
	conn.Close()
	if _, err := dead.Heavy(account + 1); err != nil {
		t.Errorf("alone, a node gives its own slots: %v", err)
	}
	offset.Store(int64(16 * time.Second))
	release, err := alive.Heavy(account)
	if err != nil {
		t.Fatalf("the slots of a dead node stay taken: %v", err)
	}
	release()
}
