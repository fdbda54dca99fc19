package store

import (
	"context"
	"sync"
	"time"
)

// shared lets all requests that wait share a statement. Who asks while one runs
// waits for the next, which begins after the question: no answer is older than
// what was asked.
type shared[Q, A any] struct {
	read func(context.Context, []Q) (A, error)
	// company is how long a statement waits for others, where the one before had
	// several: they ask again at about the same time. It is a small part of its
	// time.
	company time.Duration

	mu      sync.Mutex
	next    *sharing[Q, A] // has not begun; nil: nobody waits
	running chan struct{}  // closed when the last statement that began has ended; nil: none did
	crowd   int            // who shared that one
}

// sharing is a statement that some wait for.
type sharing[Q, A any] struct {
	ctx   context.Context // of who asked first, for its request id and its trace
	about []Q
	done  chan struct{} // closed when answer or err are there

	answer A
	err    error
}

// patience is how long a statement waits for the one before, which may hang.
const patience = 50 * time.Millisecond

// ask gives the answer of a moment after the call.
func (s *shared[Q, A]) ask(ctx context.Context, about Q) (none A, _ error) {
	q := s.join(ctx, about)
	select {
	case <-q.done:
		return q.answer, q.err
	case <-ctx.Done():
		return none, kind(context.Cause(ctx))
	}
}

// join adds a question to the statement that begins next.
func (s *shared[Q, A]) join(ctx context.Context, about Q) *sharing[Q, A] {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.next
	if q == nil {
		q = &sharing[Q, A]{ctx: context.WithoutCancel(ctx), done: make(chan struct{})}
		s.next = q
		go s.run(q, s.running, s.crowd > 1)
	}
	q.about = append(q.about, about)
	return q
}

// run asks when the statement may begin.
func (s *shared[Q, A]) run(q *sharing[Q, A], before <-chan struct{}, gather bool) {
	if before != nil {
		late := time.NewTimer(patience)
		select {
		case <-before:
		case <-late.C:
		}
		late.Stop()
	}
	if gather {
		time.Sleep(s.company)
	}
	s.mu.Lock()
	s.next, s.running, s.crowd = nil, q.done, len(q.about)
	s.mu.Unlock()
	defer close(q.done)
	q.answer, q.err = s.read(q.ctx, q.about)
}
