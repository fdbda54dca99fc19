package proxy

import (
	"net"
	"sync/atomic"
	"time"
)

// queue writes pieces in order, each when it is due: late pieces are on their
// way while more arrive.
type queue struct {
	to      net.Conn
	gone    chan struct{}
	waiting atomic.Int64
	line    chan late
}

type late struct {
	piece []byte
	due   time.Time
}

// write passes a piece on, at once if no delayed piece precedes it; false: the
// connection is over.
func (q *queue) write(piece []byte, by time.Duration) bool {
	if by <= 0 && q.waiting.Load() == 0 {
		_, err := q.to.Write(piece)
		return err == nil
	}
	if q.line == nil {
		q.line = make(chan late, 1<<14)
		go q.drain()
	}
	q.waiting.Add(1)
	select {
	case q.line <- late{append([]byte(nil), piece...), time.Now().Add(by)}:
		return true
	case <-q.gone:
		return false
	}
}

func (q *queue) drain() {
	for {
		select {
		case l := <-q.line:
			select {
			case <-time.After(time.Until(l.due)):
			case <-q.gone:
				return
			}
			if _, err := q.to.Write(l.piece); err != nil {
				return
			}
			q.waiting.Add(-1)
		case <-q.gone:
			return
		}
	}
}
