package ingest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/contracts/fault"
)

// DeadLetter is a message that could not be read, with its original place.
type DeadLetter struct {
	Letter  uint64    `json:"letter"` // its sequence in DEAD_LETTERS, which identifies it
	At      time.Time `json:"at"`     // when the fault was found
	Stream  string    `json:"stream"` // where its message was
	Epoch   uint32    `json:"epoch"`
	Seq     uint64    `json:"seq"`
	Subject string    `json:"subject"`
	Reason  string    `json:"reason"`
	Size    int       `json:"size"` // bytes of the message
	Cut     bool      `json:"cut"`  // the letter holds only its beginning

	Replayed *Replayed `json:"replayed,omitempty"` // the last time it was published again
	Data     []byte    `json:"-"`                  // returned by Letter, not by List
}

// Replayed is where and when a dead letter's message was published again.
type Replayed struct {
	At     time.Time `json:"at"`
	Stream string    `json:"stream"`
	Seq    uint64    `json:"seq"`
}

// DeadLetters lists what could not be read and publishes it again.
type DeadLetters struct {
	js      jetstream.JetStream
	history History
}

// NewDeadLetters returns a DeadLetters for the streams.
func NewDeadLetters(js jetstream.JetStream) DeadLetters { return DeadLetters{js, NewHistory(js)} }

// LetterFilter selects dead letters; a zero field: any.
type LetterFilter struct {
	Since   time.Time
	Reason  string // part of it, regardless of case
	Stream  string // where the message was
	Pending bool   // not published again yet
	Limit   int    // of the newest; 0: all
}

// List returns the newest letters that the filter selects, newest first and
// without their messages, and how many it selects in total.
func (d DeadLetters) List(ctx context.Context, f LetterFilter) (list []DeadLetter, matching int, err error) {
	replayed := map[uint64]*Replayed{}
	for m, err := range d.history.Read(ctx, event.ReadRequest{Stream: event.StreamDeadLetters, Since: f.Since}) {
		if err != nil {
			return nil, 0, err
		}
		if of, r, ok := replayOf(m); ok {
			replayed[of] = r
			continue
		}
		l, ok := letterOf(m)
		if ok && (f.Stream == "" || f.Stream == l.Stream) && strings.Contains(strings.ToLower(l.Reason), strings.ToLower(f.Reason)) {
			list = append(list, l)
		}
	}
	for i := range list {
		list[i].Replayed = replayed[list[i].Letter]
	}
	if f.Pending {
		list = slices.DeleteFunc(list, func(l DeadLetter) bool { return l.Replayed != nil })
	}
	slices.Reverse(list)
	matching = len(list)
	if f.Limit > 0 && len(list) > f.Limit {
		list = list[:f.Limit]
	}
	return list, matching, nil
}

// Letter returns one letter with its message; fault.NotFound: there is none.
func (d DeadLetters) Letter(ctx context.Context, letter uint64) (DeadLetter, error) {
	m, ok, err := d.history.At(ctx, event.StreamDeadLetters, letter)
	if err != nil {
		return DeadLetter{}, err
	}
	l, isLetter := letterOf(m)
	if !ok || !isLetter {
		return DeadLetter{}, fault.New(fault.NotFound, "", "there is no dead letter %d", letter)
	}
	l.Data = m.Data
	note, err := newest(ctx, d.js, event.StreamDeadLetters, event.ReplayedSubject(l.Stream, letter))
	if note.Seq > 0 {
		_, l.Replayed, _ = replayOf(note)
	}
	return l, err
}

// Renew publishes again the letters of records that are still the last state in
// CATALOG, before DEAD_LETTERS drops them by age, and removes the old ones: the
// stream keeps such a record for ever, and without its letter it would look
// like one in force that the tables have lost. It returns how many it renewed.
func (d DeadLetters) Renew(ctx context.Context, now time.Time) (renewed int, err error) {
	letters, err := d.js.Stream(ctx, event.StreamDeadLetters)
	if err != nil {
		return 0, err
	}
	age := letters.CachedInfo().Config.MaxAge
	catalog, err := d.history.State(ctx, event.StreamCatalog)
	if age == 0 || err != nil {
		return 0, err
	}
	for m, err := range d.history.Read(ctx, event.ReadRequest{Stream: event.StreamDeadLetters, Subject: event.DeadLetterSubject(event.StreamCatalog), Bodies: true}) {
		if err != nil {
			return renewed, err
		}
		l, ok := letterOf(m)
		if !ok || now.Sub(m.At) < age*3/4 || catalog.Same(l.Epoch, l.Seq) != l.Seq {
			continue
		}
		if _, stands, err := d.history.At(ctx, event.StreamCatalog, l.Seq); err != nil {
			return renewed, err
		} else if !stands {
			continue
		}
		replay := &nats.Msg{Subject: m.Subject, Header: maps.Clone(nats.Header(m.Header)), Data: m.Data}
		replay.Header.Set(jetstream.MsgIDHeader, header(m, jetstream.MsgIDHeader)+"-again")
		if _, err := d.js.PublishMsg(ctx, replay); err != nil {
			return renewed, err
		}
		if err := letters.DeleteMsg(ctx, m.Seq); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return renewed, err
		}
		renewed++
	}
	return renewed, nil
}

func header(m event.Stored, name string) string { return nats.Header(m.Header).Get(name) }

func letterOf(m event.Stored) (l DeadLetter, ok bool) {
	stream, epoch, seq, ok := m.Origin()
	if !ok || m.Subject != event.DeadLetterSubject(stream) {
		return l, false
	}
	l = DeadLetter{
		Letter: m.Seq, At: m.At.UTC(), Stream: stream, Epoch: epoch, Seq: seq,
		Subject: header(m, event.HeaderSubject), Reason: header(m, event.HeaderReason), Size: m.Size,
	}
	if n, err := strconv.Atoi(header(m, event.HeaderCut)); err == nil {
		l.Size, l.Cut = n, true
	}
	return l, true
}

func replayOf(m event.Stored) (letter uint64, r *Replayed, ok bool) {
	letter, err1 := strconv.ParseUint(header(m, event.HeaderReplayOf), 10, 64)
	seq, err2 := strconv.ParseUint(header(m, event.HeaderSeq), 10, 64)
	return letter, &Replayed{m.At.UTC(), header(m, event.HeaderStream), seq}, err1 == nil && err2 == nil
}
