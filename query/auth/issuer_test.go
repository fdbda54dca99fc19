package auth_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// TestTokenOfAnotherNodeIsExplained: a token that another node with the same
// key issued for its own address is refused like any other, and the log says
// why, once a minute.
func TestTokenOfAnotherNodeIsExplained(t *testing.T) {
	w := newWorld(t, accounts{})
	issued := must.Get(w.Issue(auth.Grant{Account: 7, Audience: auth.RESTAudience, Lifetime: time.Hour}))(t)
	keys := must.Get(auth.NewKeyring(w.key))(t)
	throttle := must.Get(auth.NewThrottle(auth.ThrottleDefaults(), w.now))(t)
	var log bytes.Buffer
	cfg := auth.Defaults()
	cfg.Issuer = "https://node-2.example.test"
	other, err := auth.New(cfg, auth.Deps{
		Keys: keys, Accounts: accounts{}, Revocations: noRevocations{}, Throttle: throttle, Now: w.now,
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	must.Do(t, err)
	for range 5 {
		if _, err := other.Verify(issued.Token.Reveal(), auth.RESTAudience); err == nil {
			t.Fatal("it is taken")
		}
		_, _ = other.Verify("a.b.c", auth.RESTAudience) // a stranger's
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, issuer) || !strings.Contains(got, cfg.Issuer) || !strings.Contains(got, "--base-url") {
		t.Errorf("the log says %q", got)
	}
}
