package faults_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/ingest"
)

// usual is how many events are sent at once, and plenty how many during one
// fault: more of them, during a fault that lasts, would only slow the checks
// down.
const (
	usual  = 8
	plenty = 10_000
)

// producer publishes events until it is told to pause.
type producer struct {
	ledger *ledger
	conn   *nats.Conn
	pub    *ingest.Publisher
	js     jetstream.JetStream

	// known is held by those who rely on the stream's memory of message ids:
	// poison has no id of its own, so a duplicate would become two dead
	// letters.
	known  sync.Mutex
	burst  atomic.Int32 // events at once
	sent   atomic.Int64 // since it was resumed
	paused atomic.Bool
	idle   chan struct{} // held by the one that publishes
	err    atomic.Pointer[error]
}

func newProducer(l *ledger, address string) (*producer, error) {
	conn, err := ingest.Connect(ingest.Config{URL: address, Name: "producer"})
	if err != nil {
		return nil, err
	}
	// It gives up soon on what hangs; otherwise each lost answer would take ten
	// seconds.
	pub, err := ingest.NewPublisher(conn, ingest.PublisherConfig{AckTimeout: time.Second, MaxBackoff: 200 * time.Millisecond, NoStreamWait: time.Minute}, nil)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	p := &producer{ledger: l, conn: conn, pub: pub, js: js, idle: make(chan struct{}, 1)}
	p.burst.Store(usual)
	return p, nil
}

// run publishes bursts, and records in the ledger what was acknowledged.
func (p *producer) run(ctx context.Context) {
	for ctx.Err() == nil {
		if !p.paused.Load() {
			if err := p.send(ctx); err != nil && ctx.Err() == nil {
				err = fmt.Errorf("producer: %w", err)
				p.err.Store(&err)
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
		if p.sent.Load() > plenty && p.burst.Load() <= usual {
			time.Sleep(200 * time.Millisecond)
		}
	}
}

func (p *producer) send(ctx context.Context) error {
	p.idle <- struct{}{}
	defer func() { <-p.idle }()
	if p.paused.Load() {
		return nil
	}
	for range p.burst.Load() {
		if err := p.pub.Publish(ctx, p.ledger.next()); err != nil {
			return err
		}
		p.sent.Add(1)
	}
	if _, err := p.pub.Flush(ctx); err != nil {
		return err
	}
	p.ledger.mu.Lock()
	p.ledger.acked = len(p.ledger.events)
	p.ledger.mu.Unlock()
	return nil
}

// pause returns after everything sent is acknowledged.
func (p *producer) pause(limit time.Duration) error {
	p.paused.Store(true)
	select {
	case p.idle <- struct{}{}:
		<-p.idle
		return p.failure()
	case <-time.After(limit):
		return errors.Join(fmt.Errorf("after %s the producer still waits for acknowledgements", limit), p.failure())
	}
}

func (p *producer) resume() {
	p.sent.Store(0)
	p.paused.Store(false)
}

func (p *producer) failure() error {
	if err := p.err.Load(); err != nil {
		return *err
	}
	return nil
}

// republish publishes some acknowledged events a second time with other message
// ids, as does a producer that was cut off for longer than the stream remembers
// ids.
func (p *producer) republish(ctx context.Context, n int) error {
	p.ledger.mu.Lock()
	var some []*event.Event
	for i := p.ledger.acked - 1; i >= 0 && len(some) < n; i -= 1 + i%3 {
		some = append(some, p.ledger.events[i])
	}
	p.ledger.mu.Unlock()
	for _, e := range some {
		b, err := event.Encode(e)
		if err != nil {
			return err
		}
		if err := p.raw(ctx, e.Subject(), b); err != nil {
			return err
		}
	}
	return nil
}

// raw publishes bytes with a message id of their own until they are accepted,
// but not for ever.
func (p *producer) raw(ctx context.Context, subject string, b []byte) error {
	id := nats.NewInbox()
	for began := time.Now(); ; {
		inner, cancel := context.WithTimeout(ctx, time.Second)
		_, err := p.js.PublishMsg(inner, &nats.Msg{Subject: subject, Data: b, Header: nats.Header{jetstream.MsgIDHeader: {id}}})
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		if time.Since(began) > 2*patience {
			return fmt.Errorf("%d bytes of poison are not taken: %w", len(b), err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// poison publishes messages that are not events: n of the known kinds,
// beginning with first. The largest is as large as the stream accepts.
func (p *producer) poison(ctx context.Context, first, n int) error {
	p.known.Lock()
	defer p.known.Unlock()
	for i := range n {
		p.ledger.mu.Lock()
		bad := [][]byte{
			bytes.Repeat([]byte("x"), event.MaxBytes), bytes.Repeat([]byte("["), 100_000), []byte(`{"version":NaN}`), []byte("{}"),
			[]byte(`{"version":1,"eventId":"` + newID(p.ledger.rnd) + `","kind":"observations","producedAt":"2026-01-01T00:00:00Z","data":{"site":"shop-a","observations":[{"itemId":1,"capturedAt":"1970-01-01T00:00:00Z","outcome":"PRICE_OBSERVED"}]}}`),
			nil, []byte("{"), []byte("\x00\xff"), []byte(`{"version":99}`), []byte(`[[[[[[[[[[[[[[[[[[[[[[[[[[`),
			[]byte(`{"version":1,"eventId":"` + newID(p.ledger.rnd) + `","kind":"observations","producedAt":"2026-01-01T00:00:00Z","data":{"site":"shop-a","observations":[{"itemId":18446744073709551616}]}}`),
		}
		p.ledger.mu.Unlock()
		if err := p.raw(ctx, "observations.shop-a", bad[(first+i)%len(bad)]); err != nil {
			return err
		}
		p.ledger.mu.Lock()
		p.ledger.poison++
		p.ledger.mu.Unlock()
	}
	return nil
}
