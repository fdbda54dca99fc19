package projector_test

import (
	"testing"

	"preismon/ingest"
	"preismon/projector"
)

var _ ingest.Sink = (*projector.Projector)(nil)

func TestApply(t *testing.T) {
	w := newWorld(t)
	w.apply(w.catalog(
		mandate(1, 100), mandate(2, 3), order(1, 10, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1}), order(2, 20, true, 0, []int{3, 4, 5, 6, 7}, []int{1, 2, 3}),
		order(2, 21, false, 0, []int{8}, []int{1, 2, 3}), order(3, 30, true, 0, []int{8}, []int{1, 2, 3})))
	w.apply(w.observations(50))
	w.apply(w.observations(1))
	w.verify()
	seq, err := w.p.Resume(t.Context(), "OBSERVATIONS", made(epoch))
	if err != nil || seq != 51 {
		t.Errorf("Resume = %d, %v, want 51", seq, err)
	}
}
