package main

import (
	"log/slog"

	"preismon/contracts/event"
	"preismon/ingest/seqlock"
	"preismon/projector"
)

// partitionFlags select which share of the observations the tables have.
type partitionFlags struct {
	Partition  int `help:"Partition of OBSERVATIONS that is in the tables, counted from 0. Each partition has its own ClickHouse." default:"0" placeholder:"P"`
	Partitions int `help:"Number of partitions. It cannot be changed once tables have been written." default:"1" placeholder:"N"`
}

func (f partitionFlags) faults() error { return event.CheckPartition(f.Partition, f.Partitions) }

// readers returns the readers of the partition's tables, which are notified of
// its checkpoints during one term of a leader.
func (f partitionFlags) readers(b *bus, replicas int, log *slog.Logger) (projector.Readers, error) {
	return seqlock.NewWriter(seqlock.Config{Partitions: f.Partitions, Replicas: replicas}, b.js, f.Partition, log)
}
