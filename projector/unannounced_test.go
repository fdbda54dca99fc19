package projector_test

import (
	"slices"
	"testing"

	"preismon/contracts/event"
)

// TestScopeThatWasNotAnnounced: a scope comes into force, and the write that
// announces it to readers fails, before or after it took effect. The rows of
// revoked pairs are still deleted, and rows of pairs granted later are there
// exactly once.
func TestScopeThatWasNotAnnounced(t *testing.T) {
	w := newWorld(t)
	scope := func(items ...int) *event.Batch { return w.catalog(order(1, 10, true, 0, items, []int{0, 1, 2})) }
	w.apply(w.catalog(mandate(1, 100)))
	w.apply(scope(1, 2, 3, 4, 5))
	w.apply(w.observations(60))
	failures := 0
	for nth := range 3 {
		for _, items := range [][]int{{2, 3, 4, 5, 6}, {2, 3}, {1, 2, 3, 4, 5}} { // revoked and granted, revoked, granted
			w.conn.failNth("checkpoints", nth, nth == 1)
			failures += w.must(scope(items...))
			w.conn.failNth("none", 0, false)
			if slices.Contains(items, 1) && nth < 2 {
				w.settle()
				continue // the next round compares what was granted
			}
			if w.verify(); t.Failed() {
				t.Fatalf("write %d of the scope of %v", nth, items)
			}
		}
	}
	if failures < 6 {
		t.Errorf("only %d writes failed", failures)
	}
}
