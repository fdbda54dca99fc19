package query

import (
	"context"
	"sync"
	"sync/atomic"
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

// EdgeAt is an edge, and when it was asked for.
type EdgeAt struct {
	Edge
	Asked time.Time
}

// edges lets any number of readers wait for the edge to move, at the cost of one
// small statement now and then, and none while nobody waits.
type edges struct {
	ask func(context.Context) (Edge, error)
	// written gives a channel that is closed when the edge may have moved; nil:
	// that is not told now.
	written func() <-chan struct{}
	// reading is how many read what came before the edge that they were woken for.
	reading atomic.Int64

	mu      sync.Mutex
	waiting int
	known   bool
	now     EdgeAt
	moved   chan struct{} // closed when now is another one
	asked   chan struct{} // closed when now was asked for again
	stop    context.CancelFunc
}

const (
	// edgeEvery is how often is asked whether the tables moved, where nobody tells
	// that they did.
	edgeEvery = 50 * time.Millisecond
	// edgeSeldom is how often is asked where it is told: a projector of an older
	// version, or a person with a statement, tells nobody.
	edgeSeldom = 250 * time.Millisecond
	// edgeLeast is between two questions at least, however often it is told.
	edgeLeast = 20 * time.Millisecond
	// edgeLate is how many questions a replica of ClickHouse may be behind what was
	// told.
	edgeLate = 10
	// edgeRest is how long at most it is not asked for because who was woken last
	// still reads: those read up to the same place, and share that, as long as
	// nobody is woken for the next.
	edgeRest = 400 * time.Millisecond
)

// beyond gives an edge that is another one than seen, when there is one, or fails
// with the cause of the end of ctx. A store that cannot tell is asked again.
func (e *edges) beyond(ctx context.Context, seen Edge) (none EdgeAt, err error) {
	e.enter()
	defer e.leave()
	for first := true; ; first = false {
		e.mu.Lock()
		wake, now, known := e.moved, e.now, e.known
		if first && now.Edge != seen { // what is known may be older than what was seen
			wake = e.asked
		}
		e.mu.Unlock()
		if known && now.Edge != seen && (!first || now.Watermark.Compare(seen.Watermark) > 0) {
			return now, nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return none, context.Cause(ctx)
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
	var moved, asked time.Time
	late := 0 // questions until what was told is taken for nothing
	for {
		wait, written := edgeEvery, e.written() // which is taken before the question
		if e.reading.Load() == 0 || time.Since(moved) >= edgeRest {
			asked = time.Now()
			now, err := e.ask(ctx)
			late = max(late-1, 0)
			if err == nil && e.take(ctx, EdgeAt{now, asked}) {
				moved, late = asked, 0
			}
			if err == nil && written != nil && late == 0 {
				wait = edgeSeldom
			}
		} else {
			written = nil // who was woken still reads
		}
		select {
		case <-written:
			late, wait = edgeLate, edgeLeast-time.Since(asked)
		case <-time.After(wait):
			continue
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// take notes an edge, and tells whether it is another one.
func (e *edges) take(ctx context.Context, now EdgeAt) (moved bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	if moved = !e.known || now.Edge != e.now.Edge; moved {
		close(e.moved)
		e.moved = make(chan struct{})
	}
	e.known, e.now = true, now
	close(e.asked)
	e.asked = make(chan struct{})
	return moved
}

// Await gives an edge beyond the one that a page of a feed saw, when there is one,
// or fails with the cause of the end of ctx. Who waits holds no statement and no
// room.
func (s *Service) Await(ctx context.Context, seen Edge) (EdgeAt, error) {
	return s.edge.beyond(ctx, seen)
}
