package rest_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"go.opentelemetry.io/otel/trace"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/contracts/openapi/openapitest"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/auth"
	"preismon/query/rest"
)

const (
	baseURL  = "https://prices.example.test"
	password = "correct horse battery staple"

	reader   contracts.AccountID = 1 // may read everything
	narrow   contracts.AccountID = 2 // may read sites only
	admin    contracts.AccountID = 3
	disabled contracts.AccountID = 4
)

func TestMain(m *testing.M) {
	testserver.AtOnce(6) // parallel tests mostly wait
	testserver.Main(m)
}

// surface is a REST surface on loopback over a store in memory.
type surface struct {
	*httptest.Server
	t       testing.TB
	rest    *rest.Surface // without what the test wraps around it
	store   *memory
	service *query.Service
	auth    *auth.Authority
	key     ed25519.PrivateKey
	revoked *revocations
	clock   *clock
	log     *testserver.LogBuffer
	client  *http.Client
}

type settings struct {
	rest        rest.Config
	query       query.Config
	throttle    auth.ThrottleConfig
	auth        auth.Config
	revocations auth.Revocations
	key         ed25519.PrivateKey
	http2       bool
	store       query.Store   // instead of the one in memory
	people      auth.Accounts // instead of those of the tests
	archives    []query.Archive
	mounted     []rest.Mounted
	tracer      trace.Tracer
	serving     func() func(rest.Served)
	followed    func(time.Duration)
	ended       func(string)
	server      func(*http.Server) // changes it before it starts
	unchecked   bool               // answers are too large to be kept for a check
}

func serve(t testing.TB, change ...func(*settings)) *surface {
	t.Helper()
	s := &surface{t: t, store: newMemory(), revoked: &revocations{ids: map[string]bool{}}, clock: &clock{}, log: &testserver.LogBuffer{}}
	set := settings{rest: rest.Defaults(), query: query.Defaults(), throttle: auth.ThrottleDefaults(), auth: auth.Defaults(), revocations: s.revoked}
	set.rest.BaseURL, set.rest.Build = baseURL, "v0.0.0-test"
	set.query.CursorKey = contracts.Secret(strings.Repeat("k", 32))
	set.auth.Issuer = baseURL
	set.auth.Hash = argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	for _, f := range change {
		f(&set)
	}
	if s.key = set.key; s.key == nil {
		_, s.key, _ = ed25519.GenerateKey(nil)
	}
	keys := must.Get(auth.NewKeyring(s.key))(t)
	throttle := must.Get(auth.NewThrottle(set.throttle, s.clock.now))(t)
	hash := must.Get(set.auth.HashPassword(password))(t)
	var people auth.Accounts = accounts{
		"reader@example.com":   {Account: reader, PasswordHash: hash},
		"narrow@example.com":   {Account: narrow, PasswordHash: hash},
		"admin@example.com":    {Account: admin, PasswordHash: hash, Administrative: true},
		"disabled@example.com": {Account: disabled, PasswordHash: hash, Disabled: true},
	}
	if set.people != nil {
		people = set.people
	}
	s.auth = must.Get(auth.New(set.auth, auth.Deps{Keys: keys, Throttle: throttle, Revocations: set.revocations, Now: s.clock.now, Accounts: people}))(t)
	if set.store == nil {
		set.store = s.store
	}
	service := must.Get(query.New(set.query, set.store, s.clock.now, set.archives...))(t)
	s.service = service
	log := slog.New(slog.NewJSONHandler(s.log, nil))
	s.rest = must.Get(rest.New(set.rest, rest.Deps{Service: service, Auth: s.auth, Logger: log, Now: s.clock.now, Mounted: set.mounted, Tracer: set.tracer, Serving: set.serving, Followed: set.followed, Ended: set.ended}))(t)
	var h http.Handler = s.rest
	// Each exchange of each test is checked against the contract, whatever its
	// client.
	if !set.unchecked {
		h = openapitest.Handler(h, func(err error) { t.Error(err) })
	}
	s.Server = httptest.NewUnstartedServer(h)
	s.Config = rest.NewServer(h, log)
	if set.server != nil {
		set.server(s.Config)
	}
	if set.http2 {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	s.client = s.Server.Client()
	return s
}

type clock struct {
	mu     sync.Mutex
	offset time.Duration
	frozen time.Time // unless zero, the clock stands still
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.frozen.IsZero() {
		return c.frozen
	}
	return time.Now().Add(c.offset)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

type accounts map[string]auth.Credentials

func (a accounts) ByLogin(_ context.Context, login string) (auth.Credentials, error) {
	if c, ok := a[login]; ok {
		return c, nil
	}
	return auth.Credentials{}, fault.New(fault.NotFound, "", "no such login")
}

func (a accounts) Active(_ context.Context, all []contracts.AccountID) ([]contracts.AccountID, error) {
	return all, nil
}

// revocations keeps revoked ids in memory, and fails when told to.
type revocations struct {
	mu           sync.Mutex
	ids          map[string]bool
	write, check error
}

func (r *revocations) Revoke(_ context.Context, jti string, _ time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.write == nil {
		r.ids[jti] = true
	}
	return r.write
}

func (r *revocations) Revoked(jti string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids[jti], r.check
}

func (r *revocations) breakDown(write, check error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write, r.check = write, check
}

// token issues a token for an account, without a password.
func (s *surface) token(account contracts.AccountID) string {
	s.t.Helper()
	issued, _, err := s.auth.IssueREST(account)
	must.Do(s.t, err)
	return issued.Token.Reveal()
}

// answer is a response that was read to its end.
type answer struct {
	*http.Response
	body []byte
}

type problem struct {
	Type, Title, Detail, Code string
	Status                    int
	ActualBytes, MaxBytes     *int64
}

func (s *surface) do(r *http.Request) answer {
	s.t.Helper()
	a := must.Get(caller.Read(s.client.Do(r)))(s.t)
	return answer{a.Response, a.Text}
}

func (s *surface) request(method, path, token string, body io.Reader) *http.Request {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	s.t.Cleanup(cancel)
	return must.Get(caller.Client{URL: s.URL, Token: token}.Request(ctx, method, path, body))(s.t)
}

func (s *surface) get(path, token string) answer {
	s.t.Helper()
	return s.do(s.request("GET", path, token, nil))
}

func (s *surface) login(login, password string) answer {
	s.t.Helper()
	return s.postLogin(string(caller.LoginBody(login, password)))
}

func (s *surface) postLogin(body string) answer {
	s.t.Helper()
	r := s.request("POST", caller.LoginPath, "", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return s.do(r)
}

func (s *surface) logout(token string) answer {
	s.t.Helper()
	return s.do(s.request("POST", "/v1/auth/logout", token, nil))
}

// is checks the status.
func (a answer) is(t testing.TB, status int) {
	t.Helper()
	if a.StatusCode != status {
		var at any = "an answer"
		if a.Request != nil {
			at = a.Request.URL
		}
		t.Errorf("%s: status %d, want %d: %.1000s", at, a.StatusCode, status, a.body)
	}
}

// want is is for a test that cannot go on with another status.
func (a answer) want(t testing.TB, status int) answer {
	t.Helper()
	if a.is(t, status); a.StatusCode != status {
		t.FailNow()
	}
	return a
}

func decode[T any](t testing.TB, a answer) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	return v
}

// waiting sends a request that must not be answered at once, and returns where
// its answer comes.
func waiting(t *testing.T, send func() answer) <-chan answer {
	t.Helper()
	waited := make(chan answer, 1)
	go func() { waited <- send() }()
	select {
	case a := <-waited:
		t.Fatalf("it did not wait: %s", a.body)
	case <-time.After(300 * time.Millisecond):
	}
	return waited
}

// wantProblem checks everything that all error answers share (ERR-F1 to ERR-F8,
// ERR-00a).
func (a answer) wantProblem(t *testing.T, status int, code string) problem {
	t.Helper()
	a.want(t, status)
	equals.Is(t, "application/problem+json", a.Header.Get("Content-Type"), "Content-Type")
	if err := openapitest.Problem(a.body); err != nil {
		t.Errorf("no strict problem: %v\n%s", err, a.body)
	}
	p := decode[problem](t, a)
	kebab := strings.ReplaceAll(strings.ToLower(code), "_", "-")
	if p.Status != status || p.Code != code || p.Type != baseURL+"/problems/"+kebab {
		t.Errorf("got %s, want status %d and code %s", a.body, status, code)
	}
	if status != http.StatusRequestEntityTooLarge && (p.ActualBytes != nil || p.MaxBytes != nil) {
		t.Errorf("sizes outside 413: %s", a.body)
	}
	if (status == 401) != (a.Header.Get("WWW-Authenticate") == "Bearer") {
		t.Errorf("WWW-Authenticate %q on %d", a.Header.Get("WWW-Authenticate"), status)
	}
	return p
}
