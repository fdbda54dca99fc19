package ingest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"preismon/contracts/event"
)

// feed reads one stream: it pulls, decodes concurrently, cuts batches in order
// and offers them: on full when they can hold no more, on out when they have
// waited long enough. One batch can be filled while others are in the sink;
// apart from these it holds only a few chunks on the way.
type feed struct {
	loop    *Consumer
	stream  string
	subject string
	at      *StreamProgress // under loop.mu
	out     chan *cut
	full    chan *cut

	completed chan struct{} // closed when everything that was there at the start has been applied
	once      sync.Once
	goal      *uint64 // the end of the stream at the start, or where it ended since if that was before; nil: not known yet. Under loop.mu
	last      *cut    // handed out last

	taken    uint64        // the last sequence that the sink has; at.Applied may be beyond it, where nothing follows. Under loop.mu
	came     atomic.Uint64 // the last sequence received in this session
	witness  position      // the message applied last. Under loop.mu
	recreate bool          // create the durable consumer again: another process that pulls from it must notice that it is gone
	reopen   func(error)   // ends the current session; nil: there is none. Under loop.mu
}

// position is the sequence of a message, and when it was stored.
type position struct {
	seq    uint64
	stored time.Time
}

func newFeed(l *Consumer, stream, subject string, at *StreamProgress) *feed {
	f := &feed{loop: l, stream: stream, subject: subject, at: at, out: make(chan *cut), completed: make(chan struct{})}
	f.full = f.out
	if stream == event.StreamObservations {
		f.full = make(chan *cut)
	}
	return f
}

func (f *feed) complete() bool {
	select {
	case <-f.completed:
		return true
	default:
		return false
	}
}

// recordApplied records that the sink has the batch.
func (f *feed) recordApplied(b *cut) {
	f.loop.count(func(p *Progress) {
		f.taken, f.at.Applied, f.at.Stored = b.Last, b.Last, b.stored
		f.witness = position{b.Last, b.stored}
		f.ends(b.Last + b.Pending) // at least: the server that counted them may be late
		p.Batches++
		p.Events += uint64(len(b.Messages))
		p.Passed += uint64(b.passed)
		if f.stream == event.StreamObservations {
			p.Rows += uint64(b.rows)
		}
	})
}

// ends records that the stream extends at least to last, and updates what
// follows from how far the sink has come. A server that is late may report
// less.
func (f *feed) ends(last uint64) {
	if last > f.at.Last {
		f.at.Messages += last - f.at.Last
		f.at.Last = last
	}
	f.at.Lag = min(f.at.Last-min(f.at.Last, f.at.Applied), f.at.Messages)
	if f.goal != nil && f.at.Applied >= *f.goal {
		f.once.Do(func() { close(f.completed) })
	}
}

// run opens the stream again and again until ctx ends.
func (f *feed) run(ctx context.Context) {
	for try := 1; ctx.Err() == nil; try++ {
		started := time.Now()
		err := f.open(ctx)
		f.recreate = errors.Is(err, errNothing) || errors.Is(err, errPassedOver)
		if ends(err) {
			f.loop.stop(err)
		}
		if ctx.Err() != nil {
			return
		}
		if f.last != nil { // the sink may still have a batch
			select {
			case <-f.last.over:
				f.last = nil
			case <-ctx.Done():
				return
			}
		}
		if time.Since(started) > sinkBackoff {
			try = 1
		}
		f.loop.count(func(p *Progress) { p.Restarts++ })
		f.loop.log.Warn("opening the stream again", "stream", f.stream, "try", try, "error", err)
		if !sleep(ctx, backoff(try, sinkBackoff)) {
			return
		}
	}
}

// look updates the stream's end and the lag.
func (f *feed) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	queriedAt := time.Now()
	s, err := f.loop.js.Stream(ctx, f.stream)
	if err != nil {
		return // the code that reads the stream notices it
	}
	info := s.CachedInfo()
	epoch := incarnation(info).Epoch
	var open bool
	f.loop.count(func(*Progress) {
		if f.at.Epoch == 0 {
			return
		}
		if epoch != f.at.Epoch {
			if f.reopen != nil {
				f.reopen(errNewEpoch)
			}
			return
		}
		f.begin(info, queriedAt)
		open = f.reopen != nil
	})
	if open {
		f.close(ctx, s)
	}
}
