package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"preismon/contracts"
	"preismon/contracts/event"
)

// PublisherConfig bounds what is under way at once; 0 selects the default.
type PublisherConfig struct {
	MaxInFlight int           // events without an acknowledgement; 4096
	AckTimeout  time.Duration // until an event is sent again; 10 s
	MaxBackoff  time.Duration // longest wait between two tries of one event; 5 s
	// NoStreamWait is how long a missing stream may stay missing (servers
	// start, leaders change) until publishing fails; 10 s.
	NoStreamWait time.Duration

	// Settled is called with the outcome of every event that was sent, also
	// concurrently; nil: not called.
	Settled func(Settled)
	// Tracer creates the spans of publishing; nil: none are created.
	Tracer trace.Tracer
}

// Settled is the outcome of one event, when it is in the stream or never will
// be.
type Settled struct {
	Stream    string
	Took      time.Duration // since it was first sent
	Duplicate bool
	Err       error
}

// maxBytesInFlight bounds the bytes of events without an acknowledgement.
const maxBytesInFlight = 32 << 20

func (c PublisherConfig) withDefaults() PublisherConfig {
	c.MaxInFlight = cmp.Or(c.MaxInFlight, 4096)
	c.AckTimeout = cmp.Or(c.AckTimeout, 10*time.Second)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, 5*time.Second)
	c.NoStreamWait = cmp.Or(c.NoStreamWait, 10*time.Second)
	return c
}

// Validate returns every fault of the configuration.
func (c PublisherConfig) Validate() error {
	var f contracts.Faults
	c = c.withDefaults()
	f.Check(c.MaxInFlight > 0, "publisher max in flight: not positive")
	f.Check(c.AckTimeout > 0 && c.MaxBackoff > 0 && c.NoStreamWait > 0, "publisher times: not positive")
	return f.Err()
}

// Stats counts the outcomes of the events given to a Publisher.
type Stats struct {
	Accepted   uint64 // acknowledged as new
	Duplicates uint64 // acknowledged, but the stream had its id already
	Failed     uint64 // permanently refused by the server
	Retries    uint64 // sent again
	InFlight   int    // not yet acknowledged
}

// Publisher publishes events asynchronously and keeps trying until each is
// acknowledged. It is safe for concurrent use. Two events of one catalogue
// record are never under way at once, so that the later one stays the last.
type Publisher struct {
	c   PublisherConfig
	nc  *nats.Conn
	js  jetstream.JetStream
	log *slog.Logger

	mu       sync.Mutex
	pending  map[*nats.Msg]*publication
	settling int // settled, but the caller has not been notified yet
	bytes    int64
	records  map[string]bool // subjects of the catalogue with an event under way
	changed  chan struct{}   // closed at the next change; nil: no one is waiting
	stats    Stats
	err      error   // why nothing can be published any more
	refused  []error // the first events that the server permanently refused
	noStream map[string]time.Time
	warned   time.Time

	logins logins
}

// publication is one event under way.
type publication struct {
	msg    *nats.Msg
	stream string
	tries  int
	done   func(duplicate bool, err error) // called with the outcome; must not block; may be nil
	began  time.Time
	span   trace.Span // nil: no traces
}

// NewPublisher returns a publisher on the connection. Close it after use. One
// per connection is enough.
func NewPublisher(nc *nats.Conn, c PublisherConfig, log *slog.Logger) (*Publisher, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	c = c.withDefaults()
	p := &Publisher{
		c: c, nc: nc, log: log,
		pending: make(map[*nats.Msg]*publication), records: make(map[string]bool), noStream: make(map[string]time.Time),
	}
	js, err := jetstream.New(nc,
		jetstream.WithPublishAsyncMaxPending(c.MaxInFlight+1),
		jetstream.WithPublishAsyncTimeout(c.AckTimeout),
		jetstream.WithPublishAsyncAckHandler(func(_ jetstream.JetStream, m *nats.Msg, ack *jetstream.PubAck) { p.acked(m, ack) }),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, m *nats.Msg, err error) { p.unacked(m, err) }))
	if err != nil {
		return nil, err
	}
	p.js = js
	return p, nil
}

// Publish validates the event, waits for room in the window and sends it. An
// error means that the event is invalid, that ctx ended, or that nothing can be
// published at all; an event that was sent is not yet accepted: see Flush.
func (p *Publisher) Publish(ctx context.Context, e *event.Event) error {
	b, err := event.Encode(e)
	if err != nil {
		return err
	}
	return p.publish(ctx, e, newPublication(e, b))
}

// ErrOvertaken means that a record of the catalogue is not published, because
// another state of it was published since it was read.
var ErrOvertaken = errors.New("another state of it was published meanwhile")

// PublishAfter publishes the new state of a record whose earlier one was read
// when the sequence read was the last of CATALOG, or returns ErrOvertaken. It
// waits until the event is accepted.
func (p *Publisher) PublishAfter(ctx context.Context, read uint64, e *event.Event) error {
	b, err := event.Encode(e)
	if err != nil {
		return err
	}
	last, err := newest(ctx, p.js, event.StreamCatalog, e.Subject())
	if err != nil {
		return err
	}
	if last.Seq > read {
		return fmt.Errorf("%w, as sequence %d of %s", ErrOvertaken, last.Seq, last.Stream)
	}
	f := newPublication(e, b)
	f.msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(last.Seq, 10))
	settled := make(chan error, 1)
	f.done = func(_ bool, err error) { settled <- err }
	if err := p.publish(ctx, e, f); err != nil {
		return err
	}
	select {
	case err = <-settled:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !errors.Is(err, ErrOvertaken) {
		return err
	}
	// The other state may be our own, whose acknowledgement was lost: the server
	// compares sequences before ids.
	last, lastErr := newest(ctx, p.js, event.StreamCatalog, e.Subject())
	if lastErr != nil || last.ID == e.ID {
		return lastErr
	}
	return err
}

// newPublication returns the publication of e, whose encoding is b.
func newPublication(e *event.Event, b []byte) *publication {
	stream := e.Kind.Stream()
	return &publication{stream: stream, msg: &nats.Msg{Subject: e.Subject(), Data: b, Header: nats.Header{
		jetstream.MsgIDHeader: {e.ID}, jetstream.ExpectedStreamHeader: {stream},
	}}}
}

// publish sends the publication of the valid event e.
func (p *Publisher) publish(ctx context.Context, e *event.Event, f *publication) error {
	if a, ok := e.Data.(*contracts.Account); ok {
		if err := p.logins.claim(ctx, p.js, p.c.NoStreamWait, a); err != nil {
			return err
		}
	}
	f.publishing(ctx, p.c.Tracer, e)
	if err := p.send(ctx, f); err != nil {
		f.published(false, err)
		return err
	}
	return nil
}

// send waits for room and sends the event. If it returns no error, the event is
// in flight.
func (p *Publisher) send(ctx context.Context, f *publication) error {
	size := int64(len(f.msg.Data))
	for {
		if ctx.Err() != nil { // also where there is always room
			return context.Cause(ctx)
		}
		p.mu.Lock()
		if p.err != nil {
			p.mu.Unlock()
			return p.err
		}
		room := len(p.pending) < p.c.MaxInFlight && p.bytes+size <= maxBytesInFlight
		if room && !p.records[f.msg.Subject] {
			p.pending[f.msg] = f
			p.bytes += size
			f.began = time.Now()
			if f.stream == event.StreamCatalog {
				p.records[f.msg.Subject] = true
			}
			p.mu.Unlock()
			p.try(f)
			return nil
		}
		changed := p.change()
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// change returns the channel that the next change closes. The lock is held.
func (p *Publisher) change() <-chan struct{} {
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.changed
}

// wakeWaiting wakes those waiting for a change. The lock is held.
func (p *Publisher) wakeWaiting() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// Flush waits until nothing is in flight and returns the outcomes of everything
// published so far. The error names events that the server permanently refused,
// or why publishing stopped; it is the cause of ctx if that ended first.
func (p *Publisher) Flush(ctx context.Context) (Stats, error) {
	for {
		p.mu.Lock()
		stats := p.stats
		stats.InFlight = len(p.pending)
		if len(p.pending) == 0 && p.settling == 0 {
			err := p.err
			if err == nil {
				err = errors.Join(p.refused...)
			}
			p.mu.Unlock()
			return stats, err
		}
		changed := p.change()
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return p.Stats(), context.Cause(ctx)
		}
	}
}

// Stats returns the outcomes of the events so far.
func (p *Publisher) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	stats.InFlight = len(p.pending)
	return stats
}

// errClosed is why nothing is published after Close.
var errClosed = errors.New("the publisher is closed")

// Close abandons what is still in flight. Flush first. Its subscription ends
// with the connection: nats.go 1.55 leaks a goroutine when a publisher is
// cleaned up just after its first publish (CleanupPublisher).
func (p *Publisher) Close() { p.fail(errClosed) }
