package ingest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
	lines "preismon/deploy/testserver/proxy"
	"preismon/ingest"
)

// history records who led when.
type history struct {
	mu     sync.Mutex
	terms  []string
	fences []uint64
}

func (h *history) add(what string, fence uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.terms = append(h.terms, what)
	if fence != 0 {
		h.fences = append(h.fences, fence)
	}
}

func (h *history) has(what string) func() bool {
	return func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return slices.Contains(h.terms, what)
	}
}

// candidate competes for the lease until the test ends or stop is called.
func (h *history) candidate(t *testing.T, name string, js jetstream.JetStream) (stop func()) {
	t.Helper()
	l := must.Get(ingest.NewLease(ingest.LeaseConfig{Key: ingest.ProjectorLease(0, 1), Holder: name, TTL: 600 * time.Millisecond}, js, logger(t)))(t)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		err := l.RunAsLeader(ctx, func(ctx context.Context, fence uint64) error {
			h.add(name+" leads", fence)
			<-ctx.Done()
			if errors.Is(context.Cause(ctx), ingest.ErrLeaseLost) {
				h.add(name+" lost", 0)
			} else {
				h.add(name+" ends", 0)
			}
			return ctx.Err()
		})
		if err != nil {
			t.Error(err)
		}
	}()
	stop = func() { cancel(); <-over }
	t.Cleanup(stop)
	return stop
}

func (h *history) check(t *testing.T, want ...string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.terms, want) {
		t.Errorf("%q, want %q", h.terms, want)
	}
	for i := 1; i < len(h.fences); i++ {
		if h.fences[i] <= h.fences[i-1] {
			t.Errorf("fences %v do not rise", h.fences)
		}
	}
}

func TestLeaseHasOneLeaderAndPassesOn(t *testing.T) {
	t.Parallel()
	_, js := connect(t)
	var h history
	stopA := h.candidate(t, "a", js)
	must.Eventually(t, time.Minute, "a leads", h.has("a leads"))
	stopB := h.candidate(t, "b", js)
	time.Sleep(900 * time.Millisecond) // more than a TTL: a renews
	h.check(t, "a leads")
	stopA()
	begin := time.Now()
	must.Eventually(t, time.Minute, "b leads", h.has("b leads"))
	if d := time.Since(begin); d > 400*time.Millisecond {
		t.Errorf("a lease given back was taken after %s", d)
	}
	stopB()
	h.check(t, "a leads", "a ends", "b leads", "b ends")
}

// twoWays returns two connections to a server, the second of which leads through
// a line that can be disturbed.
func twoWays(t *testing.T) (js jetstream.JetStream, line *lines.Proxy, through jetstream.JetStream) {
	t.Helper()
	n := startServer(t)
	_, js = streams(t, dial(t, n.url()))
	line, url := lines.Before(t, n.url())
	return js, line, must.Get(jetstream.New(dial(t, url, nats.PingInterval(time.Minute))))(t)
}

// TestLeaseIsGivenBackDuringARenewal: the renewal was written, and its reply has
// not come when the term ends.
func TestLeaseIsGivenBackDuringARenewal(t *testing.T) {
	t.Parallel()
	js, line, behind := twoWays(t)
	var h history
	stopA := h.candidate(t, "a", behind)
	must.Eventually(t, time.Minute, "a leads", h.has("a leads"))
	h.candidate(t, "b", js)
	line.Set(lines.Down, lines.Rule{Then: lines.Hold})
	time.Sleep(270 * time.Millisecond) // the first renewal is sent after 200
	stopped := make(chan struct{})
	go func() { defer close(stopped); stopA() }()
	must.Eventually(t, time.Minute, "a ends", h.has("a ends"))
	time.Sleep(20 * time.Millisecond)
	line.Heal()
	begin := time.Now()
	must.Eventually(t, time.Minute, "b leads", h.has("b leads"))
	if d := time.Since(begin); d > 250*time.Millisecond {
		t.Errorf("a lease given back was taken after %s", d)
	}
	<-stopped
}

func TestLeaseZombieLoses(t *testing.T) {
	t.Parallel()
	js, line, zombie := twoWays(t)
	var h history
	h.candidate(t, "zombie", zombie)
	must.Eventually(t, time.Minute, "zombie leads", h.has("zombie leads"))
	h.candidate(t, "standby", js)
	for _, d := range []lines.Direction{lines.Up, lines.Down} {
		line.Set(d, lines.Rule{Then: lines.Hold})
	}
	begin := time.Now()
	must.Eventually(t, time.Minute, "standby leads", h.has("standby leads"))
	if d := time.Since(begin); d > 3*time.Second {
		t.Errorf("taken over after %s", d)
	}
	line.Heal()
	time.Sleep(900 * time.Millisecond) // more than a TTL
	// The zombie stopped before the standby began, and stays out.
	h.check(t, "zombie leads", "zombie lost", "standby leads")
}

func TestLeaseOutlivesTheServer(t *testing.T) {
	t.Parallel()
	n := startServer(t)
	_, js := streams(t, dial(t, n.url()))
	var h history
	h.candidate(t, "a", js)
	must.Eventually(t, time.Minute, "a leads", h.has("a leads"))
	n.stop()
	must.Eventually(t, time.Minute, "a loses", h.has("a lost"))
	n.start()
	must.Eventually(t, time.Minute, "a leads again", func() bool { h.mu.Lock(); defer h.mu.Unlock(); return len(h.fences) == 2 })
	h.check(t, "a leads", "a lost", "a leads")
}

func TestLeaseGivesBackTheLeadersError(t *testing.T) {
	t.Parallel()
	_, js := connect(t)
	want := errors.New("no database")
	l := must.Get(ingest.NewLease(ingest.LeaseConfig{Key: "projector.0"}, js, nil))(t)
	for range 2 { // returned each time
		if err := l.RunAsLeader(t.Context(), func(context.Context, uint64) error { return want }); !errors.Is(err, want) {
			t.Errorf("%v", err)
		}
	}
}

// TestLeaseAloneTakesOverAtOnce: a process that knows it is the only one does
// not wait for a dead leader's lease to expire.
func TestLeaseAloneTakesOverAtOnce(t *testing.T) {
	t.Parallel()
	_, js := connect(t)
	kv := must.Get(js.CreateOrUpdateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: ingest.BucketLeases, History: 1}))(t)
	dead := must.Get(kv.Put(t.Context(), ingest.ProjectorLease(0, 1), []byte("a process that was killed")))(t)
	l := must.Get(ingest.NewLease(ingest.LeaseConfig{Key: ingest.ProjectorLease(0, 1), TTL: time.Hour, Alone: true}, js, logger(t)))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var got uint64
	err := l.RunAsLeader(ctx, func(_ context.Context, fence uint64) error { got = fence; return nil })
	if err != nil || got <= dead {
		t.Fatalf("fence %d after %d, %v", got, dead, err)
	}
}

// TestLeaseForce: a lease is taken from a living leader, which ends its term,
// does not take the lease back although it was alone when it began, and leads
// again later.
func TestLeaseForce(t *testing.T) {
	t.Parallel()
	_, js := connect(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	lead := func(c ingest.LeaseConfig, leading chan<- uint64, ended <-chan struct{}) (over chan error) {
		t.Helper()
		c.Key, c.TTL = ingest.ProjectorLease(0, 1), 2*time.Second
		l := must.Get(ingest.NewLease(c, js, logger(t)))(t)
		over = make(chan error, 1)
		go func() {
			over <- l.RunAsLeader(ctx, func(ctx context.Context, fence uint64) error {
				select {
				case leading <- fence:
				case <-ctx.Done():
				}
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-ended:
					return nil
				}
			})
		}()
		return over
	}
	first, second := make(chan uint64, 10), make(chan uint64, 10)
	end := make(chan struct{})
	lead(ingest.LeaseConfig{Alone: true}, first, nil)
	one := <-first
	over := lead(ingest.LeaseConfig{Force: true}, second, end)
	two := <-second
	if two <= one {
		t.Errorf("fence %d after %d", two, one)
	}
	select {
	case <-first:
		t.Error("the first leader took it back")
	case <-second:
		t.Error("the second leader lost it")
	case <-time.After(3 * time.Second): // more than the TTL
	}
	close(end)
	if err := <-over; err != nil {
		t.Error(err)
	}
	select {
	case three := <-first:
		if three <= two {
			t.Errorf("fence %d after %d", three, two)
		}
	case <-ctx.Done():
		t.Error("the first leader does not lead again")
	}
}

// TestLeaseFencesRiseWithANewBucket: a bucket that was lost and recreated
// counts its revisions from 1; fences still rise, otherwise the tables would
// refuse the next leader.
func TestLeaseFencesRiseWithANewBucket(t *testing.T) {
	t.Parallel()
	_, js := connect(t)
	l := must.Get(ingest.NewLease(ingest.LeaseConfig{Key: ingest.ProjectorLease(0, 1), TTL: time.Second}, js, logger(t)))(t)
	var fences []uint64
	for range 3 {
		for range 2 {
			must.Do(t, l.RunAsLeader(t.Context(), func(_ context.Context, fence uint64) error { fences = append(fences, fence); return nil }))
		}
		must.Do(t, js.DeleteKeyValue(t.Context(), ingest.BucketLeases))
	}
	for i := 1; i < len(fences); i++ {
		if fences[i] <= fences[i-1] {
			t.Fatalf("fences %v do not rise", fences)
		}
	}
}

// TestLeaseFenceComesFromTheTables: in a bucket that was restored from an old
// copy, or created after one whose clock was ahead, fences are lower than those
// in the tables. After the first refused term the fence is higher, and so are
// the fences of all later terms; the leader of another partition keeps its
// lease.
func TestLeaseFenceComesFromTheTables(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]uint64{"old copy": 100_000, "a clock a year ahead": (365 * 24 * 3_600_000) << 22} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, js := connect(t)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			other := must.Get(ingest.NewLease(ingest.LeaseConfig{Key: ingest.ProjectorLease(1, 2), TTL: 2 * time.Second}, js, logger(t)))(t)
			var terms atomic.Int32
			led := make(chan struct{})
			ends, end := context.WithCancel(ctx)
			over := make(chan error, 1)
			go func() {
				over <- other.RunAsLeader(ends, func(ctx context.Context, _ uint64) error {
					if terms.Add(1) == 1 {
						close(led)
					}
					<-ctx.Done()
					return ctx.Err()
				})
			}()
			<-led

			var newest, learnt uint64
			tables := func(context.Context) (uint64, error) { return newest, nil }
			tries := 0
			lead := func(_ context.Context, fence uint64) error {
				if tries++; newest == 0 {
					newest = fence + ahead
				}
				if fence <= newest {
					return event.ErrDeposed
				}
				newest = fence
				return nil
			}
			c := ingest.LeaseConfig{Key: ingest.ProjectorLease(0, 2), TTL: 500 * time.Millisecond, Newest: tables}
			for n := range 3 { // three processes, one after the other
				if n > 0 {
					c.Newest = func(context.Context) (uint64, error) { learnt++; return newest, nil }
				}
				l := must.Get(ingest.NewLease(c, js, logger(t)))(t)
				if err := l.RunAsLeader(ctx, lead); err != nil || ctx.Err() != nil {
					t.Fatalf("process %d: %v, %v", n, err, ctx.Err())
				}
			}
			if tries != 4 || learnt != 0 {
				t.Errorf("%d terms, want 4: the first alone is refused; %d asked the tables", tries, learnt)
			}
			time.Sleep(2500 * time.Millisecond) // the other would have lost its lease, and led again
			end()
			if err := <-over; err != nil || terms.Load() != 1 {
				t.Errorf("the other leader had %d terms, %v", terms.Load(), err)
			}
		})
	}
}
