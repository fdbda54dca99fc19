package store

import "fmt"

// shards is over how many shards the rows of observations are spread: 1, or
// none, where they are in the tables of the one server.
//
// Each shard holds the whole catalogue, and the rows of the pairs of its
// partition. A statement reads them through Distributed tables, named only
// where rows come from: what stands at that level (filters, order, limit) every
// shard does for itself, and its sub-selects, which name plain tables, every
// shard answers by its own catalogue.
type shards int

const maxShards = 1024

// Several tells whether there is more than one.
func (n shards) Several() bool { return n > 1 }

// All names the table with the rows of all shards.
func (n shards) All(table string) string {
	if n.Several() {
		return table + "_all"
	}
	return table
}

// of gives the partition that a version of a scope is of: each gives its own
// versions in steps of their number.
func (n shards) of(version uint64) uint16 { return uint16(version % uint64(max(1, n))) }

// are refuses another number of partitions than this node was told of: it
// would give a part for the whole.
func (n shards) are(partitions uint32) error {
	if partitions == uint32(max(1, n)) {
		return nil
	}
	return unavailable(fmt.Errorf("the observations are in %d partitions, and this node reads %d shards", partitions, max(1, n)))
}

// all tells whether so many partitions are all of them.
func (n shards) all(partitions int) bool { return partitions >= max(1, int(n)) }
