// Package shards runs preismon on more than one machine, as processes of one:
// ClickHouse servers as shards, a projector for each partition, query nodes at
// different shards, and beside them the single form, fed the same events. What
// all of them answer is the same.
package shards_test

import (
	"testing"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/process"
)

func TestMain(m *testing.M) { process.Main(m) }

// TestShards shows, in this order: the same answers, also while the catalogue
// and the observations change; and another leader of a partition.
func TestShards(t *testing.T) {
	testserver.Full(t, "three ClickHouse servers and four projectors")
	e := newEstate(t)
	t.Run("the same answers", e.sameAnswers)
	t.Run("a catalogue that changes", e.changes)
	t.Run("another leader", e.anotherLeader)
}
