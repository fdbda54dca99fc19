package store_test

import (
	"testing"
	"time"

	"preismon/query"
	"preismon/query/store"

	"github.com/google/go-cmp/cmp"
)

// visibleTimes: a position is visible when the last shard was complete up to it,
// by the kept times or by its checkpoint; if one of the shards does not know,
// the time is unknown.
func (w *shardedWorld) visibleTimes(t *testing.T, node *store.Store) {
	at := func(minute int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC) }
	for p, noted := range [][][2]int{ // sequence, minute
		{{0, 0}, {10, 1}, {20, 9}},
		{{0, 0}, {10, 4}, {30, 8}},
		{{0, 0}, {5, 2}, {15, 3}, {25, 5}},
	} {
		for _, n := range noted {
			w.on(p, "INSERT INTO checkpoint_times VALUES (?, ?, ?, ?)", p, uint32(epoch), uint64(n[0]), at(n[1]))
		}
		w.on(p, "TRUNCATE TABLE checkpoints")
		w.on(p, "INSERT INTO checkpoints (stream, partition, partitions, epoch, seq, written_at) VALUES ('OBSERVATIONS', ?, 3, ?, 40, ?)", p, uint32(epoch), at(20+p))
	}
	position := func(seq uint64) query.Watermark { return query.Watermark{Epoch: epoch, Seq: seq} }
	want := map[query.Watermark]time.Time{
		position(1): at(4), position(10): at(4), position(11): at(9), position(21): at(20), position(26): at(22), position(40): at(22),
		position(2): at(4), position(3): at(4), position(4): at(4), // more than one statement reads
	}
	asked := []query.Watermark{{Epoch: epoch - 1, Seq: 7}, position(0), position(41)} // before times were kept, and not visible yet
	for p := range want {
		asked = append(asked, p)
	}
	got, err := node.VisibleTimes(t.Context(), asked)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
