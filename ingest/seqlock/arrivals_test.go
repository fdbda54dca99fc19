package seqlock_test

import (
	"math"
	"testing"
	"time"

	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
	"preismon/ingest/seqlock"
)

func markAt(seq uint64) event.Mark { return event.Mark{Epoch: 1, Seq: seq} }

// arrives writes a checkpoint, which makes one item visible; 0: not known which.
func arrives(t *testing.T, w *seqlock.Writer, after, seq, item uint64) {
	t.Helper()
	must.Do(t, w.Begin(t.Context()))
	var a *event.Arrivals
	if item != 0 {
		a = &event.Arrivals{After: markAt(after), Earliest: 1_000, Latest: 1_000, Items: []uint64{item}, Sites: []string{"a.de"}, Mandates: []uint64{1}}
	}
	w.End(event.Marks{"OBSERVATIONS": markAt(seq), "CATALOG": {Seq: seq}}, a)
}

// untouched waits for the answer that is wanted.
func untouched(t *testing.T, r *seqlock.Reader, after, upTo, item uint64, want bool) {
	t.Helper()
	eventually(t, r)
	s := event.Selection{Mandate: 1, Items: []uint64{item}, From: math.MinInt64, To: math.MaxInt64}
	if got := r.Untouched(markAt(after), markAt(upTo), &s); got != want {
		t.Errorf("item %d untouched after %d up to %d: %t", item, after, upTo, got)
	}
}

// TestUntouched: a reader knows what has not been touched between two
// checkpoints, if both are among those that it has seen, without a gap, of all
// partitions.
func TestUntouched(t *testing.T) {
	t.Parallel()
	w := start(t)
	r := w.reader(t)
	first, second := w.writer(t, 0), w.writer(t, 1)
	arrives(t, first, 0, 10, 0)
	arrives(t, second, 0, 10, 0)
	untouched(t, r, 10, 10, 7, false) // nothing is known
	arrives(t, first, 10, 20, 5)
	untouched(t, r, 10, 20, 7, false) // of one partition
	arrives(t, second, 10, 15, 6)
	arrives(t, second, 15, 20, 7)
	for _, c := range []struct {
		after, upTo, item uint64
		want              bool
	}{
		{10, 20, 8, true},
		{10, 20, 5, false},
		{10, 20, 6, false},
		{10, 20, 7, false},
		{10, 15, 7, true},
		{10, 15, 6, false},
		{15, 20, 6, true},
		{15, 20, 7, false},
		{12, 14, 6, false},
		{12, 14, 5, false},
		{12, 14, 7, true},
		{16, 18, 6, true},
		{9, 20, 8, false},
		{10, 21, 8, false},
		{20, 20, 5, true},
		{21, 22, 8, false},
	} {
		untouched(t, r, c.after, c.upTo, c.item, c.want)
	}

	// An End of the catalogue says nothing about rows.
	must.Do(t, first.Begin(t.Context()))
	first.End(event.Marks{"OBSERVATIONS": markAt(20), "CATALOG": {Seq: 99}}, nil)
	untouched(t, r, 10, 20, 8, true)
	// One of which nothing is known is a gap.
	arrives(t, first, 20, 30, 0)
	arrives(t, second, 20, 30, 6)
	untouched(t, r, 20, 30, 8, false)
	untouched(t, r, 10, 20, 8, false) // forgotten
	arrives(t, first, 30, 40, 5)
	arrives(t, second, 30, 40, 6)
	untouched(t, r, 30, 40, 8, true)
	// As is one that follows another checkpoint.
	arrives(t, first, 45, 50, 5)
	arrives(t, second, 40, 50, 6)
	untouched(t, r, 40, 50, 8, false)
	untouched(t, r, 45, 50, 8, true)

	// A reader that starts now reads what the stream still has.
	untouched(t, w.reader(t), 45, 50, 8, true)
	untouched(t, w.reader(t), 45, 50, 5, false)

	// A lost stream tells nothing.
	must.Do(t, w.js.DeleteStream(t.Context(), seqlock.Stream))
	s := event.Selection{Mandate: 1, From: math.MinInt64, To: math.MaxInt64}
	for began := time.Now(); r.Untouched(markAt(50), markAt(50), &s); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("the stream is gone, and the reader still knows")
		}
	}
}

// TestUntouchedByADeposedLeader: the End of a leader that another has replaced
// is not heard.
func TestUntouchedByADeposedLeader(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.cfg.Partitions = 1
	r := w.reader(t)
	old, next := w.writer(t, 0), w.writer(t, 0)
	arrives(t, old, 0, 10, 0)
	arrives(t, old, 10, 20, 5)
	must.Do(t, old.Begin(t.Context()))
	must.Do(t, next.Begin(t.Context()))
	none := &event.Arrivals{After: markAt(20), Earliest: math.MaxInt64, Latest: math.MinInt64, Items: []uint64{}, Sites: []string{}, Mandates: []uint64{}}
	old.End(event.Marks{"OBSERVATIONS": markAt(30)}, none)
	next.End(event.Marks{"OBSERVATIONS": markAt(30)}, nil)
	untouched(t, r, 20, 30, 8, false)
}

// TestManyArrivals: a reader forgets the oldest, and an End that names so much
// that the stream would lose others is without names.
func TestManyArrivals(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.cfg.Partitions = 1
	r := w.reader(t)
	writer := w.writer(t, 0)
	arrives(t, writer, 0, 1, 0)
	many := func(n int) (a []uint64) {
		for i := range uint64(n) {
			a = append(a, 1_000_000+i)
		}
		return a
	}
	seq := uint64(1)
	end := func(items []uint64) {
		t.Helper()
		must.Do(t, writer.Begin(t.Context()))
		writer.End(event.Marks{"OBSERVATIONS": markAt(seq + 1)}, &event.Arrivals{After: markAt(seq), Earliest: 1, Latest: 1, Items: items, Sites: []string{"a.de"}, Mandates: []uint64{1}})
		seq++
	}
	end(many(2_000))
	untouched(t, r, 1, 2, 8, true)
	untouched(t, r, 1, 2, 1_000_001, false)
	end(many(20_000))
	untouched(t, r, 2, 3, 8, false)
	s := event.Selection{Mandate: 1, From: 2, To: 3}
	if !r.Untouched(markAt(2), markAt(3), &s) {
		t.Error("when the arrivals were captured is not known either")
	}
	untouched(t, r, 1, 2, 8, true)
	for range 130 {
		end(many(2_000))
	}
	untouched(t, r, seq-100, seq, 8, true)
	untouched(t, r, 1, 2, 8, false)
}
