package ingest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
)

func (p *Publisher) try(f *publication) {
	if _, err := p.js.PublishMsgAsync(f.msg, jetstream.WithStallWait(p.c.AckTimeout)); err != nil {
		p.unacked(f.msg, err)
	}
}

// take removes a publication from those under way; nil if it is not there any more.
func (p *Publisher) take(m *nats.Msg) *publication {
	f := p.pending[m]
	if f == nil {
		return nil
	}
	delete(p.pending, m)
	p.bytes -= int64(len(m.Data))
	if f.stream == event.StreamCatalog {
		delete(p.records, m.Subject)
	}
	p.settling++
	p.wakeWaiting()
	return f
}

// settle notifies the callers of the event's outcome.
func (p *Publisher) settle(f *publication, duplicate bool, err error) {
	f.published(duplicate, err)
	if p.c.Settled != nil {
		p.c.Settled(Settled{Stream: f.stream, Took: time.Since(f.began), Duplicate: duplicate, Err: err})
	}
	if f.done != nil {
		f.done(duplicate, err)
	}
	p.mu.Lock()
	if p.settling--; p.settling == 0 {
		p.wakeWaiting()
	}
	p.mu.Unlock()
}

func (p *Publisher) acked(m *nats.Msg, ack *jetstream.PubAck) {
	p.mu.Lock()
	f := p.take(m)
	if f == nil {
		p.mu.Unlock()
		return
	}
	clear(p.noStream)
	// After a try whose acknowledgement was lost, the duplicate is our own.
	duplicate := ack.Duplicate && f.tries == 0
	if duplicate {
		p.stats.Duplicates++
	} else {
		p.stats.Accepted++
	}
	p.mu.Unlock()
	p.settle(f, duplicate, nil)
}

// maxRefused is how many refusals Flush names at most.
const maxRefused = 10

// unacked decides what follows a failed try: try again later, never send this
// event, or send nothing any more.
func (p *Publisher) unacked(m *nats.Msg, err error) {
	p.mu.Lock()
	f := p.pending[m]
	if f == nil || p.err != nil {
		p.mu.Unlock()
		return
	}
	verdict, reason := p.judge(f, err)
	switch verdict {
	case retry:
		f.tries++
		p.stats.Retries++
		if now := time.Now(); now.Sub(p.warned) >= p.c.MaxBackoff {
			p.warned = now
			p.log.Warn("publishing again", "subject", m.Subject, "event_id", m.Header.Get(jetstream.MsgIDHeader), "tries", f.tries, "error", err)
		}
		p.mu.Unlock()
		time.AfterFunc(backoff(f.tries, p.c.MaxBackoff), func() {
			p.mu.Lock()
			live := p.pending[m] != nil
			p.mu.Unlock()
			if live {
				p.try(f)
			}
		})
	case never:
		p.take(m)
		p.stats.Failed++
		if len(p.refused) < maxRefused && !errors.Is(reason, ErrOvertaken) { // PublishAfter returns it
			p.refused = append(p.refused, fmt.Errorf("event %s: %w", m.Header.Get(jetstream.MsgIDHeader), reason))
		}
		p.mu.Unlock()
		p.settle(f, false, reason)
	case stop:
		p.mu.Unlock()
		p.fail(reason)
	}
}

// fail ends all publishing.
func (p *Publisher) fail(err error) {
	p.mu.Lock()
	if p.err != nil {
		p.mu.Unlock()
		return
	}
	p.err = err
	var over []*publication
	for m := range p.pending {
		over = append(over, p.take(m))
	}
	p.wakeWaiting()
	p.mu.Unlock()
	for _, f := range over {
		p.settle(f, false, err)
	}
}

type verdict uint8

const (
	retry verdict = iota
	never
	stop
)

// JetStream error codes, of which the client names only some.
const (
	codeStreamMismatch jetstream.ErrorCode = 10060
	// The stream's leader has proposed a message with this id and does not know
	// the result yet: with replicas a try may arrive while the previous one is
	// on its way.
	codeIDInProcess jetstream.ErrorCode = 10158
	codeAccountFull jetstream.ErrorCode = 10002 // a client error by its status, yet it passes
)

// judge decides whether a failed try is worth repeating. The lock is held.
func (p *Publisher) judge(f *publication, err error) (verdict, error) {
	if !errors.Is(err, jetstream.ErrNoStreamResponse) {
		delete(p.noStream, f.stream) // it may have been there meanwhile
	}
	var api *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return never, fmt.Errorf("%d bytes are more than the server takes (max_payload %d): %w", len(f.msg.Data), p.nc.MaxPayload(), err)
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrBadSubject), errors.Is(err, nats.ErrHeadersNotSupported):
		return stop, err
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		since, known := p.noStream[f.stream]
		if !known {
			since = time.Now()
			p.noStream[f.stream] = since
		}
		if time.Since(since) < p.c.NoStreamWait {
			return retry, err
		}
		return stop, fmt.Errorf("no stream takes subject %s: is %s created? %w", f.msg.Subject, f.stream, err)
	case errors.Is(err, jetstream.ErrAsyncPublishTimeout):
		// A publish without permission is dropped, and only the connection
		// reports it.
		if last := p.nc.LastError(); errors.Is(last, nats.ErrPermissionViolation) && strings.Contains(last.Error(), `"`+f.msg.Subject+`"`) {
			return stop, fmt.Errorf("not allowed to publish to %s: %w", f.msg.Subject, last)
		}
	case errors.As(err, &api):
		switch {
		case api.ErrorCode == codeStreamMismatch:
			return stop, fmt.Errorf("subject %s belongs to another stream than %s: %w", f.msg.Subject, f.stream, err)
		case WrongLastSequence(err):
			return never, fmt.Errorf("%w: %w", ErrOvertaken, err)
		case api.ErrorCode == codeIDInProcess, api.ErrorCode == codeAccountFull:
			return retry, err
		case api.Code >= 400 && api.Code < 500 && api.Code != 408 && api.Code != 429:
			return never, err
		}
	}
	return retry, err
}

// backoff returns the wait before try n, from 1: 50 ms, doubled each time up to
// limit.
func backoff(n int, limit time.Duration) time.Duration {
	return min(50*time.Millisecond<<min(n-1, 20), limit)
}

// broken returns why nothing can be published any more; nil while all is well.
func (p *Publisher) broken() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
