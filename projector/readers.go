package projector

import (
	"context"
	"maps"
	"sync"

	"preismon/contracts/event"
)

// Readers are told before checkpoints change and after, so that they need not ask
// for them in between (contracts/decisions/049-a-sequence-lock.md). Calls do not
// overlap.
type Readers interface {
	// Begin returns when they know that a checkpoint is being written. After an
	// error none is.
	Begin(context.Context) error
	// End says which checkpoints stand in the tables; nothing is being written.
	End(event.Marks)
}

// notices are what the readers know of this Projector's writes.
type notices struct {
	readers Readers // nil: there are none

	mu      sync.Mutex
	began   bool // they were told that something is being written
	writes  int  // under way
	unsure  bool // a write failed: it may still run
	written event.Marks
}

// begin tells them that a checkpoint is about to be written.
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

// end takes in what came of the write, and tells them when nothing runs any more.
func (n *notices) end(stream string, at place, err error) {
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
	n.written[stream] = event.Mark{Epoch: at.epoch, Seq: at.seq}
	if n.writes == 0 && !n.unsure {
		n.began = false
		n.readers.End(maps.Clone(n.written))
	}
}

// settled notes that no write of before runs any more.
func (n *notices) settled() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unsure = false
}

// reset takes in what stands in the tables when the Projector starts.
func (n *notices) reset(marks map[string]place) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.written = event.Marks{}
	for stream, at := range marks {
		n.written[stream] = event.Mark{Epoch: at.epoch, Seq: at.seq}
	}
}
