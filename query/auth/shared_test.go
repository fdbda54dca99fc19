package auth_test

import (
	"context"
	"errors"
	"fmt"
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
	"preismon/deploy/testserver/proxy"
	"preismon/query/auth"
)

// counters starts one query node's counters; stop ends the node.
func counters(t *testing.T, address string, limits auth.ThrottleConfig, change ...func(*auth.SharedConfig)) (*auth.Throttle, func()) {
	t.Helper()
	return countersAt(t, address, limits, time.Now, change...)
}

// countersAt is counters with the given clock.
func countersAt(t *testing.T, address string, limits auth.ThrottleConfig, now func() time.Time, change ...func(*auth.SharedConfig)) (*auth.Throttle, func()) {
	t.Helper()
	nc := must.Get(nats.Connect(address, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.CustomInboxPrefix("_INBOX")))(t)
	js := must.Get(jetstream.New(nc))(t)
	cfg := auth.SharedDefaults()
	cfg.Wait = 30 * time.Second // a busy machine must not fail the test
	for _, f := range change {
		f(&cfg)
	}
	throttle := must.Get(auth.NewSharedThrottle(limits, cfg, js, slog.New(slog.DiscardHandler), now))(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- throttle.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		nc.Close()
	})
	t.Cleanup(stop)
	// Ready when this node's counts are in the bucket.
	probe := 0
	eventually(t, "counters are shared", 20*time.Second, func() bool {
		stream, err := js.Stream(t.Context(), "KV_"+cfg.Bucket)
		if err != nil {
			return false
		}
		before := stream.CachedInfo().State.LastSeq
		probe++
		must.Get(throttle.Attempt(fmt.Sprintf("probe %d of %p", probe, throttle), ""))(t)
		after := must.Get(stream.Info(t.Context()))(t)
		return after.State.LastSeq > before
	})
	return throttle, stop
}

func limitsOf(reads int, per time.Duration) auth.ThrottleConfig {
	l := auth.ThrottleDefaults()
	l.Reads = auth.Rate{Requests: reads, Per: per}
	l.Attempts = auth.Rate{Requests: 1000, Per: time.Hour}
	return l
}

// Two nodes share one limit exactly, however requests are distributed between
// them: RATE-01, choices 34.
func TestNodesCountTogether(t *testing.T) {
	t.Parallel() // it mostly waits
	address := testserver.NATS(t)
	for _, limit := range []int{1, 10, 600} {
		one, _ := counters(t, address, limitsOf(limit, time.Hour))
		two, _ := counters(t, address, limitsOf(limit, time.Hour))
		account := contracts.AccountID(1000 + limit)
		var all sync.WaitGroup
		var granted atomic.Int64
		for i := range 8 {
			all.Go(func() {
				for range limit {
					node := []*auth.Throttle{one, two}[i%2]
					q, err := node.Read(account)
					if err == nil {
						granted.Add(1)
						continue
					}
					var f *fault.Error
					if !errors.As(err, &f) || f.Kind != fault.RateLimited || f.RetryAfter <= 0 || q.Remaining != 0 || q.Limit != limit {
						t.Errorf("%+v, %v", q, err)
					}
				}
			})
		}
		all.Wait()
		// What a node returns of its last lease is granted to whichever node
		// needs it.
		eventually(t, "the whole limit is granted", 20*time.Second, func() bool {
			for _, node := range []*auth.Throttle{one, two} {
				for _, err := node.Read(account); err == nil; _, err = node.Read(account) {
					granted.Add(1)
				}
			}
			return granted.Load() >= int64(limit)
		})
		time.Sleep(100 * time.Millisecond)
		if _, err := one.Read(account); err == nil || granted.Load() != int64(limit) {
			t.Errorf("limit %d: %d requests were granted, then %v", limit, granted.Load(), err)
		}
		if _, err := two.Read(account + 1); err != nil {
			t.Errorf("another account: %v", err)
		}
	}
}

// On one node, Remaining goes down by one per request, however large the leases
// are and whatever of them is returned: RATE-01. When other nodes use the
// window too, a node does not report what it still holds, because the others
// cannot serve it.
func TestRemainingGoesDownByOne(t *testing.T) {
	t.Parallel() // it waits
	address := testserver.NATS(t)
	one, _ := counters(t, address, limitsOf(150, time.Hour))
	two, _ := counters(t, address, limitsOf(150, time.Hour))
	for want := 149; want >= 0; want-- {
		if want == 100 { // a lease is returned meanwhile
			time.Sleep(1500 * time.Millisecond)
		}
		if q, err := one.Read(7); err != nil || q.Remaining != want {
			t.Fatalf("%+v, %v, want %d remaining", q, err, want)
		}
	}
	if q, err := one.Read(7); err == nil || q.Remaining != 0 {
		t.Errorf("%+v, %v", q, err)
	}
	hoarder, _ := counters(t, address, limitsOf(150, time.Hour), func(c *auth.SharedConfig) { c.LeaseFor = time.Hour })
	for range 40 { // the last lease is not used up
		must.Get(hoarder.Read(8))(t)
	}
	for left := 150; left > 0; {
		q, err := two.Read(8)
		if err != nil {
			t.Fatalf("refused with %d remaining: %v", left, err)
		}
		left = q.Remaining
	}
	time.Sleep(500 * time.Millisecond) // the watch brings it to the first node
	if q, err := hoarder.Read(8); err != nil || q.Remaining != 0 {
		t.Errorf("the other node can serve nothing, this one tells %+v, %v", q, err)
	}
}

// A client that sends no more than Remaining allows, and waits until Reset, is
// never refused, whichever node its requests reach.
func TestObedientClientIsNotThrottled(t *testing.T) {
	t.Parallel() // it mostly waits
	address := testserver.NATS(t)
	limits := limitsOf(150, time.Second)
	one, _ := counters(t, address, limits)
	two, _ := counters(t, address, limits)
	nodes := []*auth.Throttle{one, two}
	var (
		mu               sync.Mutex
		reset            time.Time
		remaining        = 1 // before the first answer
		inFlight, served int
		windows          = map[time.Time]int{}
	)
	deadline := time.Now().Add(3 * time.Second)
	var clients sync.WaitGroup
	for i := range 4 {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		clients.Go(func() {
			for time.Now().Before(deadline) {
				mu.Lock()
				if now := time.Now(); !reset.IsZero() && !now.Before(reset) && inFlight == 0 {
					reset, remaining = time.Time{}, 1
				}
				if remaining-inFlight <= 0 {
					mu.Unlock()
					time.Sleep(2 * time.Millisecond)
					continue
				}
				inFlight++
				mu.Unlock()
				q, err := nodes[r.IntN(2)].Read(7)
				mu.Lock()
				inFlight--
				if err != nil {
					t.Errorf("refused: %+v, %v", q, err)
					mu.Unlock()
					return
				}
				served++
				windows[q.Reset]++
				if q.Reset.After(reset) {
					reset, remaining = q.Reset, q.Remaining
				} else if q.Reset.Equal(reset) {
					remaining = min(remaining, q.Remaining)
				}
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	t.Logf("%d requests in %d windows: %v", served, len(windows), windows)
	for window, n := range windows {
		if n > 150 {
			t.Errorf("%d requests in the window until %s", n, window)
		}
	}
	if served < 300 {
		t.Errorf("only %d requests were served", served)
	}
}

// A restarted node knows what was used, and what a node held when it was
// stopped is still granted.
func TestCountersSurviveANode(t *testing.T) {
	t.Parallel() // it mostly waits
	address := testserver.NATS(t)
	limits := limitsOf(100, time.Hour)
	one, _ := counters(t, address, limits)
	two, stop := counters(t, address, limits)
	granted := 0
	for range 40 {
		for _, node := range []*auth.Throttle{one, two} {
			must.Get(node.Read(7))(t)
			granted++
		}
	}
	stop()
	again, _ := counters(t, address, limits)
	eventually(t, "the rest is granted", 20*time.Second, func() bool {
		for _, node := range []*auth.Throttle{again, one} {
			for _, err := node.Read(7); err == nil; _, err = node.Read(7) {
				granted++
			}
		}
		return granted >= 100
	})
	if granted != 100 {
		t.Errorf("%d granted", granted)
	}
}

// A node that cannot reach the others counts alone and does not make its
// callers wait; it rejoins by itself.
func TestCountersAlone(t *testing.T) {
	address := testserver.NATS(t)
	through, proxied := proxy.Before(t, address)
	far, _ := counters(t, proxied, limitsOf(50, time.Hour), func(c *auth.SharedConfig) { c.Wait, c.Retry = 200*time.Millisecond, 200*time.Millisecond })
	near, _ := counters(t, address, limitsOf(50, time.Hour))
	must.Get(far.Read(1))(t)
	through.Refuse()
	granted := 0
	for granted <= 200 {
		if _, err := far.Read(2); err != nil {
			break
		}
		granted++
	}
	if granted < 50 || granted > 100 { // alone, after at most one earlier lease
		t.Errorf("%d granted alone", granted)
	}
	through.Mend()
	next := contracts.AccountID(100)
	eventually(t, "counted together again", 30*time.Second, func() bool {
		next++
		_, _ = far.Read(next)
		q, err := near.Read(next)
		return err == nil && q.Remaining == 48
	})
}

// A request whose window ends while it is counted is counted in the next window
// by all nodes, whenever that happens.
func TestWindowEndsWhileARequestIsCounted(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	at, looks := time.Now().Truncate(time.Millisecond), 0 // looks: readings of the clock before the window ends; 0: the clock stands still
	now := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		if looks > 0 {
			if looks--; looks == 0 {
				at = at.Add(2 * time.Millisecond)
			}
		}
		return at
	}
	node, _ := countersAt(t, testserver.NATS(t), limitsOf(150, time.Minute), now, func(c *auth.SharedConfig) { c.LeaseFor = time.Hour })
	for n := 1; n < 9; n++ {
		account := contracts.AccountID(n)
		q := must.Get(node.Read(account))(t)
		mu.Lock()
		at, looks = q.Reset.Add(-time.Millisecond), n
		mu.Unlock()
		first := must.Get(node.Read(account))(t)
		mu.Lock()
		at, looks = q.Reset.Add(time.Millisecond), 0
		mu.Unlock()
		second := must.Get(node.Read(account))(t)
		if first.Reset.After(q.Reset) && second.Remaining != first.Remaining-1 {
			t.Errorf("the window ends at look %d: first %+v, then %+v", n, first, second)
		}
	}
}
