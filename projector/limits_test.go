package projector_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"preismon/contracts/event"
)

// TestPairsAreBounded: a record with more pairs than allowed is rejected before
// anything of its batch is written, and the rest of the batch is applied
// without it, with the same result for a projector that receives the batch
// again.
func TestPairsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.cfg.MaxOrderPairs, w.cfg.MaxMandatePairs = 8, 12
	w.restart()
	three, four := []int{1, 2, 3}, []int{1, 2, 3, 4}
	sites := []int{0, 1}
	b := w.catalog(
		mandate(1, 100),
		order(1, 10, true, 0, four, sites),                 // 8 pairs
		order(1, 11, true, 1, []int{1, 2, 3, 4, 5}, sites), // 10 in one order
		order(1, 12, true, 1, three, sites),                // 14 in all
		order(1, 12, false, 1, three, sites),               // inactive: none
		order(1, 10, true, 0, three, sites),                // fewer
		order(1, 13, true, 2, three, sites),                // 12 in all
		mandate(2, 2),
		order(2, 20, true, 0, four, sites), // 4 within the package
		order(2, 21, true, 0, four, sites),
		order(2, 22, true, 0, four, sites), // 12
		mandate(2, 4),                      // 24
	)
	w.oracle = newOracle()
	want := []struct {
		seq    uint64
		reason string
	}{{3, "10 pairs, at most 8 in an order"}, {4, "mandate 1 give 14 pairs, at most 12"}, {12, "with 4 items the active orders of mandate 2 give 24 pairs, at most 12"}}
	for _, x := range want {
		var r *event.Rejected
		if err := w.try(t.Context(), b); !errors.As(err, &r) || r.Seq != x.seq || !strings.Contains(r.Reason, x.reason) {
			t.Fatalf("%v, want sequence %d rejected: %s", err, x.seq, x.reason)
		}
		var rows int
		w.scan("SELECT count() FROM orders", nil, &rows)
		if rows != 0 {
			t.Fatalf("%d orders were written of a rejected batch", rows)
		}
		b.Messages = slices.DeleteFunc(b.Messages, func(m event.Message) bool { return m.Seq == r.Seq })
	}
	w.oracle.learn(b)
	w.conn.failOnce("checkpoints", false)
	if err := w.try(t.Context(), b); err == nil {
		t.Fatal("no failure")
	}
	w.restart() // the records are in the tables, their checkpoint is not
	w.apply(b)
	w.apply(w.observations(30))
	w.verify()

	// What already has too many may shrink, but not grow.
	w.cfg.MaxOrderPairs, w.cfg.MaxMandatePairs = 2, 2
	w.restart()
	w.apply(w.catalog(order(1, 10, true, 0, []int{1, 2}, sites)))
	var r *event.Rejected
	if err := w.p.ApplyCatalog(t.Context(), &event.Batch{Stream: event.StreamCatalog, Epoch: epoch, First: w.catalogSeq + 1, Last: w.catalogSeq + 1, Messages: []event.Message{
		{Seq: w.catalogSeq + 1, Event: &event.Event{Kind: event.KindOrder, Data: order(1, 10, true, 0, three, sites)}},
	}}); !errors.As(err, &r) {
		t.Errorf("an order that grows beyond its limit: %v", err)
	}
	w.verify()
}
