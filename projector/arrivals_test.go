package projector_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"preismon/contracts/event"
)

// toldArrivals compares what readers are told that a checkpoint made visible
// with what is in the tables at that moment.
type toldArrivals struct {
	*world
	mu         sync.Mutex
	of, not    int // checkpoints of observations of which readers know what arrived, and others
	rows, most int // named, and in one checkpoint
	last       event.Mark
}

// told has the next projectors of a world tell what arrives.
func (w *world) told() *toldArrivals {
	told := &toldArrivals{world: w}
	w.cfg.Readers = told
	w.restart()
	return told
}

func (a *toldArrivals) Begin(context.Context) error { return nil }

func (a *toldArrivals) End(written event.Marks, arrived *event.Arrivals) {
	a.mu.Lock()
	defer a.mu.Unlock()
	mark := written[event.StreamObservations]
	if arrived == nil {
		if mark != a.last {
			a.not++
		}
		a.last = mark
		return
	}
	a.of++
	if a.last != (event.Mark{}) && arrived.After != a.last {
		a.t.Errorf("readers are told what arrived after %+v; the checkpoint before was %+v", arrived.After, a.last)
	}
	a.last = mark
	found := 0
	for table, mandate := range map[string]string{"observations": "toUInt64(0)", "observations_by_mandate": "mandate"} {
		captured := map[string]string{"observations": "toUnixTimestamp64Milli(captured_at)", "observations_by_mandate": "-captured_desc"}[table]
		rows, err := a.db.Query(fmt.Sprintf("SELECT %s, item, site, %s, epoch, seq FROM %s WHERE (epoch, seq) > (%d, %d) AND (epoch, seq) <= (%d, %d)",
			mandate, captured, table, arrived.After.Epoch, arrived.After.Seq, mark.Epoch, mark.Seq))
		if err != nil {
			a.t.Error(err)
			return
		}
		for rows.Next() {
			var of, item, seq uint64
			var site string
			var ms int64
			var epoch uint32
			if err := rows.Scan(&of, &item, &site, &ms, &epoch, &seq); err != nil {
				a.t.Error(err)
			}
			found++
			s := event.Selection{Mandate: of, Items: []uint64{item}, Site: site, From: ms, To: ms}
			if of == 0 && len(arrived.Mandates) > 0 { // the table is of all
				s.Mandate = arrived.Mandates[0]
			} else if of == 0 {
				continue
			}
			if !arrived.Touch(&s) {
				a.t.Errorf("%s: the row of mandate %d, item %d at %s of %d at (%d, %d) is not among %+v", table, of, item, site, ms, epoch, seq, arrived)
			}
		}
		if err := rows.Err(); err != nil {
			a.t.Error(err)
		}
		_ = rows.Close()
	}
	a.rows, a.most = a.rows+found, max(a.most, found)
}

// TestArrivals: readers are told what a checkpoint made visible. What a leader
// does not know, because another may have written it, it does not tell.
func TestArrivals(t *testing.T) {
	w := newWorld(t)
	told := w.told()
	w.apply(w.catalog(mandate(1, worldItems), order(1, 10, true, 0, []int{1, 2, 3, 4}, []int{0, 1, 2})))
	w.apply(w.observations(1)) // the first has no epoch before it
	of := told.of
	for range 5 {
		w.apply(w.observations(30))
	}
	w.settle()
	if told.of != of+5 || told.rows < 100 {
		t.Errorf("readers know of %d checkpoints with %d rows", told.of-of, told.rows)
	}

	// The checkpoint fails once: rows are in the tables before the batch is tried again.
	w.conn.failNth("checkpoints", 0, false)
	of, not := told.of, told.not
	if w.must(w.observations(10)) == 0 {
		t.Error("no write failed")
	}
	w.settle()
	if told.of != of || told.not != not+1 {
		t.Errorf("after a failed write readers know of %d checkpoints, and of %d nothing", told.of-of, told.not-not)
	}
	w.apply(w.observations(10))
	w.settle()
	if told.of != of+1 {
		t.Error("readers know nothing of the next one")
	}
}

// TestArrivalsOfALostTail: a batch was written, its checkpoint was not, and the
// stream lost its messages. The next checkpoint makes its rows visible, too.
func TestArrivalsOfALostTail(t *testing.T) {
	s := cutOff(t, "checkpoints")
	told := s.told()
	s.resume(s.forked())
	s.apply(s.nextBatch(s.forked().Epoch))
	s.settle()
	if told.not == 0 {
		t.Error("readers were told what arrived, which nobody knows")
	}
}

// TestArrivalsThatAreTooMany: they have bounds, and then no names.
func TestArrivalsThatAreTooMany(t *testing.T) {
	w := newWorld(t)
	got := &lastArrivals{}
	w.cfg.Readers = got
	w.restart()
	w.apply(w.catalog(mandate(1, worldItems)))
	first := 10_000
	batch := func(events int) *event.Arrivals {
		var all []*event.Event
		for range events {
			all = append(all, w.pointEvent(first))
			first++
		}
		w.apply(w.batchOf(all...))
		w.settle()
		return got.last
	}
	batch(1)
	if a := batch(2_000); len(a.Items) != 2_000 || !slices.IsSorted(a.Items) || len(a.Sites) != 1 || a.Mandates == nil || len(a.Mandates) > 0 {
		t.Errorf("of 2,000 items: %d, %v, %v", len(a.Items), a.Sites, a.Mandates)
	}
	if a := batch(2_001); a.Items != nil || len(a.Sites) != 1 || a.Earliest == 0 || a.Latest < a.Earliest {
		t.Errorf("of 2,001 items: %d, %v, from %d to %d", len(a.Items), a.Sites, a.Earliest, a.Latest)
	}
	if a := batch(9_000); a.Items != nil {
		t.Errorf("of 9,000 items: %d", len(a.Items))
	}
}

type lastArrivals struct{ last *event.Arrivals }

func (*lastArrivals) Begin(context.Context) error { return nil }

func (l *lastArrivals) End(_ event.Marks, arrived *event.Arrivals) { l.last = arrived }
