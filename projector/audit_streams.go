package projector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"

	"preismon/contracts/event"
	"preismon/projector/clickhouse"
)

// deadLetters returns the sequences of the current stream whose message is in
// the dead letters; for OBSERVATIONS, only those of the partition.
func (a *Auditor) deadLetters(ctx context.Context, s event.StreamState) (map[uint64]struct{}, error) {
	all := map[uint64]struct{}{}
	for m, err := range a.cfg.Streams.Read(ctx, event.ReadRequest{Stream: event.StreamDeadLetters, Subject: event.DeadLetterSubject(s.Stream)}) {
		if err != nil {
			return nil, err
		}
		stream, epoch, seq, ok := m.Origin()
		if !ok || stream != s.Stream || !present(s, position{epoch, seq}) {
			continue
		}
		if subject := m.Header[event.HeaderSubject]; s.Stream == event.StreamObservations && len(subject) > 0 && !a.owns(subject[0]) {
			continue
		}
		all[seq] = struct{}{}
	}
	return all, nil
}

// span is a range of sequences, both included.
type span struct{ first, last uint64 }

// gaps looks for messages of OBSERVATIONS, up to the checkpoint, that produced
// no event, and for the reason.
func (a *Auditor) gaps(ctx context.Context) error {
	s, err := a.cfg.Streams.State(ctx, event.StreamObservations)
	if err != nil {
		return err
	}
	end, ok := a.end(s)
	if !ok {
		return nil
	}
	if mark := a.mark[s.Stream]; mark.epoch == s.Epoch && mark.seq > s.Last {
		return a.beyond(ctx, s)
	}
	dead, err := a.deadLetters(ctx, s)
	if err != nil {
		return err
	}
	for first := uint64(1); first <= end; first += gapReach {
		if err := a.gapsIn(ctx, s, dead, first, min(first+gapReach-1, end)); err != nil {
			return err
		}
	}
	return nil
}

// gapReach is how many sequences are searched at a time: where there are
// several partitions, most of them have no event.
const gapReach = 1 << 20

// gapsIn searches the sequences from first to last.
func (a *Auditor) gapsIn(ctx context.Context, s event.StreamState, dead map[uint64]struct{}, first, last uint64) error {
	spans, total, err := a.spans(ctx, s, first, last)
	if err != nil || total == 0 {
		return err
	}
	before := a.out.DeadLetters + a.out.Copies + a.out.Others
	for seq := range dead {
		if within(spans, seq) {
			a.out.DeadLetters++
		}
	}
	var waiting []event.Stored // whose id must be looked up
	var lost uint64
	look := func() error {
		n, err := a.explain(ctx, s, waiting)
		lost += n
		waiting = waiting[:0]
		return err
	}
	from, to := spans[0].first, spans[len(spans)-1].last
	for m, err := range a.cfg.Streams.Read(ctx, event.ReadRequest{Stream: s.Stream, First: from, Last: to}) {
		if err != nil {
			return err
		}
		if m.Seq%10_000 == 0 {
			a.cfg.Progress(AuditProgress{"gaps of " + s.Stream, m.Seq, a.mark[s.Stream].seq})
		}
		if _, inDeadLetters := dead[m.Seq]; inDeadLetters || !within(spans, m.Seq) {
			continue
		}
		if !a.owns(m.Subject) {
			a.out.Others++
			continue
		}
		if waiting = append(waiting, m); len(waiting) == 1000 {
			if err := look(); err != nil {
				return err
			}
		}
	}
	if err := look(); err != nil {
		return err
	}
	a.out.Gone += total - min(total, a.out.DeadLetters+a.out.Copies+a.out.Others-before+lost)
	return nil
}

// owns reports whether a message belongs to the partition of these tables.
func (a *Auditor) owns(subject string) bool {
	return event.Partition(subject, a.cfg.Partitions) == a.cfg.Partition
}

// end returns the last sequence of the current stream that is applied; not ok:
// nothing of the stream is applied.
func (a *Auditor) end(s event.StreamState) (seq uint64, ok bool) {
	mark := a.mark[s.Stream]
	if mark.epoch > s.Epoch {
		a.found.find(Finding{What: Foreign, Where: s.Stream, Count: 1}, fmt.Sprintf(
			"the tables are of epoch %d and the stream of %d: it was restored from an old copy, or belongs to other tables", mark.epoch, s.Epoch))
		return 0, false
	}
	applied := s.Same(mark.epoch, mark.seq)
	if s.Stream == event.StreamObservations && s.Last > applied {
		a.out.Waiting = s.Last - applied
	}
	return min(applied, s.Last), applied > 0
}

// beyond reports events that are in the tables but past the end of the stream,
// which lost its tail.
func (a *Auditor) beyond(ctx context.Context, s event.StreamState) error {
	var events uint64
	return a.read(ctx, "audit_beyond", args{"epoch": s.Epoch, "last": s.Last}, clickhouse.Row{"n": &events}, func() {
		a.found.find(Finding{What: Foreign, Where: s.Stream, Epoch: s.Epoch, Count: events}, fmt.Sprintf(
			"the stream ends at %d and %d was applied: it lost its tail", s.Last, a.mark[s.Stream].seq))
	})
}

// spans returns the ranges of sequences from first to last that produced no
// event.
func (a *Auditor) spans(ctx context.Context, s event.StreamState, from, to uint64) (all []span, total uint64, err error) {
	var one span
	var forks, afters []string
	for _, f := range s.Forks {
		forks = append(forks, strconv.FormatUint(uint64(f.Epoch), 10))
		afters = append(afters, strconv.FormatUint(f.After, 10))
	}
	values := args{
		"first": from, "last": to, "epoch": s.Epoch, "created": s.Created,
		"forks": "[" + strings.Join(forks, ",") + "]", "afters": "[" + strings.Join(afters, ",") + "]",
	}
	err = a.read(ctx, "audit_gaps", values, clickhouse.Row{"first": &one.first, "last": &one.last}, func() {
		all = append(all, one)
		total += one.last - one.first + 1
	})
	return all, total, err
}

func within(spans []span, seq uint64) bool {
	_, ok := slices.BinarySearchFunc(spans, seq, func(s span, seq uint64) int {
		switch {
		case s.last < seq:
			return -1
		case s.first > seq:
			return 1
		}
		return 0
	})
	return ok
}

// explain counts the messages as copies or as lost.
func (a *Auditor) explain(ctx context.Context, s event.StreamState, list []event.Stored) (lost uint64, err error) {
	if len(list) == 0 {
		return 0, nil
	}
	ids := make([]uuid.UUID, len(list))
	for i, m := range list {
		if id, err := uuid.Parse(m.ID); err == nil { // otherwise published under an id of its own, as a replay is
			ids[i] = id
		}
	}
	known := map[uuid.UUID]struct{}{}
	if err := a.ingested(ctx, ids, known); err != nil {
		return 0, err
	}
	for i, m := range list {
		if _, ok := known[ids[i]]; !ok { // the id may be the message's, and not its event's
			if ids[i], err = a.idOf(ctx, m); err != nil {
				return 0, err
			}
		}
	}
	if err := a.ingested(ctx, ids, known); err != nil {
		return 0, err
	}
	for i, m := range list {
		if _, ok := known[ids[i]]; ok {
			a.out.Copies++
			continue
		}
		_, unaccounted, err := a.judge(ctx, m.Stream, m.Seq)
		if err != nil {
			return lost, err
		}
		if unaccounted {
			lost++
			epoch := s.Epoch
			if m.Seq <= s.After() {
				epoch = 0
			}
			a.found.find(Finding{What: Lost, Where: s.Stream, Epoch: epoch, First: m.Seq, Last: m.Seq, Count: 1}, "")
		}
	}
	return lost, nil
}

// ingested adds those of the ids that were ingested to known.
func (a *Auditor) ingested(ctx context.Context, ids []uuid.UUID, known map[uuid.UUID]struct{}) error {
	var texts []string
	for _, id := range ids {
		if _, ok := known[id]; !ok && id != uuid.Nil {
			texts = append(texts, id.String())
		}
	}
	if len(texts) == 0 {
		return nil
	}
	var id uuid.UUID
	return a.read(ctx, "audit_known_events", args{"ids": strings.Join(texts, ",")}, clickhouse.Row{"event_id": &id}, func() {
		known[id] = struct{}{}
	})
}

// idOf reads the event's id from the message itself; Nil: it has none.
func (a *Auditor) idOf(ctx context.Context, m event.Stored) (uuid.UUID, error) {
	whole, ok, err := a.cfg.Streams.At(ctx, m.Stream, m.Seq)
	if err != nil || !ok {
		return uuid.Nil, err
	}
	if e, err := event.Decode(whole.Data); err == nil {
		return uuid.Parse(e.ID)
	}
	return uuid.Nil, nil
}

// judge reads a message, and reports whether it should be in a table or in a
// dead letter, where it is not. It need not be if it cannot have been applied,
// because it cannot be read or has another's subject, and is so old that its
// dead letter may have expired, or if the stream has dropped it meanwhile. The
// letters of records that were rejected do not expire.
func (a *Auditor) judge(ctx context.Context, stream string, seq uint64) (m event.Stored, lost bool, err error) {
	m, ok, err := a.cfg.Streams.At(ctx, stream, seq)
	if err != nil || !ok {
		return m, false, err
	}
	e, err := event.Decode(m.Data)
	switch good := err == nil && e.Subject() == m.Subject; {
	case good:
		return m, true, nil
	case !a.owns(m.Subject): // in the catalogue, partition 0 writes the dead letters, and may not have reached this message
		return m, false, nil
	}
	dead, err := a.cfg.Streams.State(ctx, event.StreamDeadLetters)
	if err != nil {
		return m, false, err
	}
	if dead.MaxAge > 0 && time.Since(m.At) > dead.MaxAge {
		a.out.DeadLetters++
		return m, false, nil
	}
	return m, true, nil
}

// record is what the comparison of the stream CATALOG keeps of each message:
// there may be millions.
type record struct {
	seq, subject uint64 // the hash of the subject
	held         bool   // in its table
}

// catalog looks up each record of the stream CATALOG in its table, by its
// sequence and its subject: a stream that lost its tail assigns sequences again.
// Another state of the same record at the very same sequence goes unnoticed.
func (a *Auditor) catalog(ctx context.Context) error {
	s, err := a.cfg.Streams.State(ctx, event.StreamCatalog)
	if err != nil {
		return err
	}
	end, ok := a.end(s)
	if !ok {
		return nil
	}
	dead, err := a.deadLetters(ctx, s)
	if err != nil {
		return err
	}
	var list []record
	for m, err := range a.cfg.Streams.Read(ctx, event.ReadRequest{Stream: s.Stream, Last: end}) {
		if err != nil {
			return err
		}
		if m.Seq%10_000 == 0 {
			a.cfg.Progress(AuditProgress{s.Stream, m.Seq, end})
		}
		if _, inDeadLetters := dead[m.Seq]; !inDeadLetters {
			list = append(list, record{m.Seq, xxhash.Sum64String(m.Subject), false})
		}
	}
	err = recordsIn(a.asking(ctx), position{}, position{math.MaxUint32, math.MaxUint32}, func(at position, subject string) {
		i, ok := slices.BinarySearchFunc(list, at.seq, func(r record, seq uint64) int { return cmp.Compare(r.seq, seq) })
		if ok && list[i].subject == xxhash.Sum64String(subject) && present(s, at) {
			list[i].held = true
		}
	})
	if err != nil {
		return err
	}
	a.out.Records = uint64(len(list))
	for _, r := range list {
		if r.held {
			continue
		}
		m, lost, err := a.judge(ctx, s.Stream, r.seq)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if lost {
			a.found.find(Finding{What: Lost, Where: s.Stream, First: m.Seq, Last: m.Seq, Count: 1}, "the record "+m.Subject)
		}
	}
	return nil
}
