package auth_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

const issuer = "https://prices.example.test"

type noRevocations struct{}

func (noRevocations) Revoke(context.Context, string, time.Time) error { return nil }
func (noRevocations) Revoked(string) (bool, error)                    { return false, nil }

type accounts map[string]auth.Credentials

func (a accounts) ByLogin(_ context.Context, login string) (auth.Credentials, error) {
	if c, ok := a[login]; ok {
		return c, nil
	}
	return auth.Credentials{}, fault.New(fault.NotFound, "", "no such login")
}

func (accounts) Active(_ context.Context, all []contracts.AccountID) ([]contracts.AccountID, error) {
	return all, nil
}

type world struct {
	*auth.Authority
	cfg    auth.Config
	key    ed25519.PrivateKey
	offset time.Duration
}

func (w *world) now() time.Time { return time.Now().Add(w.offset) }

func newWorld(t testing.TB, users accounts, others ...ed25519.PublicKey) *world {
	t.Helper()
	w := &world{cfg: auth.Defaults()}
	w.cfg.Issuer = issuer
	_, w.key, _ = ed25519.GenerateKey(rand.Reader)
	w.Authority = w.with(t, w.key, users, others...)
	return w
}

func (w *world) with(t testing.TB, key ed25519.PrivateKey, users accounts, others ...ed25519.PublicKey) *auth.Authority {
	t.Helper()
	keys := must.Get(auth.NewKeyring(key, others...))(t)
	limits := auth.ThrottleDefaults()
	limits.Attempts.Requests = 10_000
	throttle := must.Get(auth.NewThrottle(limits, w.now))(t)
	a := must.Get(auth.New(w.cfg, auth.Deps{Keys: keys, Accounts: users, Revocations: noRevocations{}, Throttle: throttle, Now: w.now}))(t)
	return a
}
