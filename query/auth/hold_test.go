package auth_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// roll holds which accounts are disabled and which ids are revoked, and counts
// reads of the accounts.
type roll struct {
	mu       sync.Mutex
	gone     map[contracts.AccountID]bool
	revoked  map[string]bool
	away     error // error of the accounts
	unheard  error // error of the revocations
	queries  int
	accounts // for logins: none
}

func (r *roll) set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func (r *roll) Active(_ context.Context, all []contracts.AccountID) (active []contracts.AccountID, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queries++
	for _, a := range all {
		if !r.gone[a] {
			active = append(active, a)
		}
	}
	return active, r.away
}

func (r *roll) Revoke(_ context.Context, jti string, _ time.Time) error {
	r.set(func() { r.revoked[jti] = true })
	return nil
}

func (r *roll) Revoked(jti string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.revoked[jti], r.unheard
}

// Whatever invalidates a token or disables its account ends the requests that
// run with it within a second, and no others: choice 67.
func TestHoldEndsWithItsToken(t *testing.T) {
	_, second, _ := ed25519.GenerateKey(rand.Reader)
	for name, c := range map[string]struct {
		end    func(a *auth.Authority, r *roll, keys *auth.Keyring, t *auth.Token) error
		within time.Duration
		kind   fault.Kind
		all    bool // ends everyone's requests
	}{
		"logout": {func(a *auth.Authority, _ *roll, _ *auth.Keyring, tok *auth.Token) error {
			_, err := a.Revoke(t.Context(), tok)
			return err
		}, time.Second, fault.Unauthenticated, false},
		"end of the session": {func(a *auth.Authority, _ *roll, _ *auth.Keyring, tok *auth.Token) error {
			return a.RevokeSession(t.Context(), tok.Session, tok.Expires)
		}, time.Second, fault.Unauthenticated, false},
		"expiry": {func(*auth.Authority, *roll, *auth.Keyring, *auth.Token) error { return nil }, time.Minute + time.Second, fault.Unauthenticated, false},
		"disabled account": {func(_ *auth.Authority, r *roll, _ *auth.Keyring, tok *auth.Token) error {
			r.set(func() { r.gone[tok.Account] = true })
			return nil
		}, time.Second, fault.Unauthenticated, false},
		"rotated key": {func(_ *auth.Authority, _ *roll, keys *auth.Keyring, _ *auth.Token) error {
			next, err := auth.NewKeyring(second)
			keys.Replace(next)
			return err
		}, time.Second, fault.Unauthenticated, true},
		"accounts away": {func(_ *auth.Authority, r *roll, _ *auth.Keyring, _ *auth.Token) error {
			r.set(func() { r.away = errors.New("away") })
			return nil
		}, 12 * time.Second, fault.Unavailable, true},
		"revocations unheard": {func(_ *auth.Authority, r *roll, _ *auth.Keyring, _ *auth.Token) error {
			r.set(func() { r.unheard = &fault.Error{Kind: fault.Unavailable} })
			return nil
		}, time.Second, fault.Unavailable, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &roll{gone: map[contracts.AccountID]bool{}, revoked: map[string]bool{}}
				_, key, _ := ed25519.GenerateKey(rand.Reader)
				keys := must.Get(auth.NewKeyring(key))(t)
				throttle := must.Get(auth.NewThrottle(auth.ThrottleDefaults(), time.Now))(t)
				cfg := auth.Defaults()
				cfg.Issuer = issuer
				a := must.Get(auth.New(cfg, auth.Deps{Keys: keys, Accounts: r, Revocations: r, Throttle: throttle, Now: time.Now}))(t)
				token := func(account contracts.AccountID, lifetime time.Duration) *auth.Token {
					issued := must.Get(a.Issue(auth.Grant{Account: account, Audience: auth.RESTAudience, Lifetime: lifetime, Session: "session of " + account.String()}))(t)
					tok := must.Get(a.Verify(issued.Token.Reveal(), auth.RESTAudience))(t)
					return tok
				}
				mine, other := token(1, time.Minute), token(2, time.Hour)
				told := make(chan error, 1)
				ctx, hold := a.Hold(auth.WithOnEnd(t.Context(), func(err error) { told <- err }), mine)
				defer hold.Release()
				beside, held := a.Hold(t.Context(), other)
				defer held.Release()
				time.Sleep(20 * time.Second)
				if ctx.Err() != nil || beside.Err() != nil || hold.Err() != nil {
					t.Fatalf("ended before: %v", context.Cause(ctx))
				}
				must.Do(t, c.end(a, r, keys, mine))
				began := time.Now()
				<-ctx.Done()
				if took := time.Since(began); took > c.within {
					t.Errorf("it ended after %v", took)
				}
				if why := auth.Ended(ctx); why == nil || fault.KindOf(why) != c.kind || !errors.Is(context.Cause(ctx), why) || <-told != why || hold.Err() != why { //nolint:errorlint // the same
					t.Errorf("%v", context.Cause(ctx))
				}
				time.Sleep(time.Second)
				if (beside.Err() != nil) != c.all {
					t.Errorf("the other one: %v", context.Cause(beside))
				}
			})
		})
	}
}

// Short requests do not read the accounts; long ones share one read for all of
// them, at most four times a second, and nothing is read when they are over.
func TestHoldsCostOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &roll{gone: map[contracts.AccountID]bool{}, revoked: map[string]bool{}}
		_, key, _ := ed25519.GenerateKey(rand.Reader)
		keys := must.Get(auth.NewKeyring(key))(t)
		throttle := must.Get(auth.NewThrottle(auth.ThrottleDefaults(), time.Now))(t)
		cfg := auth.Defaults()
		cfg.Issuer = issuer
		a := must.Get(auth.New(cfg, auth.Deps{Keys: keys, Accounts: r, Revocations: r, Throttle: throttle, Now: time.Now}))(t)
		token := func(account int) *auth.Token {
			issued, _, err := a.IssueREST(contracts.AccountID(account))
			must.Do(t, err)
			tok := must.Get(a.Verify(issued.Token.Reveal(), auth.RESTAudience))(t)
			return tok
		}
		short := token(1)
		for range 1000 {
			_, h := a.Hold(t.Context(), short)
			time.Sleep(10 * time.Millisecond)
			h.Release()
		}
		if r.queries != 0 {
			t.Errorf("%d questions for requests of 10 ms", r.queries)
		}
		var all []*auth.Hold
		for i := range 300 {
			_, h := a.Hold(t.Context(), token(1+i%30))
			all = append(all, h)
		}
		time.Sleep(10 * time.Second)
		if r.queries < 30 || r.queries > 41 {
			t.Errorf("%d questions in 10 s", r.queries)
		}
		for _, h := range all {
			h.Release()
		}
		synctest.Wait() // the timer may have gone off at the same instant
		before := r.queries
		time.Sleep(10 * time.Second)
		if r.queries > before {
			t.Errorf("%d questions for nobody", r.queries-before)
		}
		if a.Cut() != 0 {
			t.Errorf("%d were ended", a.Cut())
		}
	})
}

// A running node follows changes to its key files.
func TestKeyFilesAreFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	for _, f := range []string{"signing", "other", "next"} {
		must.Do(t, auth.EnsureKey(name(f)))
	}
	other := must.Get(auth.ReadKeyring(name("other")))(t)
	next := must.Get(auth.ReadKeyring(name("next")))(t)
	keys := must.Get(auth.ReadKeyring(name("signing"), name("other")))(t)
	w := newWorld(t, nil)
	of := func(k *auth.Keyring) *auth.Authority {
		throttle := must.Get(auth.NewThrottle(auth.ThrottleDefaults(), time.Now))(t)
		a := must.Get(auth.New(w.cfg, auth.Deps{Keys: k, Accounts: accounts{}, Revocations: noRevocations{}, Throttle: throttle, Now: time.Now}))(t)
		return a
	}
	node := of(keys)
	tokenOf := func(a *auth.Authority) string {
		issued, _, err := a.IssueREST(7)
		must.Do(t, err)
		return issued.Token.Reveal()
	}
	accepts := func(token string) bool { _, err := node.Verify(token, auth.RESTAudience); return err == nil }
	own, others, coming := tokenOf(node), tokenOf(of(other)), tokenOf(of(next))
	if !accepts(own) || !accepts(others) || accepts(coming) {
		t.Fatal("the keys are not those of the files")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- keys.Follow(ctx, slog.New(slog.DiscardHandler), name("signing"), name("other"))
	}()
	defer func() { cancel(); must.Do(t, <-ended) }()

	must.Do(t, os.WriteFile(name("other"), []byte("half a key"), 0o600)) // as in the middle of writing it
	time.Sleep(700 * time.Millisecond)
	if !accepts(others) {
		t.Error("a file that cannot be read took a key away")
	}
	must.Do(t, os.Remove(name("other")))
	eventually(t, "the other key is gone", 10*time.Second, func() bool { return !accepts(others) })
	must.Do(t, os.Rename(name("next"), name("signing")))
	eventually(t, "the signing key is another", 10*time.Second, func() bool { return !accepts(own) && accepts(coming) && accepts(tokenOf(node)) })
}
