package ingest

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"preismon/contracts/event"
)

// cut is a batch on its way, with what is needed to acknowledge it.
type cut struct {
	event.Batch
	feed        *feed
	session     context.Context // ends when the server's view may have changed
	acker       jetstream.Msg
	over        chan struct{} // closed when the loop is done with it
	rows, bytes int
	messages    int                 // that it covers, read or not
	passed      int                 // how many of them belong to other partitions
	stored      time.Time           // of its last message
	publishers  []trace.SpanContext // of its messages, at most maxLinks
}

// acknowledge acknowledges the batch to the server. That may fail: the sink
// knows where to resume, and drops what is delivered again.
func (b *cut) acknowledge(ctx context.Context) {
	if b.session.Err() != nil && ctx.Err() == nil || !b.feed.loop.js.Conn().IsConnected() {
		return
	}
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	defer context.AfterFunc(b.session, func() {
		if ctx.Err() == nil { // the connection broke: no reply will come
			cancel()
		}
	})()
	if err := b.acker.DoubleAck(inner); err != nil {
		b.feed.loop.log.Debug("acknowledging failed", "stream", b.Stream, "last", b.Last, "error", err)
	}
}

// cut builds batches from the chunks, in order, and offers them.
func (r *reading) cut(ctx context.Context, next uint64) {
	l := r.feed.loop
	var (
		b      *cut
		linger = time.NewTimer(time.Hour)
		waited bool
	)
	defer linger.Stop()
	hand := func() bool {
		select {
		case r.feed.full <- b:
			r.feed.last = b
			b = nil
			return true
		case <-ctx.Done():
			return false
		}
	}
	for {
		var out chan *cut
		if b != nil && waited {
			out = r.feed.out
		}
		var c *chunk
		select {
		case c = <-r.chunks:
		case out <- b:
			r.feed.last = b
			b = nil
			continue
		case <-linger.C:
			waited = true
			continue
		case <-ctx.Done():
			return
		}
		select {
		case <-c.ready:
		case <-ctx.Done():
			return
		}
		if c.err != nil {
			r.cancel(c.err)
			return
		}
		for i := range c.list {
			a := &c.list[i]
			size := len(a.msg.Data())
			if a.passed {
				size = 0 // it is not kept
			}
			// Every partition that cannot read a message of CATALOG puts it
			// into the dead letters: it may have a newer form, which others can
			// read. They all write the same letter, because its id is the same.
			if a.err != nil && !l.c.SkipPoison && !l.deadLetter(ctx, letter{r.feed.stream, r.epoch, a.seq, a.msg.Subject(), a.msg.Data(), a.err}) {
				return
			}
			if b != nil && (b.rows+a.rows > maxBatchRows || b.bytes+size > l.c.MaxBytes || r.full(b)) && !hand() {
				return
			}
			if b == nil {
				b = &cut{Batch: event.Batch{Stream: r.feed.stream, Epoch: r.epoch, First: next}, feed: r.feed, session: ctx, over: make(chan struct{})}
				waited = false
				linger.Reset(l.c.PassLinger)
			}
			if !a.passed && b.passed == b.messages { // the first of this partition
				waited = false
				linger.Reset(l.c.Linger)
			}
			b.Last, b.Pending, b.acker, b.stored = a.seq, a.pending, a.msg, a.stored
			b.messages++
			if a.passed {
				b.passed++
			}
			if a.publisher.IsValid() && len(b.publishers) < maxLinks {
				b.publishers = append(b.publishers, a.publisher)
			}
			b.rows += a.rows
			b.bytes += size
			if a.event != nil {
				b.Messages = append(b.Messages, event.Message{Seq: a.seq, Stored: a.stored, Event: a.event})
			}
			next = a.seq + 1
		}
		r.ahead.Release(c.ahead)
		if b != nil && (b.rows >= maxBatchRows || b.bytes >= l.c.MaxBytes || r.full(b)) && !hand() {
			return
		}
	}
}

// full reports whether the batch has as many messages as it may have, of this
// partition or in total.
func (r *reading) full(b *cut) bool {
	c := r.feed.loop.c
	return len(b.Messages) >= c.MaxMessages || b.messages >= c.reach()
}
