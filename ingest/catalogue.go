package ingest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/event"
)

// These return the current records of a kind in the catalogue, in the order in
// which they were last published. They keep all of them in memory. Messages that
// are no such record, or that the projector put into the dead letters, are
// omitted: they are not in force.
var (
	Accounts = inForce[*contracts.Account](event.KindAccount)
	Mandates = inForce[*contracts.Mandate](event.KindMandate)
	Orders   = inForce[*contracts.Order](event.KindOrder) // of all mandates
	Sites    = inForce[*contracts.Site](event.KindSite)
	Items    = inForce[*contracts.Item](event.KindItem)
)

func inForce[T any](kind event.Kind) func(context.Context, jetstream.JetStream) ([]T, error) {
	return func(ctx context.Context, js jetstream.JetStream) (all []T, err error) {
		prefix := fmt.Sprintf("catalog.%s.", kind)
		for e, err := range InForce(ctx, js, func(subject string) bool { return strings.HasPrefix(subject, prefix) }) {
			if err != nil {
				return nil, err
			}
			if record, ok := e.Data.(T); ok {
				all = append(all, record)
			}
		}
		return all, nil
	}
}

// InForce yields the current records of the catalogue whose subjects are wanted,
// in one reading, as Accounts returns accounts. It ends after an error.
func InForce(ctx context.Context, js jetstream.JetStream, wanted func(subject string) bool) iter.Seq2[*event.Event, error] {
	return func(yield func(*event.Event, error) bool) {
		rejected, err := deadLetters(ctx, js, event.StreamCatalog)
		if err != nil {
			yield(nil, err)
			return
		}
		for m, err := range NewHistory(js).Read(ctx, event.ReadRequest{Stream: event.StreamCatalog, Bodies: true}) {
			if errors.Is(err, jetstream.ErrStreamNotFound) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if rejected[m.Seq] || !wanted(m.Subject) {
				continue
			}
			if e, err := event.Decode(m.Data); err == nil && !yield(e, nil) {
				return
			}
		}
	}
}

// deadLetters returns the sequences of the current stream whose message is in
// the dead letters.
func deadLetters(ctx context.Context, js jetstream.JetStream, stream string) (map[uint64]bool, error) {
	h, all := NewHistory(js), map[uint64]bool{}
	s, err := h.State(ctx, stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for m, err := range h.Read(ctx, event.ReadRequest{Stream: event.StreamDeadLetters, Subject: event.DeadLetterSubject(stream)}) {
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if of, epoch, seq, ok := m.Origin(); ok && of == stream && s.Same(epoch, seq) == seq {
			all[seq] = true
		}
	}
	return all, nil
}
