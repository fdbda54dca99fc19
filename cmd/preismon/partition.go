package main

import (
	"log/slog"

	"preismon/contracts/event"
	"preismon/ingest/seqlock"
	"preismon/projector"
)

// partitionFlags select which share of the observations the tables have.
type partitionFlags struct {
	Partition  int `help:"Which partition of OBSERVATIONS the tables are of, counted from 0. Each partition has a ClickHouse of its own." default:"0" placeholder:"P"`
	Partitions int `help:"How many partitions there are. It cannot be changed for tables that were written." default:"1" placeholder:"N"`
}

func (f partitionFlags) faults() error { return event.CheckPartition(f.Partition, f.Partitions) }

// readers returns the readers of the partition's tables, which are notified of
// its checkpoints during one term of a leader.
func (f partitionFlags) readers(b *bus, replicas int, log *slog.Logger) (projector.Readers, error) {
	return seqlock.NewWriter(seqlock.Config{Partitions: f.Partitions, Replicas: replicas}, b.js, f.Partition, log)
}
