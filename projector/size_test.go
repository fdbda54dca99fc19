package projector_test

import (
	"fmt"
	"testing"

	"preismon/deploy/testserver/must"
	"preismon/projector"
)

// TestTablesSize: a day adds what the events of a day wrote. Sequences do not
// count, since those of a stream are of all partitions. A projector may also
// query how much room the server has left.
func TestTablesSize(t *testing.T) {
	w := newWorld(t)
	disk, memory, err := projector.ServerRoom(t.Context(), w.conn)
	if err != nil || disk.Free == 0 || disk.Free > disk.Total || memory.Free > memory.Total {
		t.Errorf("disk %+v, memory %+v, %v", disk, memory, err)
	}
	size := func() projector.Size {
		t.Helper()
		s := must.Get(projector.TablesSize(t.Context(), w.conn, w.cfg.Partition))(t)
		return s
	}
	if s := size(); s.Daily != 0 || s.Rows != 0 || s.Drops {
		t.Errorf("before anything was written: %+v", s)
	}
	w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4}, []int{0, 1})))
	w.apply(w.aroundQuarters(40))
	if s := size(); s.Daily != 0 || s.Rows == 0 {
		t.Errorf("after a moment: %+v", s)
	}
	w.exec("TRUNCATE TABLE checkpoint_times")
	var first, last, epoch uint64
	w.scan("SELECT min(seq), max(seq), toUInt64(any(epoch)) FROM ingested_events", nil, &first, &last, &epoch)
	for days, seq := range map[int]uint64{9: 0, 2: first + 9, 0: last + 1_000_000} { // 30 events in two days, and a million of other partitions
		w.exec(fmt.Sprintf("INSERT INTO checkpoint_times (partition, epoch, seq, written_at) SELECT 0, %d, %d, now64(3) - INTERVAL %d DAY", epoch, seq, days))
	}
	s := size()
	if want := float64(s.Bytes) * 30 / 40 / 2; float64(s.Daily) < 0.99*want || float64(s.Daily) > 1.01*want {
		t.Errorf("a day adds %d bytes of %d, want %.0f", s.Daily, s.Bytes, want)
	}
	w.expire(quarters[2])
	w.cfg.KeepScopes = 0
	w.restart()
	w.verify() // removes rows below the floor
	after := size()
	if !after.Drops || after.Rows == 0 || after.Rows >= s.Rows {
		t.Errorf("with a floor: %+v, before %+v", after, s)
	}
}
