package query

import (
	"context"
	"sync"
	"time"
)

// Edge is how far the tables are, and by which catalogue.
type Edge struct {
	Watermark Watermark
	// Generation is another one after rows may have come to, or gone from,
	// places below the watermark: after a rebuild and after a restore.
	Generation uint64
	Snapshot   Snapshot
}

// edges lets any number of readers wait for the edge to move, at the cost of one
// small statement now and then, and none while nobody waits.
type edges struct {
	ask func(context.Context) (Edge, error)

	mu      sync.Mutex
	waiting int
	known   bool
	now     Edge
	moved   chan struct{} // closed when now is another one
	asked   chan struct{} // closed when now was asked for again
	stop    context.CancelFunc
}

// edgeEvery is how long it may take to see that the tables moved.
const edgeEvery = 100 * time.Millisecond

// beyond returns when the edge is another one than seen, or with the cause of
// the end of ctx. A store that cannot tell is asked again.
func (e *edges) beyond(ctx context.Context, seen Edge) error {
	e.enter()
	defer e.leave()
	for first := true; ; first = false {
		e.mu.Lock()
		wake, now, known := e.moved, e.now, e.known
		if first && now != seen { // what is known may be older than what was seen
			wake = e.asked
		}
		e.mu.Unlock()
		if known && now != seen && (!first || now.Watermark.Compare(seen.Watermark) > 0) {
			return nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (e *edges) enter() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting++; e.waiting > 1 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.stop, e.known, e.moved, e.asked = cancel, false, make(chan struct{}), make(chan struct{})
	go e.watch(ctx)
}

func (e *edges) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting--; e.waiting == 0 {
		e.stop()
	}
}

func (e *edges) watch(ctx context.Context) {
	tick := time.NewTicker(edgeEvery)
	defer tick.Stop()
	for {
		now, err := e.ask(ctx)
		e.mu.Lock()
		if ctx.Err() == nil && err == nil {
			if !e.known || now != e.now {
				close(e.moved)
				e.moved = make(chan struct{})
			}
			e.known, e.now = true, now
			close(e.asked)
			e.asked = make(chan struct{})
		}
		e.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Await returns when there may be more than a page of a feed saw, or with the
// cause of the end of ctx. Who waits holds no statement and no room.
func (s *Service) Await(ctx context.Context, seen Edge) error { return s.edge.beyond(ctx, seen) }
