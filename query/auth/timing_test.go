package auth_test

import (
	"context"
	"crypto/ed25519"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// An unknown login, a wrong password, an administrative and a disabled account
// take the same time: none takes longer than another in nearly all or nearly no
// comparisons. Without hashing, a login would take a thousandth of the time, even
// of this short hash.
func TestRefusalsTakeTheSameTime(t *testing.T) { // AUTH-T7e, AUTH-04
	cfg := auth.Defaults()
	cfg.Hash.Memory, cfg.Hash.Iterations = 4<<10, 1
	hash := must.Get(cfg.HashPassword("open sesame"))(t)
	w := newWorld(t, nil)
	w.cfg.Hash = cfg.Hash
	w.Authority = w.with(t, w.key, accounts{
		"a@example.com": {Account: 7, PasswordHash: hash}, "admin@example.com": {Account: 8, PasswordHash: hash, Administrative: true},
		"gone@example.com": {Account: 9, PasswordHash: hash, Disabled: true},
	})
	names := []string{"nobody@example.com", "a@example.com", "admin@example.com", "gone@example.com"}
	for try, rounds := range []int{25, 75} {
		times := map[string][]time.Duration{}
		for range rounds {
			for _, i := range rand.Perm(len(names)) { // by turns, in any order: garbage is collected every few hashes
				name, password := names[i], "open sesame"
				if name == "a@example.com" {
					password = "wrong"
				}
				began := time.Now()
				if _, err := login(w.Authority, name, password); err == nil {
					t.Fatalf("%s may log in", name)
				}
				times[name] = append(times[name], time.Since(began))
			}
		}
		apart := ""
		for _, name := range names[1:] {
			longer := 0
			for _, x := range times[name] {
				for _, y := range times[names[0]] {
					if x > y {
						longer++
					}
				}
			}
			if share := float64(longer) / float64(rounds*rounds); share < 0.1 || share > 0.9 {
				apart += name + " "
			}
		}
		if apart == "" {
			return
		}
		if try > 0 {
			t.Errorf("the time tells these from an unknown login: %s", apart)
		}
	}
}

type stuck struct{}

func (stuck) ByLogin(ctx context.Context, _ string) (auth.Credentials, error) {
	<-ctx.Done()
	return auth.Credentials{}, fault.Wrap(ctx.Err(), fault.Timeout, "The read did not finish in time.")
}

func (stuck) Active(ctx context.Context, _ []contracts.AccountID) ([]contracts.AccountID, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// If the store of accounts does not answer, logins become unavailable after
// seconds instead of waiting forever.
func TestLoginDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, key, _ := ed25519.GenerateKey(nil)
		keys := must.Get(auth.NewKeyring(key))(t)
		throttle := must.Get(auth.NewThrottle(auth.ThrottleDefaults(), time.Now))(t)
		cfg := auth.Defaults()
		cfg.Issuer = issuer
		a := must.Get(auth.New(cfg, auth.Deps{Keys: keys, Accounts: stuck{}, Revocations: noRevocations{}, Throttle: throttle, Now: time.Now}))(t)
		began := time.Now()
		_, _, err := a.Login(t.Context(), auth.Login{Identifier: "a@example.com", Password: contracts.Secret("x"), Address: "192.0.2.1"})
		if fault.KindOf(err) != fault.Unavailable || err == nil {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("after %s", took)
		}
	})
}
