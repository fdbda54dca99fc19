package ingest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
)

// maxReason bounds the reason in a dead letter's header.
const maxReason = 1024

// bury puts a message that cannot be read into the dead letters and waits for
// the acknowledgement, so that nothing behind it is applied before it is
// safe; false: ctx ended first.
func (r *reading) bury(ctx context.Context, a *arrival) bool {
	l := r.feed.loop
	m := deadLetter(r.feed.stream, r.epoch, a)
	for try := 1; ; try++ {
		inner, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := l.js.PublishMsg(inner, m)
		cancel()
		if err == nil {
			l.count(func(p *Progress) { p.Poison++ })
			l.log.Warn("message into the dead letters", "stream", r.feed.stream, "seq", a.seq, "subject", a.msg.Subject(), "reason", m.Header.Get(event.HeaderReason))
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if errors.Is(err, nats.ErrMaxPayload) && len(m.Data) > 0 {
			// The message alone was just within the server's limit.
			m.Header.Set(event.HeaderCut, strconv.Itoa(len(a.msg.Data())))
			m.Data = m.Data[:len(m.Data)/2]
			continue
		}
		l.count(func(p *Progress) { p.Retries++ })
		wait := backoff(try, l.c.MaxBackoff)
		l.log.Error("dead letter not taken, trying again", "stream", r.feed.stream, "seq", a.seq, "try", try, "wait", wait, "error", err)
		if !sleep(ctx, wait) {
			return false
		}
	}
}

func deadLetter(stream string, epoch uint32, a *arrival) *nats.Msg {
	reason := strings.ToValidUTF8(strings.Join(strings.Fields(strings.ReplaceAll(a.err.Error(), "\n", "; ")), " "), "?")
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "")
	}
	return &nats.Msg{
		Subject: event.DeadLetterSubject(stream),
		Data:    a.msg.Data(),
		Header: nats.Header{
			jetstream.MsgIDHeader:          {fmt.Sprintf("dlq-%s-%d-%d", stream, epoch, a.seq)},
			jetstream.ExpectedStreamHeader: {event.StreamDeadLetters},
			event.HeaderReason:             {reason},
			event.HeaderStream:             {stream},
			event.HeaderEpoch:              {strconv.FormatUint(uint64(epoch), 10)},
			event.HeaderSeq:                {strconv.FormatUint(a.seq, 10)},
			event.HeaderSubject:            {a.msg.Subject()},
		},
	}
}
