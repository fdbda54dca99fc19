package event

// Mark is a position in a stream: a sequence of an epoch.
type Mark struct {
	Epoch uint32 `json:"epoch,omitempty"`
	Seq   uint64 `json:"seq"`
}

// Marks are the checkpoints of a partition by the name of the stream.
type Marks map[string]Mark

// Written is what the projectors of all partitions have written into the table
// of checkpoints, at a moment when none of them writes. It is never modified:
// the same pointer means that nothing was written in between.
type Written struct {
	Partitions []Marks // by partition; the tables hold at least this much
}
