package ingest

import (
	"context"
	"fmt"
	"time"

	"preismon/contracts/event"
)

// Progress is how far the loop is and what it has met since it was created.
type Progress struct {
	Catalog, Observations StreamProgress

	Events      uint64 // applied
	Rows        uint64 // result rows of the applied observations
	Batches     uint64 // applied
	Passed      uint64 // messages of other partitions, passed over
	Poison      uint64 // put into the dead letters
	Redelivered uint64 // dropped, because they were received before
	Retries     uint64 // tries of the sink or the dead letters after the first
	Restarts    uint64 // times a stream was opened again
}

// StreamProgress is how far the loop is in one stream.
type StreamProgress struct {
	Epoch   uint32 // 0: not open yet
	Applied uint64 // every message up to here is done
	Last    uint64 // the stream's last message, as of a second ago
	Lag     uint64 // messages not applied yet, as of a second ago

	Heard    time.Time // when a leader that certainly leads the stream was queried for what is known: nothing is known of what came later
	Stored   time.Time // when the last applied message was stored in the stream; zero: none was applied since the loop was created
	Messages uint64    // in the stream, and their bytes, as of a second ago
	Bytes    uint64
}

// Progress returns how far the loop is.
func (l *Consumer) Progress() Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.progress
}

// CaughtUp waits until every message of the stream up to seq is applied, or has
// been put into the dead letters.
func (l *Consumer) CaughtUp(ctx context.Context, stream string, seq uint64) error {
	var at *StreamProgress
	switch stream {
	case event.StreamCatalog:
		at = &l.progress.Catalog
	case event.StreamObservations:
		at = &l.progress.Observations
	default:
		return fmt.Errorf("stream %s is not read", stream)
	}
	for {
		l.mu.Lock()
		done, changed := at.Epoch != 0 && at.Applied >= seq, l.changed
		l.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// count changes the progress and wakes those waiting for it.
func (l *Consumer) count(change func(*Progress)) {
	l.mu.Lock()
	change(&l.progress)
	close(l.changed)
	l.changed = make(chan struct{})
	l.mu.Unlock()
}
