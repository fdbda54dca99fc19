package faults_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
	"preismon/query/auth"
)

// tokens checks that a revoked token is never accepted again: it revokes some,
// and keeps sending requests with them whatever breaks.
type tokens struct {
	reader *reader // of the mandate that they belong to; it uses a token of its own
	probes atomic.Int64

	mu        sync.Mutex
	revoked   []revokedToken
	forgotten time.Time
}

type revokedToken struct {
	token string
	since time.Time // its revocation was acknowledged
}

// Times of the query service: a revocation is known on every node after the
// first, and a node that no longer hears of revocations refuses all tokens
// after the second.
const (
	revocationKnown = time.Second
	revocationStale = 5 * time.Second
)

// run revokes and probes until ctx ends.
func (k *tokens) run(ctx context.Context, rnd *rand.Rand) {
	for ctx.Err() == nil {
		if rnd.IntN(10) == 0 {
			k.revokeOne(ctx)
		}
		if t, ok := k.some(rnd); ok {
			status, err := k.reader.probe(ctx, t.token)
			k.probes.Add(1)
			if err == nil && status == http.StatusOK && k.knows(t) {
				k.reader.found(wrong("I8", "a token revoked %s ago is accepted", time.Since(t.since).Round(time.Millisecond)))
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// revokeOne logs in and out. Unacknowledged revocations are ignored.
func (k *tokens) revokeOne(ctx context.Context) {
	token, err := k.reader.newToken(ctx)
	if err != nil {
		return
	}
	asked := time.Now()
	var answer struct{ Revoked bool }
	a, err := k.reader.at(token).Post(ctx, "/v1/auth/logout", nil)
	if err == nil && a.JSON(&answer) == nil && answer.Revoked {
		k.add(token, asked)
	}
}

// add records a token whose revocation was requested at asked and acknowledged.
func (k *tokens) add(token string, asked time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if asked.After(k.forgotten) {
		k.revoked = append(k.revoked, revokedToken{token, time.Now()})
	}
}

// some returns a revoked token; ok: every node must know that it is revoked.
func (k *tokens) some(rnd *rand.Rand) (revokedToken, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.revoked) == 0 {
		return revokedToken{}, false
	}
	t := k.revoked[rnd.IntN(len(k.revoked))]
	return t, time.Since(t.since) > revocationKnown
}

// knows reports whether a token has not been forgotten meanwhile.
func (k *tokens) knows(t revokedToken) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return t.since.After(k.forgotten)
}

// forget is for a fault that undoes all earlier revocations.
func (k *tokens) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.revoked, k.forgotten = nil, time.Now()
}

// newToken logs in for a token separate from the one that the reader uses.
func (r *reader) newToken(ctx context.Context) (string, error) {
	other := reader{mandate: r.mandate, base: r.base, client: r.client}
	err := other.login(ctx)
	return other.token, err
}

// probe makes a small request with a token and returns the status.
func (r *reader) probe(ctx context.Context, token string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	a, err := r.at(token).Get(ctx, "/v1/sites")
	if err != nil {
		return 0, err
	}
	return a.StatusCode, nil
}

// tokenFaults are those of what nodes know about tokens.
var tokenFaults = []fault{
	{name: "revocations-unheard", do: unheard},
}

// unheard cuts the query node off from NATS while another node revokes a token:
// before long it must refuse all tokens, and that one for ever.
func unheard(w *world, _ *rand.Rand) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	token, err := retried(func() (string, error) { return w.readers[0].newToken(ctx) })
	if err != nil {
		return err
	}
	revoke, err := w.otherNode(ctx)
	if err != nil {
		return err
	}
	w.queryStreams.Set(proxy.Up, proxy.Rule{Then: proxy.Hold})
	w.queryStreams.Set(proxy.Down, proxy.Rule{Then: proxy.Hold})
	cut := time.Now()
	if err := revoke(token); err != nil {
		return fmt.Errorf("another node cannot revoke: %w", err)
	}
	refused := false
	for time.Since(cut) < revocationStale+3*time.Second {
		asked := time.Now()
		status, err := w.readers[0].probe(ctx, token)
		// One second more, because the machine is busy.
		if err == nil && status == http.StatusOK && asked.Sub(cut) > revocationStale+time.Second {
			return wrong("I8", "a node that hears nothing of revocations for %s accepts a revoked token", asked.Sub(cut).Round(time.Millisecond))
		}
		refused = refused || err == nil && status == http.StatusServiceUnavailable
		time.Sleep(100 * time.Millisecond)
	}
	w.queryStreams.Reset()
	w.queryStreams.Heal()
	if !refused {
		return errors.New("the node that was cut off refused nothing")
	}
	w.tokens.add(token, cut)
	return must.Until(patience, "the node says that the token is revoked", func() bool {
		status, err := w.readers[0].probe(ctx, token)
		return err == nil && status == http.StatusUnauthorized
	})
}

// otherNode revokes tokens as another node does, until ctx ends.
func (w *world) otherNode(ctx context.Context) (revoke func(token string) error, err error) {
	other, err := auth.NewRevokedTokens(auth.RevocationDefaults(), w.streams(), quiet, time.Now)
	if err != nil {
		return nil, err
	}
	go func() { _ = other.Run(ctx) }()
	select {
	case <-other.Ready():
	case <-time.After(patience):
		return nil, errors.New("another node does not get at the revoked tokens")
	}
	return func(token string) error {
		id, err := tokenID(token)
		if err != nil {
			return err
		}
		return other.Revoke(ctx, id, time.Now().Add(24*time.Hour))
	}, nil
}

// tokenID reads the id out of a token without verifying it.
func tokenID(token string) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", fmt.Errorf("a token of %d parts", len(parts))
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", err
	}
	var claims struct{ JTI string }
	err = json.Unmarshal(text, &claims)
	return claims.JTI, err
}
