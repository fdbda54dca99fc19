package projector_test

import (
	"testing"

	"preismon/contracts/event"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
)

// pipelined delivers everything, with two batches under way whenever possible,
// as the consumer loop does.
func (l *loop) pipelined() {
	l.t.Helper()
	type begun struct {
		b      *event.Batch
		finish func() error
	}
	for tries := 0; ; tries++ {
		if tries > 3000 {
			l.t.Fatal("the streams do not drain")
		}
		b := l.next()
		if b == nil {
			return
		}
		if b.Stream == event.StreamCatalog {
			if err := l.try(l.t.Context(), b); err == nil {
				l.pos[b.Stream] = b.Last
			}
			continue
		}
		var under []begun
		start := l.pos[b.Stream]
		for n := 0; n < 2+l.rnd.IntN(4) && b != nil && b.Stream == event.StreamObservations; n++ {
			if len(under) == 2 {
				if err := under[0].finish(); err != nil {
					break
				}
				start, under = under[0].b.Last, under[1:]
			}
			under = append(under, begun{b, l.p.BeginObservations(l.t.Context(), b)})
			l.pos[b.Stream] = b.Last // the end of the last batch begun
			b = l.next()
		}
		failed := false
		for _, u := range under {
			err := u.finish()
			if failed && err == nil {
				l.t.Fatalf("batch %d to %d was applied though the one before it failed", u.b.First, u.b.Last)
			}
			if failed = failed || err != nil; !failed {
				start = u.b.Last
			}
		}
		l.pos[event.StreamObservations] = start
		if failed && l.rnd.IntN(3) == 0 {
			l.crash()
		}
	}
}

// TestBehind begins a batch behind one that fails at one of its writes: the
// second batch fails, too, its checkpoint is not written, and both are applied
// afterwards.
func TestBehind(t *testing.T) {
	effort.Full(t, "a fault at each write of two batches")
	w := newWorld(t)
	w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1, 2})))
	for _, name := range []string{"observations", "observations_by_mandate", "latest_observations", "ingested_events", "checkpoints"} {
		for _, afterwards := range []bool{false, true} {
			w.apply(w.observations(5))
			applied := w.seq
			a, b, c := w.observations(20), w.observations(20), w.observations(20)
			b.Messages[3].Event = a.Messages[7].Event // a copy of an event that is under way
			w.oracle = newOracleFrom(w.oracle, allOf(w, a, b, c)...)
			w.conn.failOnce(name, afterwards)
			finishA := w.p.BeginObservations(t.Context(), a)
			finishB := w.p.BeginObservations(t.Context(), b)
			if finishA() == nil || finishB() == nil {
				t.Fatalf("%s, after=%v: applied in spite of the failure", name, afterwards)
			}
			var seq uint64
			w.scan("SELECT max(seq) FROM checkpoints WHERE stream = 'OBSERVATIONS'", nil, &seq)
			if seq > a.Last || seq > applied && name != "checkpoints" {
				t.Errorf("checkpoint at %d after %d", seq, applied)
			}
			if afterwards {
				w.restart()
			}
			w.apply(a)
			finishB = w.p.BeginObservations(t.Context(), b)
			finishC := w.p.BeginObservations(t.Context(), c)
			must.Do(t, finishB())
			must.Do(t, finishC())
			if w.verify(); t.Failed() {
				t.Fatalf("%s, after=%v", name, afterwards)
			}
		}
	}
}

// allOf returns the batches, preceded by all earlier events that the oracle
// knows.
func allOf(w *world, batches ...*event.Batch) []*event.Batch {
	first := &event.Batch{Stream: event.StreamObservations, Epoch: epoch}
	for _, m := range w.oracle.events {
		if m.Seq < batches[0].First {
			first.Messages = append(first.Messages, m)
		}
	}
	return append([]*event.Batch{first}, batches...)
}
