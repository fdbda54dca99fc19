package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
)

// maxReason bounds the reason in a dead letter's header.
const maxReason = 1024

// letter is a message that cannot be applied, and the reason.
type letter struct {
	stream  string
	epoch   uint32
	seq     uint64
	subject string
	data    []byte
	reason  error
}

// deadLetter publishes a message that cannot be applied to the dead letters and
// waits for the acknowledgement, so that nothing after it is applied before it
// is safe; false: ctx ended first.
func (l *Consumer) deadLetter(ctx context.Context, a letter) bool {
	m := a.message()
	for try := 1; ; try++ {
		inner, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := l.js.PublishMsg(inner, m)
		cancel()
		if err == nil {
			l.count(func(p *Progress) { p.Poison++ })
			l.log.Warn("message into the dead letters", "stream", a.stream, "seq", a.seq, "subject", a.subject, "reason", m.Header.Get(event.HeaderReason))
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if errors.Is(err, nats.ErrMaxPayload) && len(m.Data) > 0 {
			// The message alone was just within the server's limit.
			m.Header.Set(event.HeaderCut, strconv.Itoa(len(a.data)))
			m.Data = m.Data[:len(m.Data)/2]
			continue
		}
		l.count(func(p *Progress) { p.Retries++ })
		wait := backoff(try, sinkBackoff)
		l.log.Error("dead letter not taken, trying again", "stream", a.stream, "seq", a.seq, "try", try, "wait", wait, "error", err)
		if !sleep(ctx, wait) {
			return false
		}
	}
}

func (a letter) message() *nats.Msg {
	reason := strings.ToValidUTF8(strings.Join(strings.Fields(strings.ReplaceAll(a.reason.Error(), "\n", "; ")), " "), "?")
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "")
	}
	return &nats.Msg{
		Subject: event.DeadLetterSubject(a.stream),
		Data:    a.data,
		Header: nats.Header{
			jetstream.MsgIDHeader:          {fmt.Sprintf("dlq-%s-%d-%d", a.stream, a.epoch, a.seq)},
			jetstream.ExpectedStreamHeader: {event.StreamDeadLetters},
			event.HeaderReason:             {reason},
			event.HeaderStream:             {a.stream},
			event.HeaderEpoch:              {strconv.FormatUint(uint64(a.epoch), 10)},
			event.HeaderSeq:                {strconv.FormatUint(a.seq, 10)},
			event.HeaderSubject:            {a.subject},
		},
	}
}

// reject puts a message that the sink rejects into the dead letters, and
// removes it from the batch; false: ctx ended first.
func (l *Consumer) reject(ctx context.Context, b *cut, r *event.Rejected) bool {
	for try := 1; !l.c.SkipPoison; try++ {
		m, err := l.stored(ctx, b.Stream, r.Seq)
		switch {
		case err == nil:
			if !l.deadLetter(ctx, letter{b.Stream, b.Epoch, r.Seq, m.Subject, m.Data, errors.New(r.Reason)}) {
				return false
			}
		case !errors.Is(err, jetstream.ErrMsgNotFound): // otherwise no one needs it any more
			wait := backoff(try, sinkBackoff)
			l.log.Error("rejected message not read, trying again", "stream", b.Stream, "seq", r.Seq, "try", try, "wait", wait, "error", err)
			if !sleep(ctx, wait) {
				return false
			}
			continue
		}
		break
	}
	b.Messages = slices.DeleteFunc(b.Messages, func(m event.Message) bool { return m.Seq == r.Seq })
	return true
}

// stored reads a message of a stream.
func (l *Consumer) stored(ctx context.Context, stream string, seq uint64) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s, err := l.js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	return s.GetMsg(ctx, seq)
}
