package projector_test

import (
	"testing"

	"preismon/contracts"
	"preismon/contracts/event"
)

// TestEachPartitionHasTheWholeScope: a mandate whose pairs are all at one site
// has a version with them, in force and applied, in each partition: readers take
// a partition without one for one that has yet to apply a grant. Of a mandate
// without pairs there is an empty version only where it had some, so not in a
// partition that read the end of its order together with its beginning.
func TestEachPartitionHasTheWholeScope(t *testing.T) {
	const partitions = 3
	whole := newWorld(t)
	begun := whole.catalog(mandate(1, 8), mandate(2, 8), order(1, 10, true, 0, []int{1, 2}, []int{1}), order(2, 20, true, 0, []int{3}, []int{1}))
	ended := whole.catalog(order(2, 20, false, 0, []int{3}, []int{1}))
	both := &event.Batch{Stream: begun.Stream, Epoch: epoch, First: begun.First, Last: ended.Last, Messages: append(begun.Messages[:len(begun.Messages):len(begun.Messages)], ended.Messages...)}
	observed := whole.observations(30)
	withRows := 0
	for p := range partitions {
		s := whole.shard(p, partitions)
		if p > 0 {
			s.apply(begun)
			s.apply(ended)
		} else {
			s.apply(both)
		}
		s.apply(share(observed, p, partitions))
		s.settle()
		if len(s.tableRows("observations_by_mandate", 1)) > 0 {
			withRows++
		}
		for m, want := range map[contracts.MandateID]struct {
			pairs uint64
			force bool
		}{1: {2, true}, 2: {0, p > 0}} {
			var force, pairs, applied uint64
			s.scan("SELECT max(version), argMax(pairs, version), (SELECT max(version) FROM scopes_applied WHERE mandate = ?) FROM scopes WHERE mandate = ?", []any{m, m}, &force, &pairs, &applied)
			if (force > 0) != want.force || pairs != want.pairs || applied != force {
				t.Errorf("partition %d, mandate %d: version %d of %d pairs in force, %d applied; want %+v", p, m, force, pairs, applied, want)
			}
		}
	}
	if withRows != 1 {
		t.Errorf("%d partitions have rows of the mandates, want 1", withRows)
	}
}
