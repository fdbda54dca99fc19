// Package shards runs preismon as if on several machines, as processes of one:
// ClickHouse servers as shards, a projector for each partition, query nodes at
// different shards, and next to them the single form, fed the same events. All
// of them return the same answers.
package shards_test

import (
	"testing"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/process"
)

func TestMain(m *testing.M) { process.Main(m) }

// TestShards shows, in this order, that the answers are the same, also while
// the catalogue and the observations change, while a node is killed and while a
// partition has no leader, and that another leader takes over a partition.
func TestShards(t *testing.T) {
	effort.Full(t, "three ClickHouse servers and four projectors")
	e := newEstate(t)
	t.Run("the same answers", e.sameAnswers)
	t.Run("a catalogue that changes", e.changes)
	t.Run("what is new", e.whatIsNew)
	t.Run("a partition without a leader", e.withoutLeader)
	t.Run("another leader", e.anotherLeader)
}
