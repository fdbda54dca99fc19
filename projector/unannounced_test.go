package projector_test

import (
	"context"
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

// recordedNotices records what readers are told.
type recordedNotices struct{ last string }

func (r *recordedNotices) Begin(context.Context) error {
	r.last = "begin"
	return nil
}

func (r *recordedNotices) End(event.Marks, *event.Arrivals) { r.last = "end" }

// TestAnnouncementThatFailsTwice: a grant that waited for the rest of the
// catalogue is applied before a batch, and the write that announces it fails,
// also when it is tried again. Rows are copied only after it succeeded, and then
// readers know that nothing is being written.
func TestAnnouncementThatFailsTwice(t *testing.T) {
	w := newWorld(t)
	readers := &recordedNotices{}
	w.cfg.Readers = readers
	w.restart()
	w.apply(w.catalog(mandate(1, worldItems), order(1, 11, true, 0, []int{1, 2}, []int{0})))
	w.apply(w.observations(20))
	w.settle()
	grant := w.catalog(order(1, 11, true, 0, []int{1, 2, 3, 4}, []int{0}))
	grant.Pending = 1
	w.apply(grant)
	inForce := func() (seq uint64) {
		w.scan("SELECT max(seq) FROM checkpoints WHERE stream = 'IN_FORCE'", nil, &seq)
		return seq
	}
	before, failures, copied := inForce(), 0, 0
	w.conn.hook(func(id string) error {
		switch what(id) {
		case "checkpoints":
			if failures < 2 {
				failures++
				return errInjected
			}
		case "backfill":
			if copied++; inForce() == before {
				t.Error("rows are copied before readers know")
			}
		}
		return nil
	})
	if n := w.must(w.observations(5)); n != 2 || copied == 0 {
		t.Errorf("%d tries failed, rows were copied %d times: this shows nothing", n, copied)
	}
	w.conn.hook(nil)
	w.apply(w.observations(5))
	if readers.last != "end" {
		t.Errorf("the last that readers know is %q", readers.last)
	}
	w.verify()
}
