package ingest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
)

// History reads what the streams hold, for audits and for people. It changes
// nothing and is no part of the consumer loop.
type History struct{ js jetstream.JetStream }

// NewHistory makes a reader of the streams.
func NewHistory(js jetstream.JetStream) History { return History{js} }

// State tells what the stream holds now.
func (h History) State(ctx context.Context, stream string) (event.StreamState, error) {
	s, err := h.js.Stream(ctx, stream)
	if err != nil {
		return event.StreamState{}, fmt.Errorf("stream %s: %w", stream, err)
	}
	info := s.CachedInfo()
	return event.StreamState{
		Stream: stream, Incarnation: incarnation(info), First: info.State.FirstSeq, Last: info.State.LastSeq,
		MaxAge: info.Config.MaxAge,
	}, nil
}

// At gives the message of a sequence; not ok: the stream has none there (any
// more).
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

// sizeHeader has the size of the body where headers alone are delivered.
const sizeHeader = "Nats-Msg-Size"

var errSilent = fmt.Errorf("the server sent nothing for %s", readWait)

// Read gives the messages in order, once. It ends after an error, or when the
// range ends; none: the range is empty.
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
	cfg := jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(first, 1), HeadersOnly: !r.Bodies,
		InactiveThreshold: time.Minute,
	}
	if r.Subject != "" {
		cfg.FilterSubjects = []string{r.Subject}
	}
	if r.First == 0 && !r.Since.IsZero() {
		cfg.DeliverPolicy, cfg.OptStartSeq, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, 0, &r.Since
	}
	c, err := h.js.OrderedConsumer(ctx, r.Stream, cfg)
	if err != nil {
		return err
	}
	if c.CachedInfo().NumPending == 0 {
		return nil
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
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
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
		if !give(stored(r.Stream, m.Subject(), seq, meta.Timestamp, m.Headers(), m.Data(), r.Bodies)) || seq == last || meta.NumPending == 0 {
			return nil
		}
	}
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
