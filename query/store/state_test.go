package store

import (
	"slices"
	"testing"

	"preismon/contracts"
)

// TestScopeOfSeveralPartitions: a scope is applied if each partition has a
// version and reflects it; where all versions are empty, there is nothing to
// apply, and none is in force. VIS-05.
func TestScopeOfSeveralPartitions(t *testing.T) {
	const mandate = 7
	force := func(version, pairs uint64) stateRow {
		return stateRow{part: "scope", id: mandate, of: pairs, number: version}
	}
	applied := func(partition, version uint64) stateRow {
		return stateRow{part: "applied", id: mandate, of: partition, number: version}
	}
	settled := []stateRow{force(3, 5), force(4, 5), force(5, 5), applied(0, 3), applied(1, 4), applied(2, 5)}
	ended := []stateRow{force(3, 5), force(6, 0), force(4, 0), applied(0, 6), applied(1, 4)} // the third partition never had any pairs
	for _, c := range []struct {
		what     string
		rows     []stateRow
		versions []uint64
		applied  bool
	}{
		{"unknown", nil, nil, false},
		{"a grant", settled[:1], []uint64{3}, false},
		{"a grant that two partitions applied", slices.Concat(settled[:2], settled[3:5]), []uint64{3, 4}, false},
		{"a grant in force in all", settled[:5], []uint64{3, 4, 5}, false},
		{"a grant that all applied", settled, []uint64{3, 4, 5}, true},
		{"another grant is filled in", append(settled, applied(1, 7)), []uint64{3, 4, 5}, false},
		{"another grant that one applied", append(settled, force(7, 6), applied(1, 7)), []uint64{3, 5, 7}, true},
		{"all revoked in one", append(settled, force(7, 0)), []uint64{3, 5, 7}, false},
		{"no pairs", ended, nil, false},
		{"no pairs, and rows are being deleted", ended[:4], nil, false},
		{"a grant after it", append(ended, force(5, 2)), []uint64{4, 5, 6}, false},
		{"a grant after it that one applied", append(ended, force(5, 2), applied(2, 5)), []uint64{4, 5, 6}, true},
	} {
		got := shards(3).state(c.rows, []contracts.MandateID{mandate}).scopes[mandate]
		if !slices.Equal(got.versions, c.versions) || got.applied != c.applied {
			t.Errorf("%s: %+v, want versions %v, applied %t", c.what, got, c.versions, c.applied)
		}
	}
}
