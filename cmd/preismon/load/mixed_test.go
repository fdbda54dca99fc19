package load_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/process"
	"preismon/ingest/market"
)

// clients is how many send requests at once.
const clients = 200

// names are those of the accounts that clients have.
var names = []string{"anna", "bert", "clara", "dora", "emil", "frida", "hanna"}

// tailsOfAccount is how many tails each account has beside them.
const tailsOfAccount = 2

// mix weights the kinds of requests roughly as real clients send them.
var mix = slices.Concat(
	slices.Repeat([]string{page}, 6), slices.Repeat([]string{tool}, 4), slices.Repeat([]string{sites, latest, history}, 3),
	slices.Repeat([]string{stream, download}, 2), []string{sums, moved, changes, alerts, windows, position, lookup, evidence, explain, login},
)

// TestLoad: many clients of mixed kinds, of all mandates, on two nodes: none
// gets an error except one that says when to retry and is obeyed: a 429, or for
// at most one login in a hundred a 503. Every answer is the whole truth. Tails
// beside them end or are cut off, and lose nothing when they are continued. One
// of the nodes compares what it remembers. A client rests for as long as its
// last answer took: on a slow machine fewer ask at once.
func TestLoad(t *testing.T) {
	effort.Full(t, "load")
	e := newEstate(t, market.Config{Seed: 9, Scale: 0.3}, 24*time.Hour)
	nodes := []*process.Role{e.node(process.Compares, "--reads-per-minute", "6000"), e.node("--reads-per-minute", "6000")}
	var accounts []*client
	for i, name := range names {
		c := e.client(name, nodes[i%2].URL)
		c.learn(t)
		accounts = append(accounts, c)
	}
	for _, kind := range []string{alerts, position} {
		if !slices.ContainsFunc(accounts, func(c *client) bool { return !strings.HasPrefix(c.truth[kind], "2 bytes") }) {
			t.Errorf("%s: no account has any", kind)
		}
	}
	e.settle(nodes[0], holding{})
	quiet := held(nodes[0])
	m := newMeasures()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	following, leave := context.WithCancel(t.Context())
	defer leave()
	var running, reading sync.WaitGroup
	var tails []*tail
	for _, c := range accounts {
		want := c.fed(t)
		for range tailsOfAccount {
			tails = append(tails, c.tail(want, 15*time.Second, true))
		}
	}
	began := time.Now()
	for _, f := range tails {
		reading.Go(func() {
			f.run(following, func(_ time.Time, r reply) {
				m.add(r)
				if (r.status != http.StatusOK && r.broke == nil && !r.later() || r.wrong != nil) && m.fail() <= 10 {
					t.Errorf("%s: %v", f.client.account.LoginIdentifier, r)
				}
			})
		})
	}
	for i := range clients {
		running.Go(func() {
			rnd := rand.New(rand.NewPCG(9, uint64(i)))
			c := accounts[i%len(accounts)]
			for ctx.Err() == nil {
				kind := mix[rnd.IntN(len(mix))]
				if !c.may(kind) {
					continue
				}
				r := c.send(context.WithoutCancel(ctx), kind)
				m.add(r)
				if r.later() && r.retry >= 1 && r.wrong == nil {
					pause(ctx, time.Duration(r.retry)*time.Second)
					continue
				}
				if (r.status != http.StatusOK || r.wrong != nil) && m.fail() <= 10 {
					t.Errorf("%s: %v", c.account.LoginIdentifier, r)
				}
				pause(ctx, r.took)
			}
		})
	}
	pause(ctx, *loadFor)
	until(t, 3*time.Minute, "each kind was answered ten times", func() bool {
		return !slices.ContainsFunc(kinds, func(kind string) bool { return m.answered(kind) < 10 })
	})
	cancel()
	running.Wait()
	took := time.Since(began)
	for _, f := range tails {
		until(t, time.Minute, "a tail had all rows", func() bool { return f.whole.Load() > 0 })
	}
	leave()
	reading.Wait()
	t.Logf("clients=%d nodes=%d for %v: %d requests, %.0f a second, failed=%d", clients, len(nodes), took.Round(time.Second), m.total, float64(m.total)/took.Seconds(), m.failed)
	t.Log(m.lines())
	for _, kind := range kinds {
		if n := len(m.took[kind]); n > 0 && m.early[kind] == n {
			t.Errorf("%s: every one of %d answers ended early", kind, n)
		}
	}
	if busy, logins := m.limited[login], len(m.took[login]); busy*5 > logins { // none on a quiet machine; a node hashes as many at once as its processors can
		t.Errorf("%d logins were put off, and %d answered: more than one in five", busy, logins)
	}
	for _, c := range accounts {
		c.http.CloseIdleConnections()
	}
	process.WantCompared(t, nodes[0])
	e.settle(nodes[0], quiet)
}

// TestFairness: the pages of a small customer next to a large one, whose three
// accounts read as much as they may; for as long as the large one needs to read
// some streams to their ends, however slow the machine is.
func TestFairness(t *testing.T) {
	effort.Full(t, "load")
	e := newEstate(t, market.Config{Seed: 10, Scale: 0.5}, 48*time.Hour)
	n := e.node("--reads-per-minute", "100000")
	light := e.client("hanna", n.URL)
	light.learn(t)
	pages := func(lasts time.Duration, enough func() bool) []time.Duration {
		var took []time.Duration
		for began := time.Now(); time.Since(began) < lasts || !enough() && time.Since(began) < lasts+3*time.Minute; {
			r := light.send(t.Context(), page)
			if r.status != http.StatusOK || r.wrong != nil {
				t.Errorf("a page of the small customer: %v", r)
			}
			took = append(took, r.took)
		}
		slices.Sort(took)
		return took
	}
	half := min(20*time.Second, max(3*time.Second, *loadFor/4))
	alone := pages(half, func() bool { return true })
	heavy := []*client{e.client("anna", n.URL), e.client("bert", n.URL), e.client("clara", n.URL)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	m := newMeasures()
	for _, c := range heavy {
		c.learn(t)
	}
	for _, c := range heavy {
		for range 16 { // twice as many as an account has places
			running.Go(func() {
				for ctx.Err() == nil {
					r := c.send(ctx, stream)
					if ctx.Err() == nil {
						m.add(r)
					}
					if r.status == http.StatusTooManyRequests {
						pause(ctx, 300*time.Millisecond) // it ignores Retry-After
					}
				}
			})
		}
	}
	time.Sleep(500 * time.Millisecond)
	concurrent := pages(half, func() bool { return m.answered(stream) >= 4 })
	cancel()
	running.Wait()
	t.Logf("pages of a small customer: alone n=%d p50=%v p99=%v; beside %d streams of another one: n=%d p50=%v p99=%v",
		len(alone), share(alone, 0.5), share(alone, 0.99), len(m.took[stream]), len(concurrent), share(concurrent, 0.5), share(concurrent, 0.99))
	if len(m.took[stream]) == 0 {
		t.Error("the large customer read no stream to its end")
	}
	if most := 40*share(alone, 0.5) + 2*time.Second; share(concurrent, 0.99) > most {
		t.Errorf("p99 of %v beside streams, at most %v: it is starved", share(concurrent, 0.99), most)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// share returns the time within which the given part of the requests was
// answered.
func share(sorted []time.Duration, part float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))].Round(100 * time.Microsecond)
}

// measures are the results of many requests.
type measures struct {
	mu            sync.Mutex
	took          map[string][]time.Duration // of answers, by kind
	limited       map[string]int             // told to retry: 429, and 503 for a login
	early         map[string]int             // of the answers, those that ended at the soft deadline
	total, failed int
}

func newMeasures() *measures {
	return &measures{took: map[string][]time.Duration{}, limited: map[string]int{}, early: map[string]int{}}
}

func (m *measures) add(r reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total++
	switch r.status {
	case http.StatusOK:
		m.took[r.kind] = append(m.took[r.kind], r.took)
		if r.early {
			m.early[r.kind]++
		}
	default:
		if r.later() {
			m.limited[r.kind]++
		}
	}
}

// later reports whether the service says to retry later: the limit of an
// account is used up, or more people log in than it can check passwords for.
func (r *reply) later() bool {
	return r.status == http.StatusTooManyRequests || r.kind == login && r.status == http.StatusServiceUnavailable
}

func (m *measures) answered(kind string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.took[kind])
}

func (m *measures) fail() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed++
	return m.failed
}

// lines says how requests of each kind went, a line each.
func (m *measures) lines() string {
	var b strings.Builder
	for _, kind := range slices.Concat(kinds, []string{follow}) {
		took := m.took[kind]
		slices.Sort(took)
		fmt.Fprintf(&b, "\nkind=%-8s answers=%-6d early=%-4d later=%-4d p50=%-9v p99=%v", kind, len(took), m.early[kind], m.limited[kind], share(took, 0.5), share(took, 0.99))
	}
	return b.String()
}
