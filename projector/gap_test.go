package projector_test

import (
	"context"
	"errors"
	"testing"

	"preismon/contracts/event"
)

// TestGap: a batch that does not begin where the checkpoint ends is refused,
// alone, behind one under way, and behind one that failed before its caller
// looked, and the checkpoint stays: I1.
func TestGap(t *testing.T) {
	w := newWorld(t)
	w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2}, []int{0, 1})))
	w.apply(w.observations(10))
	a, b, c := w.observations(5), w.observations(5), w.observations(5)
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, event.ErrGap) {
			t.Errorf("%s: %v, want %v", what, err, event.ErrGap)
		}
	}
	refused("observations", w.p.ApplyObservations(t.Context(), b))
	finishA := w.p.BeginObservations(t.Context(), a)
	finishC := w.p.BeginObservations(t.Context(), c)
	if err := finishA(); err != nil {
		t.Error(err)
	}
	refused("behind one under way", finishC())
	first, second := w.catalog(mandate(2, 100)), w.catalog(order(2, 20, true, 0, []int{1, 2, 3}, []int{0, 1}))
	refused("catalogue", w.p.ApplyCatalog(t.Context(), second))
	if seq, err := w.p.Resume(t.Context(), event.StreamObservations, made(epoch)); err != nil || seq != a.Last {
		t.Errorf("it resumes at %d, want %d: %v", seq, a.Last, err)
	}
	// A batch of a recreated stream, without a Resume before it: it must
	// begin at the stream's first sequence.
	again := *c
	again.Epoch++
	refused("another epoch", w.p.ApplyObservations(t.Context(), &again))
	w.apply(first)
	w.apply(second)
	w.apply(b)
	w.apply(c)
	x, y := w.observations(5), w.observations(5)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	finishX := w.p.BeginObservations(ended, x) // fails before anything is under way
	finishY := w.p.BeginObservations(t.Context(), y)
	if finishX() == nil || finishY() == nil {
		t.Fatal("applied over a gap")
	}
	w.apply(x)
	w.apply(y)
	w.verify()
}
