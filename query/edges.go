package query

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Edge is how far the tables are, and under which catalogue.
type Edge struct {
	Watermark Watermark
	// Generation changes when rows may have been added or removed at positions
	// below the watermark: after a rebuild and after a restore.
	Generation uint64
	Snapshot   Snapshot
	Floor      int64 // as in Visibility
}

// EdgeAt is an edge, and when it was queried.
type EdgeAt struct {
	Edge
	QueriedAt time.Time
}

// edges lets any number of readers wait for the edge to move, at the cost of
// one small statement now and then, and none while no reader waits.
type edges struct {
	ask func(context.Context) (Edge, error)
	// written returns a channel that is closed when the edge may have moved;
	// nil: not reported at present.
	written func() <-chan struct{}
	// reading counts the readers that still read up to an edge that woke them;
	// idle receives when it becomes zero.
	reading atomic.Int64
	idle    chan struct{} // of one element

	mu        sync.Mutex
	waiting   int
	known     bool
	now       EdgeAt
	moved     chan struct{} // closed when now changes
	requeried chan struct{} // closed when now has been queried again
	stop      context.CancelFunc
}

const (
	// edgeEvery is how often the edge is queried when nothing reports that the
	// tables moved.
	edgeEvery = 50 * time.Millisecond
	// edgeSeldom is how often it is queried when that is reported: a projector
	// of an older version, or a person running a statement, does not report.
	edgeSeldom = 250 * time.Millisecond
	// edgeLeast is the minimum time between two queries, however often moves
	// are reported.
	edgeLeast = 20 * time.Millisecond
	// edgeLate is how many queries a replica of ClickHouse may lag behind a
	// report.
	edgeLate = 10
	// edgeRest is the maximum time for which queries pause because the readers
	// woken last are still reading: they all read up to the same position, and
	// share what they read, as long as no reader is woken for the next edge.
	edgeRest = 400 * time.Millisecond
)

func newEdges(ask func(context.Context) (Edge, error), written func() <-chan struct{}) *edges {
	return &edges{ask: ask, written: written, idle: make(chan struct{}, 1)}
}

// beyond returns an edge that differs from seen, as soon as there is one, or
// nil when the wait is over; it fails with the cause of the end of ctx. A store
// that fails is queried again.
func (e *edges) beyond(ctx context.Context, seen Edge, wait Wait) (*EdgeAt, error) {
	e.enter()
	defer e.leave()
	late := time.NewTimer(wait.Most)
	defer late.Stop()
	for first := true; ; first = false {
		e.mu.Lock()
		wake, now, known := e.moved, e.now, e.known
		if first && now.Edge != seen { // the known edge may be older than the one seen
			wake = e.requeried
		}
		e.mu.Unlock()
		if known && now.Edge != seen && (!first || now.Watermark.Compare(seen.Watermark) > 0) {
			return &now, nil
		}
		select {
		case <-wake:
		case <-late.C:
			return nil, nil
		case <-wait.Over:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// read is called by a reader that an edge woke; it calls done when it has read.
func (e *edges) read() (done func()) {
	e.reading.Add(1)
	return func() {
		if e.reading.Add(-1) > 0 {
			return
		}
		select {
		case e.idle <- struct{}{}:
		default:
		}
	}
}

// rest waits until no reader still reads up to the edge that moved then, or
// until edgeRest has passed.
func (e *edges) rest(ctx context.Context, moved time.Time) {
	for e.reading.Load() > 0 {
		left := edgeRest - time.Since(moved)
		if left <= 0 {
			return
		}
		select {
		case <-e.idle:
		case <-time.After(left):
		case <-ctx.Done():
			return
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
	e.stop, e.known, e.moved, e.requeried = cancel, false, make(chan struct{}), make(chan struct{})
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
	var moved, queriedAt time.Time
	late := 0 // queries left until a report is considered void
	for {
		e.rest(ctx, moved)
		wait, written := edgeEvery, e.written() // taken before the query
		queriedAt = time.Now()
		now, err := e.ask(ctx)
		late = max(late-1, 0)
		if err == nil && e.take(ctx, EdgeAt{now, queriedAt}) {
			moved, late = queriedAt, 0
		}
		if err == nil && written != nil && late == 0 {
			wait = edgeSeldom
		}
		select {
		case <-written:
			late, wait = edgeLate, edgeLeast-time.Since(queriedAt)
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

// take records an edge, and reports whether it differs from the last one.
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
	close(e.requeried)
	e.requeried = make(chan struct{})
	return moved
}

// Wait is how long to wait for an edge: for Most, or until Over is closed. A
// thousand tails wait again ten times a second, too often for a context each.
type Wait struct {
	Most time.Duration
	Over <-chan struct{} // nil: only for Most
}

// Await returns an edge beyond the one that a page of a feed saw, as soon as
// there is one, or nil when the wait is over. It fails with the cause of the end
// of ctx. A waiting caller holds no statement and no room.
func (s *Service) Await(ctx context.Context, seen Edge, wait Wait) (*EdgeAt, error) {
	return s.edge.beyond(ctx, seen, wait)
}
