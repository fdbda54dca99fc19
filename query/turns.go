package query

import "runtime"

// turns bound how much of what needs nothing but a processor goes on at once:
// the encoding of streams. Processors are given in slices of ten milliseconds
// to whoever can use one. With dozens of streams in line a page, which needs
// one for a moment and often, waits for all of them each time.
type turns chan struct{}

func newTurns() turns { return make(turns, runtime.GOMAXPROCS(0)) }

// take runs work in its turn. It must wait for nothing.
func (t turns) take(work func() error) error {
	t <- struct{}{}
	defer func() { <-t }()
	return work()
}

// Turn runs a part of the work of a stream, such as compressing it, when as
// many of them as there are processors allow it. It must wait for nothing.
func (s *Service) Turn(work func() error) error { return s.turns.take(work) }
