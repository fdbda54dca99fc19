package store_test

import (
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/admission"
)

// TestSlicesOfAnOpenWindow: a window that begins with the first possible
// captures, of which only the last days have rows, is cut no more coarsely than
// those days.
func TestSlicesOfAnOpenWindow(t *testing.T) {
	w := newWorld(t, 12, 800)
	a := must.Get(w.store.Access(t.Context(), accountWhole))(t)
	read := w.read(t)
	for _, ascending := range []bool{false, true} {
		rows, q := 0, query.ResultsQuery{Window: contracts.Window{To: w.now}, Ascending: ascending, Watermark: query.Watermark{Epoch: epoch, Seq: w.mark}, Read: read}
		err := w.store.Results(t.Context(), a.Visibility, &q, func(b *query.Block) error {
			if rows += b.Len; b.Len == 0 {
				return nil
			}
			if instants := b.CapturedMs[b.At(0)] != b.CapturedMs[b.At(b.Len-1)]; b.Len > 2*w.cfg.SliceRows && instants {
				t.Errorf("%d rows in a slice of %d", b.Len, w.cfg.SliceRows)
			}
			return nil
		})
		if want := len(w.oracle(accountWhole, query.ResultsRequest{}, 0, w.now.UnixMilli(), w.rows)); rows != want || err != nil {
			t.Errorf("%d rows of %d, %v", rows, want, err)
		}
	}
}

// TestGranulesOfOtherQuarters: parts of the table that have no row in the
// window's quarters do not make its estimate coarser, however many there are.
func TestGranulesOfOtherQuarters(t *testing.T) {
	w := newWorld(t, 13, 1000)
	unseen := func(from, to time.Time) uint64 {
		t.Helper()
		n := must.Get(w.store.Unseen(t.Context(), 1, from, to))(t)
		return n
	}
	now := w.now.Add(-time.Hour)
	was := unseen(now, w.now)
	w.exec("INSERT INTO observations_by_mandate (mandate, captured_desc, epoch, seq) SELECT 1, -toUnixTimestamp64Milli(addQuarters(toDateTime64(?, 3, 'UTC'), -1 - number % 8)), 1, number FROM numbers(8000)", w.now)
	if got := unseen(now, w.now); got != was || was == 0 {
		t.Errorf("in a window of this quarter %d rows may be unseen, and were %d", got, was)
	}
	if got := unseen(w.now.AddDate(-1, 0, 0), w.now); got < was+3*1000 {
		t.Errorf("in one of a year %d rows may be unseen, and in this quarter %d", got, was)
	}
	at := time.Date(w.now.Year(), (w.now.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC)
	if this, both := unseen(at, w.now), unseen(at.Add(-time.Millisecond), w.now); this != was || both <= was {
		t.Errorf("%d from the first instant of the quarter, %d from the one before", this, both)
	}
}

// read admits a stream.
func (w *world) read(t testing.TB) *admission.Read {
	t.Helper()
	read := must.Get(admission.New(admission.Defaults()).Begin(t.Context(), true, 0))(t)
	t.Cleanup(read.End)
	return read
}
