package ingest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
)

// LoginTakenError refuses an account whose login another account has: a login
// that two accounts share is valid for neither, so no one could log in with it
// any more.
type LoginTakenError struct {
	Login string
	By    contracts.AccountID
	Of    contracts.MandateID // the mandate of that account
}

func (e *LoginTakenError) Error() string {
	return fmt.Sprintf("the login %q belongs to account %d of mandate %d already; choose another one", e.Login, e.By, e.Of)
}

// logins knows which logins are taken (a disabled account takes none): those of
// the catalogue at the time when the first account was published, and those
// published since.
type logins struct {
	mu    sync.Mutex
	read  bool
	owner map[string]*contracts.Account
	of    map[contracts.AccountID]string
}

// claim takes the login for the account, unless another one has it. If the
// catalogue cannot be read, it keeps trying until wait has passed.
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
