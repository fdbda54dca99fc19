package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/event"
)

// Subjects of accounts and mandates.
const (
	subjectsAccounts = "catalog.account.>"
	subjectsMandates = "catalog.mandate.>"
)

// Accounts gives the accounts of the catalogue as they stand, in the order in
// which they were last published. Messages that are no accounts, or that the
// projector put into the dead letters, are left out: they are not in force.
func Accounts(ctx context.Context, js jetstream.JetStream) ([]*contracts.Account, error) {
	return inForce[*contracts.Account](ctx, js, subjectsAccounts)
}

// Mandates gives the mandates of the catalogue, as Accounts gives accounts.
func Mandates(ctx context.Context, js jetstream.JetStream) ([]*contracts.Mandate, error) {
	return inForce[*contracts.Mandate](ctx, js, subjectsMandates)
}

func inForce[T any](ctx context.Context, js jetstream.JetStream, subjects string) ([]T, error) {
	var all []T
	rejected, err := deadLetters(ctx, js, event.StreamCatalog)
	if err != nil {
		return nil, err
	}
	for m, err := range NewHistory(js).Read(ctx, event.ReadRequest{Stream: event.StreamCatalog, Subject: subjects, Bodies: true}) {
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if rejected[m.Seq] {
			continue
		}
		if e, err := event.Decode(m.Data); err == nil {
			if record, ok := e.Data.(T); ok {
				all = append(all, record)
			}
		}
	}
	return all, nil
}

// deadLetters gives the sequences of a stream, as it is now, whose message is in
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

// LoginTakenError refuses an account whose login another account has: nobody
// could log in with it any more, for a login of two accounts is none.
type LoginTakenError struct {
	Login string
	By    contracts.AccountID
	Of    contracts.MandateID // whose account that is
}

func (e *LoginTakenError) Error() string {
	return fmt.Sprintf("the login %q belongs to account %d of mandate %d already; choose another one", e.Login, e.By, e.Of)
}

// logins knows whose logins are taken (a disabled account takes none): those of the catalogue as it stood when
// the first account was published, and those published since.
type logins struct {
	mu    sync.Mutex
	read  bool
	owner map[string]*contracts.Account
	of    map[contracts.AccountID]string
}

// claim takes the login for the account, unless another one has it. Where the
// catalogue cannot be read, it tries again for as long as it may wait.
func (l *logins) claim(ctx context.Context, js jetstream.JetStream, wait time.Duration, a *contracts.Account) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		all, err := Accounts(ctx, js)
		for try, began := 1, time.Now(); err != nil; try++ { // servers start, leaders change
			if time.Since(began) > wait || !sleep(ctx, backoff(try, time.Second)) {
				return fmt.Errorf("whose logins are taken: %w", err)
			}
			all, err = Accounts(ctx, js)
		}
		l.owner, l.of = map[string]*contracts.Account{}, map[contracts.AccountID]string{}
		for _, known := range all {
			l.set(known)
		}
		l.read = true
	}
	if by := l.owner[a.LoginIdentifier]; by != nil && !a.Disabled && (by.AccountID != a.AccountID || by.MandateID != a.MandateID) {
		return &LoginTakenError{a.LoginIdentifier, by.AccountID, by.MandateID}
	}
	l.set(a)
	return nil
}

func (l *logins) set(a *contracts.Account) {
	if old := l.of[a.AccountID]; old != a.LoginIdentifier && l.owner[old] != nil && l.owner[old].AccountID == a.AccountID {
		delete(l.owner, old)
	}
	l.of[a.AccountID] = a.LoginIdentifier
	if by := l.owner[a.LoginIdentifier]; a.Disabled {
		if by != nil && by.AccountID == a.AccountID {
			delete(l.owner, a.LoginIdentifier)
		}
		return
	}
	if by := l.owner[a.LoginIdentifier]; by == nil || by.AccountID == a.AccountID {
		l.owner[a.LoginIdentifier] = a
	}
}
