package admission

import (
	"context"
	"slices"
	"sync"
	"time"

	"preismon/contracts"
)

// statements is a semaphore for running statements. Waiting statements are let
// in by how few statements their account is running, then in order of arrival.
type statements struct {
	node           *Node
	most, mostLong int

	mu         sync.Mutex
	held, long int
	of         map[contracts.AccountID]int
	waiting    []*queued
}

type queued struct {
	of    contracts.AccountID
	long  bool
	ready chan struct{}
}

// Rows waits until a statement for observations may run; long: it is part of a
// stream. While it runs, it may wait for Records.
func (n *Node) Rows(ctx context.Context, long bool) (end func(), err error) {
	return n.rows.take(ctx, long)
}

// Records waits until a statement for records of the catalogue may run. While
// it runs, it must not wait for another statement.
func (n *Node) Records(ctx context.Context) (end func(), err error) {
	return n.records.take(ctx, false)
}

// Sums waits until a statement may run that sums up observations. It may take
// all the time that a read has, so it takes no place of the statements that
// every page, and every request, needs. While it runs, it must not wait for
// another statement.
func (n *Node) Sums(ctx context.Context) (end func(), err error) {
	return n.sums.take(ctx, false)
}

func (s *statements) free(long bool) bool { return s.held < s.most && (!long || s.long < s.mostLong) }

func (s *statements) enter(of contracts.AccountID, long bool) {
	if s.of == nil {
		s.of = map[contracts.AccountID]int{}
	}
	s.of[of]++
	s.held++
	if long {
		s.long++
	}
}

func (s *statements) end(of contracts.AccountID, long bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[of]--; s.of[of] == 0 {
		delete(s.of, of)
	}
	s.held--
	if long {
		s.long--
	}
	s.grant()
}

// grant lets in one statement after another: sorting all waiting statements
// whenever one ends would hold up the others.
func (s *statements) grant() {
	for s.held < s.most {
		var first *queued
		for _, q := range s.waiting {
			if (first == nil || s.of[q.of] < s.of[first.of]) && s.free(q.long) {
				first = q
			}
		}
		if first == nil {
			return
		}
		s.leave(first)
		s.enter(first.of, first.long)
		close(first.ready)
	}
}

func (s *statements) leave(q *queued) {
	s.waiting = slices.DeleteFunc(s.waiting, func(o *queued) bool { return o == q })
}

func (s *statements) take(ctx context.Context, long bool) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	of := accountOf(ctx)
	end = sync.OnceFunc(func() { s.end(of, long) })
	s.mu.Lock()
	q := &queued{of: of, long: long, ready: make(chan struct{})}
	s.waiting = append(s.waiting, q)
	s.grant()
	s.mu.Unlock()
	select { // checked alone first: among several ready channels, select chooses at random
	case <-q.ready:
		return end, nil
	default:
	}
	defer waits(ctx)()
	wait := s.node.cfg.Wait
	if long { // a running stream must not be cut off before a new one is refused
		wait *= 2
	}
	limit := time.NewTimer(wait)
	defer limit.Stop()
	ended := false
	select {
	case <-q.ready:
		return end, nil
	case <-limit.C:
	case <-ctx.Done():
		ended = !deadline(ctx)
	}
	s.mu.Lock()
	own := s.of[of]
	s.leave(q)
	s.mu.Unlock()
	select {
	case <-q.ready: // it was granted at the last moment
		return end, nil
	default:
	}
	if ended {
		return nil, context.Cause(ctx)
	}
	why := ofNode
	if of != 0 && (own > 1 && own*2 >= s.most || long && own*2 > s.mostLong) { // without an account there is no share to exceed
		why = ofAccount
	}
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	return nil, s.node.refuse(s.node.accounts[of], why, "statements")
}
