package projector_test

import (
	"fmt"
	"testing"

	"preismon/contracts/event"
)

// TestScopeThatWasNotAnnounced: a scope comes into force, and the write that
// tells readers so fails, before or after it is done. The rows of lost pairs are
// deleted all the same, and rows that are granted later come once.
func TestScopeThatWasNotAnnounced(t *testing.T) {
	w := newWorld(t)
	all, sites := []int{1, 2, 3, 4, 5}, []int{0, 1, 2}
	scope := func(items ...int) *event.Batch { return w.catalog(order(1, 10, true, 0, items, sites)) }
	w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, all, sites)))
	w.apply(w.observations(60))
	w.verify()
	failures := 0
	for _, items := range [][]int{{2, 3, 4, 5, 6}, {1, 2}, {1, 2, 3, 4, 5, 6}} { // lost and granted, lost, granted
		for nth := range 3 {
			t.Run(fmt.Sprintf("%v/%d", items, nth), func(t *testing.T) {
				w.t = t
				w.conn.failNth("checkpoints", nth, nth == 1)
				failures += w.must(scope(items...))
				w.conn.failNth("none", 0, false)
				w.verify()
				w.apply(scope(all...))
				w.verify()
			})
		}
	}
	if failures < 6 {
		t.Errorf("only %d writes failed", failures)
	}
}
