package store

import "fmt"

// shards is how many shards the rows of observations are spread over: 1, or 0,
// where they are in the tables of the one server.
//
// Each shard holds the whole catalogue, and the rows of the pairs of its
// partition. A statement reads them through Distributed tables, which are named
// only where rows come from: each shard applies what is on that level (filters,
// order, limit) by itself, and answers sub-selects, which name plain tables,
// from its own catalogue.
type shards int

const maxShards = 1024

// Several reports whether there is more than one shard.
func (n shards) Several() bool { return n > 1 }

// All returns the name of the table with the rows of all shards.
func (n shards) All(table string) string {
	if n.Several() {
		return table + "_all"
	}
	return table
}

// of returns the partition that a version of a scope belongs to: each partition
// numbers its own versions in steps of the number of partitions.
func (n shards) of(version uint64) uint16 { return uint16(version % uint64(max(1, n))) }

// checkPartitions refuses a number of partitions other than the one this node was
// configured with: it would return a part as if it were the whole.
func (n shards) checkPartitions(partitions uint32) error {
	if partitions == uint32(max(1, n)) {
		return nil
	}
	return unavailable(fmt.Errorf("the observations are in %d partitions, and this node reads %d shards", partitions, max(1, n)))
}

// all reports whether this number of partitions is all of them.
func (n shards) all(partitions int) bool { return partitions >= max(1, int(n)) }
