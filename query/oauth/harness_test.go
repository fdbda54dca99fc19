package oauth_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
	"preismon/query/oauth"
)

const (
	password = "correct horse battery staple"
	callback = "http://127.0.0.1:7777/callback"

	reader contracts.AccountID = 1
	other  contracts.AccountID = 2
	admin  contracts.AccountID = 3
)

// world is an authorization server on loopback with a real NATS.
type world struct {
	*httptest.Server
	t        testing.TB
	cfg      oauth.Config
	auth     *auth.Authority
	accounts *accounts
	docs     *documents
	clock    *clock
	log      *testserver.LogBuffer
	nats     *nats.Conn
	oauth    *oauth.Server
	revoked  *revocations
}

// revocations can be made to fail.
type revocations struct {
	*auth.RevokedTokens
	broken atomic.Bool
}

func (r *revocations) Revoke(ctx context.Context, id string, until time.Time) error {
	if r.broken.Load() {
		return errInternal
	}
	return r.RevokedTokens.Revoke(ctx, id, until)
}

type settings struct {
	oauth    oauth.Config
	throttle auth.ThrottleConfig
	nats     string
	tls      bool
}

func open(t testing.TB, change ...func(*settings)) *world {
	t.Helper()
	set := settings{oauth: oauth.Defaults(), throttle: auth.ThrottleDefaults()}
	set.oauth.Key = contracts.Secret(strings.Repeat("k", 32))
	set.throttle.Reads.Requests = 100_000
	set.throttle.Attempts.Requests = 1000
	for _, f := range change {
		f(&set)
	}
	if set.nats == "" {
		set.nats = testserver.NATS(t)
	}
	w := &world{t: t, accounts: newAccounts(), docs: &documents{}, clock: &clock{}, log: &testserver.LogBuffer{}}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("X-Request-Id", "test")
		w.oauth.ServeHTTP(rw, r)
	}))
	scheme := "http://"
	if set.tls {
		scheme = "https://"
	}
	if set.oauth.BaseURL == "" {
		set.oauth.BaseURL = scheme + w.Listener.Addr().String()
	}
	w.cfg = set.oauth

	log := slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	nc := must.Get(nats.Connect(set.nats, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond)))(t)
	t.Cleanup(nc.Close)
	w.nats = nc
	js := must.Get(jetstream.New(nc))(t)
	rc := auth.RevocationDefaults()
	rc.Check = 100 * time.Millisecond
	real := must.Get(auth.NewRevokedTokens(rc, js, log, time.Now))(t)
	run(t, real.Run)
	revoked := &revocations{RevokedTokens: real}
	w.revoked = revoked
	select {
	case <-revoked.Ready():
	case <-time.After(10 * time.Second):
		t.Fatal("revocations are not ready")
	}

	ac := auth.Defaults()
	ac.Issuer = w.cfg.BaseURL
	ac.Hash = argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	_, key, err := ed25519.GenerateKey(nil)
	must.Do(t, err)
	keys := must.Get(auth.NewKeyring(key))(t)
	throttle := must.Get(auth.NewThrottle(set.throttle, w.clock.now))(t)
	w.accounts.hash = must.Get(ac.HashPassword(password))(t)
	w.auth = must.Get(auth.New(ac, auth.Deps{Keys: keys, Accounts: w.accounts, Revocations: revoked, Throttle: throttle, Now: w.clock.now}))(t)
	w.oauth = must.Get(oauth.New(w.cfg, oauth.Deps{
		Auth: w.auth, Accounts: w.accounts, Documents: w.docs, JetStream: js, Logger: log, Now: w.clock.now,
	}))(t)
	if set.tls {
		w.StartTLS()
	} else {
		w.Start()
	}
	t.Cleanup(w.Close)
	return w
}

func run(t testing.TB, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

type clock struct {
	mu     sync.Mutex
	offset time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// keys counts the keys of the bucket under a subject.
func (w *world) keys(filter string) int { return len(w.values(filter)) }

// largest returns the size of the largest grant.
func (w *world) largest() int { return slices.Max(w.values("grant.>")) }

// values returns the sizes of the bucket's values under a subject.
func (w *world) values(filter string) (sizes []int) {
	w.t.Helper()
	js := must.Get(jetstream.New(w.nats))(w.t)
	stream := must.Get(js.Stream(w.t.Context(), "KV_"+w.cfg.Bucket))(w.t)
	info := must.Get(stream.Info(w.t.Context(), jetstream.WithSubjectFilter("$KV."+w.cfg.Bucket+"."+filter)))(w.t)
	for subject := range info.State.Subjects {
		if m, err := stream.GetLastMsgForSubject(w.t.Context(), subject); err == nil && m.Header.Get("Nats-Marker-Reason") == "" {
			sizes = append(sizes, len(m.Data))
		}
	}
	return sizes
}

var errInternal = errors.New("the disk is on fire")
