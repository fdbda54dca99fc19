package event

// Mark is a place in a stream: a sequence of an epoch.
type Mark struct {
	Epoch uint32 `json:"epoch,omitempty"`
	Seq   uint64 `json:"seq"`
}

// Marks are the checkpoints of a partition by the name of their stream.
type Marks map[string]Mark

// Written is what the projectors of all partitions have written into the table
// of checkpoints while none of them writes. It is never changed: the same
// pointer says that nothing was written meanwhile.
type Written struct {
	Partitions []Marks // at least so far; by partition
}
