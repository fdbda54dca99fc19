package ingest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"preismon/contracts/event"
	"preismon/contracts/fault"
)

// ReplayRequest describes what to do with a dead letter.
type ReplayRequest struct {
	Letter uint64
	Force  bool // even if it would fail again, was replayed, or has been overtaken
	DryRun bool // report only what would happen
}

// Replay publishes the message of a dead letter again, where its event belongs,
// and returns that place; in a dry run its sequence is 0.
//
// The message gets an id of its own, because the stream may still know the
// event's; the tables know the event's id for ever, so an event that was
// replayed twice, or arrived another way meanwhile, is in them once. The letter
// stays, and a note that it was replayed is added after the stream has
// acknowledged: a crash in between causes a second replay, which duplicates
// nothing.
//
// fault.Conflict, unless forced: this program cannot read it either, it was
// replayed before, or CATALOG holds a newer state of its record. A letter that
// holds only the beginning of a message is refused in any case if the stream no
// longer has the message.
func (d DeadLetters) Replay(ctx context.Context, r ReplayRequest) (Replayed, error) {
	l, err := d.Letter(ctx, r.Letter)
	if err != nil {
		return Replayed{}, err
	}
	if l.Replayed != nil && !r.Force {
		return Replayed{}, fault.New(fault.Conflict, "", "it was replayed at %s, as sequence %d of %s", l.Replayed.At.Format(time.RFC3339), l.Replayed.Seq, l.Replayed.Stream)
	}
	data, err := d.whole(ctx, l)
	if err != nil {
		return Replayed{}, err
	}
	m := &nats.Msg{Subject: l.Subject, Data: data, Header: nats.Header{
		jetstream.MsgIDHeader: {fmt.Sprintf("replay-%d-%s", l.Letter, nuid.Next())},
		event.HeaderReplayOf:  {strconv.FormatUint(l.Letter, 10)},
	}}
	to := l.Stream
	var guard []jetstream.PublishOpt
	e, err := event.Decode(data)
	switch {
	case err != nil && !r.Force:
		return Replayed{}, fault.New(fault.Conflict, "", "it would fail again: %v", err)
	case err == nil:
		m.Subject, to = e.Subject(), e.Kind.Stream()
		if to == event.StreamCatalog {
			last, err := newest(ctx, d.js, to, m.Subject)
			if err != nil {
				return Replayed{}, err
			}
			overtaken, err := d.overtaken(ctx, l, last)
			if err != nil {
				return Replayed{}, err
			}
			if overtaken && !r.Force {
				return Replayed{}, fault.New(fault.Conflict, "", "a newer state of %s was published at %s, as sequence %d: replaying would put the older one back",
					m.Subject, last.At.UTC().Format(time.RFC3339), last.Seq)
			}
			// And no one may publish one between this check and the publishing.
			guard = append(guard, jetstream.WithExpectLastSequencePerSubject(last.Seq))
		}
	}
	if r.DryRun {
		return Replayed{Stream: to}, nil
	}
	ack, err := d.js.PublishMsg(ctx, m, append(guard, jetstream.WithExpectStream(to))...)
	if WrongLastSequence(err) {
		return Replayed{}, fault.New(fault.Conflict, "", "a newer state of %s was published just now", m.Subject)
	}
	if err != nil {
		return Replayed{}, fmt.Errorf("publishing dead letter %d to %s: %w", l.Letter, m.Subject, err)
	}
	done := Replayed{time.Now().UTC(), to, ack.Sequence}
	_, err = d.js.PublishMsg(ctx, &nats.Msg{Subject: event.ReplayedSubject(l.Stream, l.Letter), Header: nats.Header{
		jetstream.MsgIDHeader: {fmt.Sprintf("replayed-%d-%d", l.Letter, ack.Sequence)},
		event.HeaderReplayOf:  {strconv.FormatUint(l.Letter, 10)},
		event.HeaderStream:    {to},
		event.HeaderSeq:       {strconv.FormatUint(ack.Sequence, 10)},
	}}, jetstream.WithExpectStream(event.StreamDeadLetters))
	if err != nil {
		return done, fmt.Errorf("dead letter %d was published as sequence %d of %s, but that could not be noted: %w", l.Letter, ack.Sequence, to, err)
	}
	return done, nil
}

// whole returns the original message: the letter's, or the stream's own where
// the letter had no room for it.
func (d DeadLetters) whole(ctx context.Context, l DeadLetter) ([]byte, error) {
	if !l.Cut {
		return l.Data, nil
	}
	s, err := d.history.State(ctx, l.Stream)
	if err != nil {
		return nil, err
	}
	if s.Epoch == l.Epoch {
		m, ok, err := d.history.At(ctx, l.Stream, l.Seq)
		if err != nil {
			return nil, err
		}
		if ok && m.Size == l.Size {
			return m.Data, nil
		}
	}
	return nil, fault.New(fault.Conflict, "", "the letter holds the first %d of %d bytes, and stream %s has the message no more", len(l.Data), l.Size, l.Stream)
}

// newest returns the last message of a subject of a stream, without its body; the
// zero value: there is none.
func newest(ctx context.Context, js jetstream.JetStream, stream, subject string) (event.Stored, error) {
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return event.Stored{}, err
	}
	m, err := s.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return event.Stored{}, nil
	}
	if err != nil {
		return event.Stored{}, err
	}
	return stored(stream, m.Subject, m.Sequence, m.Time, m.Header, m.Data, false), nil
}

// overtaken reports whether the subject's last message is newer than the
// letter's, and not itself a replay of it. Sequences of CATALOG are compared as
// far as the stream still has what it had when the letter was written: all
// others were assigned since.
func (d DeadLetters) overtaken(ctx context.Context, l DeadLetter, last event.Stored) (bool, error) {
	if last.Seq == 0 || header(last, event.HeaderReplayOf) == strconv.FormatUint(l.Letter, 10) {
		return false, nil
	}
	if l.Stream != event.StreamCatalog {
		return last.At.After(l.At), nil
	}
	s, err := d.history.State(ctx, event.StreamCatalog)
	if err != nil {
		return false, err
	}
	return last.Seq > s.Same(l.Epoch, l.Seq), nil
}
