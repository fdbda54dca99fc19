package projector_test

import (
	"slices"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
)

// TestCheckpointTimes: the times at which the observations reached a position
// are kept from a leader's first checkpoint on, about one per second. Each is
// the time of the checkpoint itself, also the last one of a leader that was
// killed.
func TestCheckpointTimes(t *testing.T) {
	t.Parallel() // it waits most of its time
	w := newWorld(t)
	w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3}, []int{0, 1})))
	var last int64 // Unix ms
	began, slow := time.Now(), 0
	subset := func(of, all []uint64) bool {
		return !slices.ContainsFunc(of, func(seq uint64) bool { return !slices.Contains(all, seq) })
	}
	check := func(what string, seqs ...uint64) {
		t.Helper()
		rows := must.Get(w.db.Query("SELECT epoch, seq, toUnixTimestamp64Milli(written_at) FROM checkpoint_times ORDER BY ALL"))(t)
		defer rows.Close()
		var got []uint64
		for rows.Next() {
			var epoch, seq uint64
			var ms int64
			must.Do(t, rows.Scan(&epoch, &seq, &ms))
			got, last = append(got, seq), ms
			if (seq > 0) != (epoch == 1_700_000_000) {
				t.Errorf("%d of epoch %d", seq, epoch)
			}
		}
		// On a slow machine an extra second may pass, and then one more is kept.
		more := int(time.Since(began) / time.Second)
		began = time.Now()
		if rows.Err() != nil || len(got) > len(seqs)+more+slow || !subset(seqs, got) {
			t.Fatalf("%s: %v, want %v, got %v", what, rows.Err(), seqs, got)
		}
		slow += max(0, len(got)-len(seqs)-slow)
	}
	w.apply(w.observations(10))
	w.settle()
	check("of nothing yet", 0)
	first := time.Now().UnixMilli()
	w.apply(w.observations(10))
	w.apply(w.observations(10))
	w.settle()
	check("within a second", 0)
	second := time.Now().UnixMilli()
	time.Sleep(1_100 * time.Millisecond)
	w.restart() // as after a kill
	w.apply(w.observations(10))
	w.settle()
	check("of the leader before", 0, 30)
	if last < first || last > second {
		t.Errorf("kept at %d, of a checkpoint between %d and %d", last, first, second)
	}
	time.Sleep(1_100 * time.Millisecond)
	w.apply(w.observations(10))
	w.settle()
	check("a second later", 0, 30, 40)
}
