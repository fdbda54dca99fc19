package projector

import (
	"context"
	"maps"
	"sync"

	"preismon/contracts/event"
)

// Readers are notified before and after checkpoints change, so that they need
// not query them in between (contracts/decisions/049-a-sequence-lock.md). Calls
// do not overlap.
type Readers interface {
	// Begin returns when the readers know that a checkpoint is being written.
	// After an error none is written.
	Begin(context.Context) error
	// End passes on the checkpoints in the tables, and what that of the
	// observations made visible; nil: nothing, or it is not known. Nothing is
	// being written.
	End(event.Marks, *event.Arrivals)
}

// notices is what the readers know about this Projector's writes.
type notices struct {
	readers Readers // nil: there are none

	mu      sync.Mutex
	began   bool // they were notified that something is being written
	writes  int  // under way
	unsure  bool // a write failed: it may still run
	written event.Marks
	arrived *event.Arrivals // with the checkpoints since the last end; nil: nothing, or not known
}

// begin notifies them that a checkpoint is about to be written.
func (n *notices) begin(ctx context.Context) error {
	if n.readers == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.began {
		if err := n.readers.Begin(ctx); err != nil {
			return err
		}
		n.began = true
	}
	n.writes++
	return nil
}

// end records the result of the write and what it made visible, and notifies
// them when none is under way any more.
func (n *notices) end(stream string, at position, arrived *arrivals, err error) {
	if n.readers == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.writes--
	if err != nil {
		n.unsure = true
		return
	}
	last, now := n.written[stream], event.Mark{Epoch: at.epoch, Seq: at.seq}
	n.written[stream] = now
	if stream == event.StreamObservations && now != last {
		n.arrived = arrived.after(last) // of the last, if two checkpoints share an End: readers notice the gap
	}
	if n.writes == 0 && !n.unsure {
		n.began = false
		n.readers.End(maps.Clone(n.written), n.arrived)
		n.arrived = nil
	}
}

// settled records that no earlier write is running any more.
func (n *notices) settled() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unsure = false
}

// reset sets what is in the tables when the Projector starts.
func (n *notices) reset(marks map[string]position) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.written = event.Marks{}
	for stream, at := range marks {
		n.written[stream] = event.Mark{Epoch: at.epoch, Seq: at.seq}
	}
}
