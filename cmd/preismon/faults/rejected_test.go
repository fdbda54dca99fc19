package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
)

// maxPairs bounds the pairs of an order and of a mandate; the largest order of
// the world has fewer.
const maxPairs = 100

// rejectedFaults publish events that the commands would have refused: they end
// as dead letters with their reason, and change nothing.
var rejectedFaults = []fault{
	{name: "order-beyond-its-pairs", core: true, do: func(w *world, _ *rand.Rand) error {
		o := orderOf(2, false)
		o.OrderID, o.Items = 99, nil
		for i := range contracts.ItemID(maxPairs) {
			o.Items = append(o.Items, i+1)
		}
		before := w.pairs(2)
		if err := w.rejected(event.KindOrder, o, fmt.Sprintf("%d pairs, at most %d in an order", len(o.Items)*len(o.Sites), maxPairs)); err != nil {
			return err
		}
		if n := w.pairs(2); n != before {
			return wrong("I4", "a rejected order gives pairs: %d, before %d", n, before)
		}
		o = orderOf(2, false)
		o.OrderID, o.Active = 99, false
		return w.takesPlace(event.KindOrder, o)
	}},
	{name: "login-taken", do: func(w *world, rnd *rand.Rand) error {
		hash, err := cheapHash()
		if err != nil {
			return err
		}
		a := &contracts.Account{
			AccountID: 5000, MandateID: 2, LoginIdentifier: login(1), PasswordHash: hash, Permissions: contracts.Permissions(),
			Scope: contracts.AccountScope{AllOrders: true, AllSites: true},
		}
		if err := w.rejected(event.KindAccount, a, fmt.Sprintf("the login %q belongs to account 1 of mandate 1 already", a.LoginIdentifier)); err != nil {
			return err
		}
		// The account that already has the login logs in as before.
		r := newReader(1, w.ledger, w.query.URL, rnd.Uint64(), w.finding)
		if _, err := retried(func() (any, error) { return nil, r.login(context.Background()) }); err != nil {
			return err
		}
		free := *a
		free.LoginIdentifier, free.Disabled = "nobody@mandate-2.example", true
		return w.takesPlace(event.KindAccount, &free)
	}},
}

// rejected publishes a record and waits for its dead letter, with that reason.
func (w *world) rejected(k event.Kind, d event.Payload, reason string) error {
	w.producer.known.Lock()
	defer w.producer.known.Unlock()
	ctx := context.Background()
	letters, err := retried(func() (jetstream.Stream, error) { return w.streams().Stream(ctx, event.StreamDeadLetters) })
	if err != nil {
		return err
	}
	from := letters.CachedInfo().State.LastSeq
	e := record(rand.New(rand.NewPCG(rand.Uint64(), 19)), k, d)
	text, err := event.Encode(e)
	if err == nil {
		err = w.producer.raw(ctx, e.Subject(), text)
	}
	if err != nil {
		return err
	}
	w.ledger.mu.Lock()
	w.ledger.poison++
	w.ledger.mu.Unlock()
	said := "nothing"
	err = must.Until(healed, "the record is a dead letter", func() bool {
		s, err := w.streams().Stream(ctx, event.StreamDeadLetters)
		if err != nil {
			return false
		}
		for seq := from + 1; seq <= s.CachedInfo().State.LastSeq; seq++ {
			m, err := s.GetMsg(ctx, seq)
			if err != nil {
				return false
			}
			if m.Header.Get(event.HeaderSubject) == e.Subject() {
				said = m.Header.Get(event.HeaderReason)
				return true
			}
		}
		return false
	})
	if err != nil || !strings.Contains(said, reason) {
		return wrong("I1", "%s must be a dead letter that says %q, and %q was said: %v", e.Subject(), reason, said, err)
	}
	return nil
}

// takesPlace publishes a record that replaces a rejected one, because the
// catalogue has the last of each.
func (w *world) takesPlace(k event.Kind, d event.Payload) error {
	e := record(rand.New(rand.NewPCG(rand.Uint64(), 23)), k, d)
	if err := w.producer.pub.Publish(context.Background(), e); err != nil {
		return err
	}
	_, err := w.producer.pub.Flush(context.Background())
	return err
}
