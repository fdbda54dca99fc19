package auth

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

const (
	// holdCheck is how often the tokens of running requests are checked.
	holdCheck = 250 * time.Millisecond
	// holdStale is how long a request goes on without proof that its account is
	// still active.
	holdStale = 10 * time.Second
	// holdAccounts bounds the accounts in one query.
	holdAccounts = 1000
)

// Hold ties a running request to its token: when the token is no longer good,
// or its account no longer active, the context of the request is cancelled with
// the reason as its cause.
type Hold struct {
	a      *Authority
	token  *Token
	cancel context.CancelCauseFunc
	onEnd  func(error)

	proved time.Time // when the account was last known to be active; guarded by holds.mu

	mu       sync.Mutex
	ended    error
	released bool
}

// holds are the requests running on this node. They are checked on a timer that
// runs only while there are any. Accounts are looked up for all requests
// together, in one query at a time, and only for requests that have run for
// longer than one check, so that short requests cost nothing.
type holds struct {
	mu     sync.Mutex
	all    map[*Hold]struct{}
	armed  bool
	asking bool
}

type onEndKey struct{}

// WithOnEnd makes Hold call f when it ends a request of this context. The call
// may come from any goroutine, but not after Release.
func WithOnEnd(ctx context.Context, f func(error)) context.Context {
	return context.WithValue(ctx, onEndKey{}, f)
}

// ended is the cause of a context that Hold cancelled.
type ended struct{ error }

func (e ended) Unwrap() error { return e.error }

// Ended returns why Hold ended a request of this context; nil: it did not.
func Ended(ctx context.Context) error {
	if e, ok := errors.AsType[ended](context.Cause(ctx)); ok {
		return e.error
	}
	return nil
}

// Hold holds a request with a verified token until Release.
func (a *Authority) Hold(ctx context.Context, t *Token) (context.Context, *Hold) {
	h := &Hold{a: a, token: t, proved: time.Now()}
	h.onEnd, _ = ctx.Value(onEndKey{}).(func(error))
	ctx, h.cancel = context.WithCancelCause(ctx)
	a.holds.mu.Lock()
	defer a.holds.mu.Unlock()
	if a.holds.all == nil {
		a.holds.all = map[*Hold]struct{}{}
	}
	a.holds.all[h] = struct{}{}
	a.armHolds()
	return ctx, h
}

// Err checks at once whether the request may go on. It returns nil for a nil
// Hold. An answer that is sent at once needs no further checks.
func (h *Hold) Err() error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	err := h.ended
	h.mu.Unlock()
	if err == nil {
		if err = h.a.standing(h.token); err != nil {
			h.end(err)
		}
	}
	return err
}

// Left returns how much longer its token is good.
func (h *Hold) Left() time.Duration { return h.token.Expires.Sub(h.a.deps.Now()) }

// Release ends the hold and cancels the context of the request.
func (h *Hold) Release() {
	h.a.holds.mu.Lock()
	delete(h.a.holds.all, h)
	h.a.holds.mu.Unlock()
	h.mu.Lock()
	h.released = true
	h.mu.Unlock()
	h.cancel(nil)
}

// end ends the request.
func (h *Hold) end(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended != nil || h.released {
		return
	}
	h.ended = err
	h.cancel(ended{err})
	h.a.cut.Add(1)
	if h.onEnd != nil {
		h.onEnd(err)
	}
}

// armHolds starts the timer; holds.mu must be held.
func (a *Authority) armHolds() {
	if !a.holds.armed && len(a.holds.all) > 0 {
		a.holds.armed = true
		time.AfterFunc(holdCheck, a.checkHolds)
	}
}

// checkHolds ends the requests that must not go on.
func (a *Authority) checkHolds() {
	now := time.Now()
	var accounts []contracts.AccountID
	a.holds.mu.Lock()
	running := make([]*Hold, 0, len(a.holds.all))
	unproved := map[*Hold]bool{}
	for h := range a.holds.all {
		running = append(running, h)
		if since := now.Sub(h.proved); since >= holdCheck {
			accounts = append(accounts, h.token.Account)
			unproved[h] = since > holdStale
		}
	}
	ask := !a.holds.asking && len(accounts) > 0
	a.holds.asking = a.holds.asking || ask
	a.holds.armed = false
	a.armHolds()
	a.holds.mu.Unlock()
	if ask {
		slices.Sort(accounts)
		go a.proveHolds(slices.Compact(accounts))
	}
	for _, h := range running {
		err := a.standing(h.token)
		if err == nil && unproved[h] {
			err = errUnproved
		}
		if err != nil {
			h.end(err)
		}
	}
}

var errUnproved = &fault.Error{
	Kind: fault.Unavailable, RetryAfter: holdStale,
	Msg: "Accounts cannot be checked at the moment. Try again shortly.", Err: errors.New("the account of a running request was not seen for too long"),
}

var errInactive = errors.New("the account is gone, disabled or administrative")

// proveHolds looks up which of the accounts are still active.
func (a *Authority) proveHolds(accounts []contracts.AccountID) {
	defer func() {
		a.holds.mu.Lock()
		a.holds.asking = false
		a.holds.mu.Unlock()
	}()
	for part := range slices.Chunk(accounts, holdAccounts) {
		ctx, cancel := context.WithTimeout(context.Background(), holdStale)
		queriedAt := time.Now()
		active, err := a.deps.Accounts.Active(ctx, part)
		cancel()
		if err != nil {
			return // will be asked again; if this goes on for too long, the requests end
		}
		var gone []*Hold
		a.holds.mu.Lock()
		for h := range a.holds.all {
			switch {
			case slices.Contains(active, h.token.Account):
				h.proved = queriedAt
			case slices.Contains(part, h.token.Account) && h.proved.Before(queriedAt):
				gone = append(gone, h)
			}
		}
		a.holds.mu.Unlock()
		for _, h := range gone {
			h.end(refused(errInactive))
		}
	}
}

// Cut returns how many running requests were ended because their token or
// account was no longer good, or could not be checked.
func (a *Authority) Cut() uint64 { return a.cut.Load() }
