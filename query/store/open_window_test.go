package store_test

import (
	"testing"

	"preismon/contracts"
	"preismon/query"
	"preismon/query/admission"
)

// TestSlicesOfAnOpenWindow: a window that begins with the first captures there
// can be, of which the last days have rows, is cut no coarser than those days.
func TestSlicesOfAnOpenWindow(t *testing.T) {
	w := newWorld(t, 12, 3000)
	a, err := w.store.Access(t.Context(), accountWhole)
	if err != nil {
		t.Fatal(err)
	}
	read := w.read(t)
	for _, ascending := range []bool{false, true} {
		rows, q := 0, query.ResultsQuery{Window: contracts.Window{To: w.now}, Ascending: ascending, Watermark: query.Watermark{Epoch: epoch, Seq: w.mark}, Read: read}
		err = w.store.Results(t.Context(), a.Visibility, &q, func(b *query.Block) error {
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

// read admits a stream.
func (w *world) read(t testing.TB) *admission.Read {
	t.Helper()
	read, err := admission.New(admission.Defaults()).Begin(t.Context(), true, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(read.End)
	return read
}
