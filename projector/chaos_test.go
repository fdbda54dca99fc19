package projector_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"preismon/contracts/event"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
)

// loop is a consumer loop over two streams, with failures.
type loop struct {
	*world
	streams map[string][]event.Message
	pos     map[string]uint64
	chance  float64 // of a failed write
}

func newLoop(w *world) *loop {
	return &loop{world: w, streams: map[string][]event.Message{}, pos: map[string]uint64{}}
}

func (l *loop) publish(b *event.Batch) {
	l.streams[b.Stream] = append(l.streams[b.Stream], b.Messages...)
}

// armed makes writes of the current projector fail at random, before or after
// they took effect.
func (l *loop) armed() {
	chance, r := l.chance, newRand(l.rnd.Uint64())
	var mu sync.Mutex
	hook := func(id string) error {
		mu.Lock()
		defer mu.Unlock()
		if what(id) != "" && r.Float64() < chance {
			return fmt.Errorf("%w: %s", errInjected, id)
		}
		return nil
	}
	l.conn.mu.Lock()
	defer l.conn.mu.Unlock()
	l.conn.before, l.conn.after = hook, hook
}

// crash starts a new projector, which reads where to resume.
func (l *loop) crash() {
	l.t.Helper()
	l.restart()
	l.armed()
	for _, s := range []string{event.StreamCatalog, event.StreamObservations} {
		for try := 0; ; try++ {
			seq, err := l.p.Resume(l.t.Context(), s, made(epoch))
			if err == nil {
				l.pos[s] = seq
				break
			}
			if try > 500 {
				l.t.Fatal(err)
			}
		}
	}
}

// drain delivers everything, in batches of random size, the catalogue first.
func (l *loop) drain() {
	l.t.Helper()
	for tries := 0; ; tries++ {
		if tries > 3000 {
			l.t.Fatal("the streams do not drain")
		}
		b := l.next()
		if b == nil {
			return
		}
		err := l.try(l.t.Context(), b)
		switch {
		case err == nil:
			l.pos[b.Stream] = b.Last
		case l.rnd.IntN(3) == 0:
			l.crash()
		}
	}
}

func (l *loop) next() *event.Batch {
	for _, s := range []string{event.StreamCatalog, event.StreamObservations} {
		rest := l.streams[s][l.pos[s]:]
		if len(rest) == 0 {
			continue
		}
		n := 1 + l.rnd.IntN(len(rest))
		return &event.Batch{
			Stream: s, Epoch: epoch, First: rest[0].Seq, Last: rest[n-1].Seq, Messages: rest[:n], Pending: uint64(len(rest) - n),
		}
	}
	return nil
}

// randomChange is a record that changes scopes.
func randomChange(r *rand.Rand) event.Payload {
	m := uint64(1 + r.IntN(3))
	if r.IntN(4) == 0 {
		return mandate(m, r.IntN(worldItems+2))
	}
	pick := func(n int) []int {
		var list []int
		for i := range n {
			if r.IntN(2) == 0 {
				list = append(list, i)
			}
		}
		return list
	}
	items := pick(worldItems)
	r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	for i := range items {
		items[i]++
	}
	return order(m, m*10+uint64(r.IntN(3)), r.IntN(4) != 0, r.IntN(3), items, pick(worldSites))
}

// TestChaos draws histories of observations and scope changes, makes writes
// fail before and after they took effect, crashes projectors, and compares
// every table with the oracle whenever the streams are drained. Two batches are
// under way, with some events that were published before; or they come one at
// a time, the floor rises in between, and audits with content find nothing.
func TestChaos(t *testing.T) {
	for name, c := range map[string]struct {
		seeds           int
		underWay, floor bool
	}{"two batches": {seeds: 2, underWay: true}, "floor": {seeds: effort.Often(1, 2), floor: true}} {
		for seed := range uint64(c.seeds) {
			t.Run(fmt.Sprintf("%s/seed %d", name, seed), func(t *testing.T) {
				if c.underWay {
					effort.Full(t, "random faults with two batches under way")
				}
				t.Parallel()
				w, k := newWorld(t), newKept(t)
				w.rnd = rand.New(rand.NewPCG(seed, 7))
				w.cfg.MaxBlockRows, w.cfg.BackfillRows = 1+w.rnd.IntN(100), 1+w.rnd.IntN(100)
				told := w.told()
				l := newLoop(w)
				l.crash()
				drain, batch, rises := l.drain, w.observations, 0
				if c.underWay {
					drain, batch = l.pipelined, l.copies
				}
				if c.floor {
					batch = func(n int) *event.Batch { return k.keep(w.aroundQuarters(n)) }
				}
				ups := []time.Time{{}, quarters[1], quarters[2], quarters[2], quarters[3], quarters[3]}
				for round, at := range ups[:effort.Often(3, len(ups))] {
					l.chance = []float64{0, 0.05, 0.15}[w.rnd.IntN(3)]
					l.armed()
					for range 2 + w.rnd.IntN(3) {
						if w.rnd.IntN(2) == 0 {
							l.publish(w.catalog(randomChange(w.rnd)))
						} else {
							l.publish(batch(1 + w.rnd.IntN(30)))
						}
						if w.rnd.IntN(3) == 0 {
							drain()
						}
						if !c.floor || round == 0 {
							continue
						}
						was := w.floor()
						if err := w.p.Expire(t.Context(), at); err != nil && !errors.Is(err, errInjected) {
							t.Fatal(err)
						}
						if w.floor() > was {
							rises++
						}
						if w.rnd.IntN(3) == 0 {
							l.crash()
						}
					}
					drain()
					l.chance = 0
					l.armed()
					if c.floor {
						w.oracle.floor = w.floor()
					}
					w.verify()
					if c.floor && w.seq > 0 { // there is something to prove
						w.clean(k)
					}
					if t.Failed() {
						t.Fatalf("round %d", round)
					}
				}
				if c.floor && rises == 0 {
					t.Error("the floor never rose")
				}
				if told.of == 0 || told.not == 0 || told.rows == 0 {
					t.Errorf("readers know of %d checkpoints what arrived, %d rows, and of %d nothing", told.of, told.rows, told.not)
				}
				t.Logf("%+v", w.p.Stats())
			})
		}
	}
}

// copies returns observations, some of which are copies of earlier ones.
func (l *loop) copies(n int) *event.Batch {
	known := l.streams[event.StreamObservations]
	b := l.observations(n)
	for i := range b.Messages {
		if len(known) > 0 && l.rnd.IntN(10) == 0 {
			delete(l.oracle.events, b.Messages[i].Event.ID)
			b.Messages[i].Event = known[len(known)-1-l.rnd.IntN(min(40, len(known)))].Event
		}
	}
	return b
}

// TestReplay delivers whole streams again, also to a new projector, and then
// events that were published again under the same ids, as by a producer that
// was cut off for longer than the stream remembers ids.
func TestReplay(t *testing.T) {
	w := newWorld(t)
	c := w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1, 2}))
	first := w.observations(40)
	for range 2 {
		for range 2 {
			w.apply(c)
			w.apply(first)
		}
		w.restart()
	}
	again := w.observations(4)
	again.Messages[1].Event = first.Messages[3].Event // known
	again.Messages[3].Event = again.Messages[0].Event // twice in the batch
	w.oracle = newOracleFrom(w.oracle, first, again)
	w.apply(again)
	w.verify()
	equals.Is(t, 2, w.p.Stats().DuplicateEvents, "duplicates counted")
	var versions int
	if w.scan("SELECT uniqExact(version) FROM scope_pairs", nil, &versions); versions != 1 {
		t.Errorf("%d versions of an unchanged scope, want 1", versions)
	}
}

func newOracleFrom(old *oracle, batches ...*event.Batch) *oracle {
	o := newOracle()
	o.orders, o.packages = old.orders, old.packages
	for _, b := range batches {
		o.observe(b)
	}
	return o
}

// TestSteps interrupts a change of scope before and after each of its writes,
// with and without a restart, and expects the result of an undisturbed change.
func TestSteps(t *testing.T) {
	effort.Full(t, "a fault at each write of a change of scope")
	type step struct {
		name              string
		afterwards, crash bool
	}
	steps := []step{{"checkpoints", true, true}}
	for _, name := range []string{"orders", "scopes_applied", "scope_pairs", "backfill", "scopes", "delete", "checkpoints"} {
		// A crash after a write equals one before the next: the tables
		// are the same, and memory is gone.
		steps = append(steps, step{name, false, true}, step{name, true, false})
	}
	w := newWorld(t)
	var records []event.Payload // a mandate for each step
	for n := range steps {
		m := uint64(n + 1)
		records = append(records, mandate(m, 100), order(m, 10*m, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1}))
	}
	w.apply(w.catalog(records...))
	w.apply(w.observations(30))
	w.settle()
	verified := 0
	for n, s := range steps {
		m, items := uint64(n+1), []int{4, 5, 6, 7}
		if s.name == "scopes_applied" { // written before the change if no pair is revoked
			items = []int{1, 2, 3, 4, 5, 6, 7}
		}
		change := w.catalog(order(m, 10*m, true, 0, items, []int{0, 1, 2}))
		w.conn.failOnce(s.name, s.afterwards)
		if err := w.try(t.Context(), change); err == nil {
			t.Fatalf("%+v: no failure", s)
		}
		if s.crash {
			w.restart()
		}
		w.apply(change)
		w.apply(w.observations(8))
		w.settle() // otherwise the next failure could meet a write of this step
		if n%5 != 4 {
			continue
		}
		if w.verify(); t.Failed() {
			t.Fatalf("after one of %+v", steps[verified:n+1])
		}
		verified = n + 1
	}
}

// TestScopeSteps checks what a reader of a whole mandate may see while a scope
// changes: whenever the versions are equal, the table holds exactly the pairs
// of the version in force.
func TestScopeSteps(t *testing.T) {
	w := newWorld(t)
	w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1})))
	w.apply(w.observations(60))
	w.settle()
	var looked atomic.Int32
	look := func(id string) error {
		if what(id) == "" {
			return nil
		}
		looked.Add(1)
		var foreign, lacking, pairs, written uint64
		w.scan(`WITH (SELECT max(version) FROM scopes WHERE mandate = 1) AS force, (SELECT max(version) FROM scopes_applied WHERE mandate = 1) AS applied
			SELECT
				(SELECT count() FROM observations_by_mandate WHERE force = applied AND mandate = 1 AND (item, site) NOT IN (SELECT item, site FROM scope_pairs WHERE mandate = 1 AND version = force)),
				(SELECT count() FROM observations WHERE force = applied AND (item, site) IN (SELECT item, site FROM scope_pairs WHERE mandate = 1 AND version = force))
					- (SELECT count() FROM observations_by_mandate WHERE force = applied AND mandate = 1),
				(SELECT any(pairs) FROM scopes WHERE mandate = 1 AND version = force),
				(SELECT count() FROM scope_pairs WHERE mandate = 1 AND version = force)`, nil, &foreign, &lacking, &pairs, &written)
		if foreign != 0 || lacking != 0 || pairs != written {
			t.Errorf("before %s: %d foreign rows, %d lacking, %d pairs of %d", id, foreign, lacking, written, pairs)
		}
		return nil
	}
	w.conn.hook(look)
	for _, items := range [][]int{{4, 5, 6, 7}, {4, 5}, {}, {1, 2, 3, 4, 5, 6, 7}} {
		w.apply(w.catalog(order(1, 10, true, 0, items, []int{1, 2})))
		w.settle()
	}
	w.conn.hook(nil)
	w.verify() // after the last change
	if looked.Load() < 20 {
		t.Errorf("looked %d times only", looked.Load())
	}
}
