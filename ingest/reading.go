package ingest

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/semaphore"

	"preismon/contracts/event"
)

// reading is one session's path from the connection to the batches.
type reading struct {
	feed    *feed
	stream  jetstream.Stream
	epoch   uint32
	seen    uint64 // highest sequence received
	cancel  context.CancelCauseFunc
	arrived chan jetstream.Msg
	chunks  chan *chunk
	ahead   *semaphore.Weighted // bytes of messages that are decoded, or about to be, and not in a batch yet
}

// receive checks the order of arriving messages and spreads them over the
// workers.
func (r *reading) receive(ctx context.Context) {
	l := r.feed.loop
	var (
		c         *chunk
		delivered uint64
		stall     = time.NewTimer(time.Hour)
		wg        sync.WaitGroup
	)
	defer wg.Wait()
	defer stall.Stop()
	flush := func() bool {
		if c == nil {
			return true
		}
		full := c
		c = nil
		full.ahead = min(int64(full.bytes), aheadBytes)
		if r.ahead.Acquire(ctx, full.ahead) != nil {
			return false
		}
		select {
		case r.chunks <- full:
		case <-ctx.Done():
			return false
		}
		select {
		case l.decoders <- struct{}{}:
		case <-ctx.Done():
			return false
		}
		wg.Go(func() {
			defer func() { close(full.ready); <-l.decoders }()
			full.err = prove(ctx, r.stream, r.feed.subject, full.gaps)
			full.decode(r.feed.stream)
			if l.c.Tracer != nil {
				full.findPublishers()
			}
		})
		return true
	}
	for {
		var m jetstream.Msg
		select {
		case m = <-r.arrived:
		case <-stall.C:
			if !flush() {
				return
			}
			continue
		case <-ctx.Done():
			return
		}
		meta, err := m.Metadata()
		if err != nil {
			r.cancel(err)
			return
		}
		// The consumer counts its deliveries from 1 since it was positioned. A
		// number that is missing was delivered elsewhere, with its message.
		if delivered++; meta.Sequence.Consumer != delivered {
			r.cancel(errGap)
			return
		}
		if meta.Sequence.Stream <= r.seen {
			done := false
			l.count(func(p *Progress) {
				p.Redelivered++
				done = meta.Sequence.Stream <= r.feed.taken
			})
			if done {
				_ = m.Ack() // the acknowledgement was lost; if this one is too, the message is delivered again
			}
			continue
		}
		if c == nil {
			c = &chunk{ready: make(chan struct{})}
			stall.Reset(20 * time.Millisecond)
		}
		if meta.Sequence.Stream > r.seen+1 {
			c.gaps = append(c.gaps, gap{r.seen + 1, meta.Sequence.Stream - 1})
		}
		r.seen = meta.Sequence.Stream
		r.feed.came.Store(r.seen)
		a := arrival{msg: m, seq: meta.Sequence.Stream, stored: meta.Timestamp, pending: meta.NumPending}
		a.passed = r.feed.stream == event.StreamObservations && !l.c.owns(m.Subject())
		c.list = append(c.list, a)
		c.bytes += len(m.Data()) // also for those that are passed over: they are held until the chunk is cut
		if meta.NumPending == 0 || len(c.list) >= chunkMessages || c.bytes >= chunkBytes {
			if !flush() {
				return
			}
		}
	}
}
