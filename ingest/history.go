package ingest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
)

// History reads what the streams hold, for audits and for people. It changes
// nothing and is not part of the consumer loop.
type History struct{ js jetstream.JetStream }

// NewHistory returns a reader of the streams.
func NewHistory(js jetstream.JetStream) History { return History{js} }

// State returns what the stream holds now.
func (h History) State(ctx context.Context, stream string) (event.StreamState, error) {
	s, err := h.js.Stream(ctx, stream)
	if err != nil {
		return event.StreamState{}, fmt.Errorf("stream %s: %w", stream, err)
	}
	info, err := settledInfo(ctx, s)
	if err != nil {
		return event.StreamState{}, fmt.Errorf("stream %s: %w", stream, err)
	}
	return event.StreamState{
		Stream: stream, Incarnation: incarnation(info), First: info.State.FirstSeq, Last: info.State.LastSeq,
		MaxAge: info.Config.MaxAge,
	}, nil
}

// At returns the message with a sequence; not ok: the stream has none there, or
// no longer has it.
func (h History) At(ctx context.Context, stream string, seq uint64) (m event.Stored, ok bool, err error) {
	s, err := h.js.Stream(ctx, stream)
	if err != nil {
		return m, false, fmt.Errorf("stream %s: %w", stream, err)
	}
	raw, err := s.GetMsg(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return m, false, nil
	}
	if err != nil {
		return m, false, fmt.Errorf("sequence %d of stream %s: %w", seq, stream, err)
	}
	return stored(stream, raw.Subject, raw.Sequence, raw.Time, raw.Header, raw.Data, true), true, nil
}

// readWait is how long a reader waits for a server that is silent.
const readWait = 30 * time.Second

// lateWait is how long a server that is late gets before the stream is queried
// again.
const lateWait = 250 * time.Millisecond

// sizeHeader holds the size of the body when only headers are delivered.
const sizeHeader = "Nats-Msg-Size"

var errSilent = fmt.Errorf("the server sent nothing for %s", readWait)

// Read returns the messages in order, for one iteration. It ends after an
// error, or at the end of the range; no messages: the range is empty.
func (h History) Read(ctx context.Context, r event.ReadRequest) iter.Seq2[event.Stored, error] {
	return func(yield func(event.Stored, error) bool) {
		if err := h.read(ctx, r, func(m event.Stored) bool { return yield(m, nil) }); err != nil {
			yield(event.Stored{}, fmt.Errorf("reading stream %s: %w", r.Stream, err))
		}
	}
}

func (h History) read(ctx context.Context, r event.ReadRequest, give func(event.Stored) bool) error {
	state, err := h.State(ctx, r.Stream)
	if err != nil {
		return err
	}
	last := state.Last
	if r.Last > 0 {
		last = min(last, r.Last)
	}
	first := max(r.First, state.First)
	if first > last || state.Last == 0 {
		return nil
	}
	s, err := h.js.Stream(ctx, r.Stream)
	if err != nil {
		return err
	}
	// A single subject is filtered by the server: its last message marks the
	// end of the reading.
	one := r.Subject != "" && !strings.ContainsAny(r.Subject, "*>")
	if one {
		switch m, err := s.GetLastMsgForSubject(ctx, r.Subject); {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return nil
		case err != nil:
			return err
		default:
			last = min(last, m.Sequence)
		}
	}
	if r.First == 0 && !r.Since.IsZero() {
		if first, err = since(ctx, s, r.Since, max(first, 1), last); err != nil {
			return err
		}
	}
	cfg := jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(first, 1), HeadersOnly: !r.Bodies,
		InactiveThreshold: time.Minute,
	}
	if one {
		cfg.FilterSubjects = []string{r.Subject}
	}
	c, err := h.js.OrderedConsumer(ctx, r.Stream, cfg)
	if err != nil {
		return err
	}
	messages, err := c.Messages(jetstream.PullMaxMessagesWithBytesLimit(1024, 16<<20))
	if err != nil {
		return err
	}
	defer messages.Stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(readWait, func() { cancel(errSilent) })
	defer silence.Stop()
	// The consumer reports that nothing is pending. It may be late, and is
	// given time until the stream confirms it.
	read, idle := max(first, 1)-1, c.CachedInfo().NumPending == 0
	for {
		if idle {
			through, _, err := absent(ctx, s, ">", read+1, last)
			if through >= last || err != nil {
				return err
			}
		}
		next, stop := ctx, func() {}
		if idle {
			next, stop = context.WithTimeout(ctx, lateWait)
		}
		m, err := messages.Next(jetstream.NextContext(next))
		late := idle && next.Err() != nil
		stop()
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil && late && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return err
		}
		silence.Reset(readWait)
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		seq := meta.Sequence.Stream
		if seq > last {
			return nil
		}
		read, idle = seq, meta.NumPending == 0
		// Several subjects are filtered here, so that messages of others after
		// the last of them show that the reading is over.
		wanted := (r.Subject == "" || matches(r.Subject, m.Subject())) && (r.First > 0 || !meta.Timestamp.Before(r.Since))
		if wanted && !give(stored(r.Stream, m.Subject(), seq, meta.Timestamp, m.Headers(), m.Data(), r.Bodies)) || seq == last {
			return nil
		}
	}
}

// since returns a sequence from first on such that no message before it, up to
// last, was stored in the stream at that time or later.
func since(ctx context.Context, s jetstream.Stream, at time.Time, first, last uint64) (uint64, error) {
	for first < last {
		middle := first + (last-first)/2
		m, err := s.GetMsg(ctx, middle, jetstream.WithGetMsgSubject(">"))
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return 0, err
		}
		if err == nil && m.Sequence <= last && m.Time.Before(at) {
			first = m.Sequence + 1
		} else {
			last = middle
		}
	}
	return first, nil
}

func stored(stream, subject string, seq uint64, at time.Time, header nats.Header, data []byte, body bool) event.Stored {
	m := event.Stored{Stream: stream, Subject: subject, Seq: seq, At: at, ID: header.Get(jetstream.MsgIDHeader), Size: len(data), Header: header}
	if body {
		m.Data = data
	} else if n, err := strconv.Atoi(header.Get(sizeHeader)); err == nil {
		m.Size = n
	}
	return m
}
