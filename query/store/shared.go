package store

import (
	"context"
	"sync"
	"time"

	"preismon/query/admission"
)

// shared lets all waiting requests share a statement. A request that arrives
// while one runs waits for the next, which begins after the request: no answer
// is older than its request.
type shared[Q, A any] struct {
	read func(context.Context, []Q) (A, error)
	// gatherDelay is how long a statement waits for another request, as long as it
	// has fewer than the previous one: requests that shared a statement tend to
	// come again at about the same time. It is a small part of the time that a
	// statement takes.
	gatherDelay time.Duration

	mu      sync.Mutex
	next    *sharing[Q, A] // has not begun; nil: no request waits
	running chan struct{}  // closed when the last statement that began has ended; nil: none has begun
	crowd   int            // how many requests shared that one, and are expected for the next
}

// sharing is a statement that requests wait for.
type sharing[Q, A any] struct {
	ctx   context.Context // of the first request, for its request id and its trace, and of no account
	about []Q
	done  chan struct{} // closed when answer or err is set

	answer A
	err    error
}

// patience is how long a statement waits for the previous one, which may hang.
const patience = 50 * time.Millisecond

// expect sets how many requests are expected for the next statement.
func (s *shared[Q, A]) expect(requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crowd = requests
}

// ask returns the answer as of a moment after the call.
func (s *shared[Q, A]) ask(ctx context.Context, about Q) (none A, _ error) {
	q := s.join(ctx, about)
	select {
	case <-q.done:
		return q.answer, q.err
	case <-ctx.Done():
		return none, kind(context.Cause(ctx))
	}
}

// join adds a request to the statement that begins next.
func (s *shared[Q, A]) join(ctx context.Context, about Q) *sharing[Q, A] {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.next
	if q == nil {
		q = &sharing[Q, A]{ctx: admission.WithAccount(context.WithoutCancel(ctx), 0), done: make(chan struct{})}
		s.next = q
		go s.run(q, s.running, s.crowd)
	}
	q.about = append(q.about, about)
	return q
}

// gatherings is how many times gatherDelay a statement waits at most.
const gatherings = 5

// gather waits as long as requests keep coming, until there are as many as
// expected.
func (s *shared[Q, A]) gather(q *sharing[Q, A], expected int) {
	requests := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(q.about)
	}
	for range gatherings {
		before := requests()
		if before >= expected {
			return
		}
		time.Sleep(s.gatherDelay)
		if requests() == before {
			return
		}
	}
}

// run runs the statement when it may begin.
func (s *shared[Q, A]) run(q *sharing[Q, A], before <-chan struct{}, expected int) {
	if before != nil {
		late := time.NewTimer(patience)
		select {
		case <-before:
		case <-late.C:
		}
		late.Stop()
	}
	s.gather(q, expected)
	s.mu.Lock()
	s.next, s.running, s.crowd = nil, q.done, len(q.about)
	s.mu.Unlock()
	defer close(q.done)
	q.answer, q.err = s.read(q.ctx, q.about)
}
