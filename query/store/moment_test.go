package store

import (
	"testing"

	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestSnapshotOfAGeneration: after a rebuild or a restore nothing is found that
// was remembered before, although the catalogue is as far as it was.
func TestSnapshotOfAGeneration(t *testing.T) {
	snapshot := func(generation uint64) query.Snapshot {
		var all []checkpoint
		for _, stream := range []string{"OBSERVATIONS", "CATALOG", "IN_FORCE"} {
			all = append(all, checkpoint{stream: stream, of: 1, mark: query.Watermark{Epoch: 1, Seq: 7}})
		}
		all = append(all, checkpoint{stream: "GENERATION", of: 1, mark: query.Watermark{Seq: generation}})
		m := must.Get(shards(1).moment(all))(t)
		return m.snapshot
	}
	if before, after := snapshot(1), snapshot(2); before == after || before == 0 || snapshot(1) != before {
		t.Errorf("%d, then %d", before, after)
	}
}
