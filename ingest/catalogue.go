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

// Accounts returns the current accounts of the catalogue, in the order in which
// they were last published. Messages that are no accounts, or that the
// projector put into the dead letters, are omitted: they are not in force.
func Accounts(ctx context.Context, js jetstream.JetStream) ([]*contracts.Account, error) {
	return inForce[*contracts.Account](ctx, js, event.KindAccount)
}

// Mandates returns the mandates of the catalogue, as Accounts does for
// accounts.
func Mandates(ctx context.Context, js jetstream.JetStream) ([]*contracts.Mandate, error) {
	return inForce[*contracts.Mandate](ctx, js, event.KindMandate)
}

// Orders returns the orders of all mandates, as Accounts does for accounts.
func Orders(ctx context.Context, js jetstream.JetStream) ([]*contracts.Order, error) {
	return inForce[*contracts.Order](ctx, js, event.KindOrder)
}

// Sites returns the sites of the catalogue, as Accounts does for accounts.
func Sites(ctx context.Context, js jetstream.JetStream) ([]*contracts.Site, error) {
	return inForce[*contracts.Site](ctx, js, event.KindSite)
}

// Items returns the items of the catalogue, as Accounts does for accounts. It
// keeps all of them in memory.
func Items(ctx context.Context, js jetstream.JetStream) ([]*contracts.Item, error) {
	return inForce[*contracts.Item](ctx, js, event.KindItem)
}

func inForce[T any](ctx context.Context, js jetstream.JetStream, kind event.Kind) ([]T, error) {
	var all []T
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
