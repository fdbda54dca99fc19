package main

import "preismon/contracts/event"

// partitionFlags say which share of the observations the tables have.
type partitionFlags struct {
	Partition  int `help:"Which partition of OBSERVATIONS the tables are of, counted from 0. Each partition has a ClickHouse of its own." default:"0" placeholder:"P"`
	Partitions int `help:"How many partitions there are. It cannot be changed for tables that were written." default:"1" placeholder:"N"`
}

func (f partitionFlags) faults() error { return event.CheckPartition(f.Partition, f.Partitions) }
