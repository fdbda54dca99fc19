package mcp_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/contracts/openapi/openapitest"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/auth"
	"preismon/query/mcp"
)

const (
	baseURL = "https://prices.example.test"
	build   = "v1.2.3-test"
	reader  = contracts.AccountID(7)
)

// surface is POST /mcp on loopback with a small catalogue.
type surface struct {
	*httptest.Server
	t       testing.TB
	auth    *auth.Authority
	revoked *revocations
	log     *testserver.LogBuffer
	calls   *calls

	unchecked bool
}

type settings struct {
	mcp       mcp.Config
	throttle  auth.ThrottleConfig
	catalogue mcp.Catalogue
	called    func(mcp.Called)
	unchecked bool // answers are too large to be kept for a check
}

func serve(t testing.TB, change ...func(*settings)) *surface {
	t.Helper()
	s, h := handlerOf(t, change...)
	h = edge(h)
	// Each exchange of each test is checked against the contract, whatever its
	// client.
	if !s.unchecked {
		h = openapitest.Handler(h, func(err error) { t.Error(err) })
	}
	s.Server = httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// handlerOf returns only the handler.
func handlerOf(t testing.TB, change ...func(*settings)) (*surface, http.Handler) {
	t.Helper()
	s := &surface{t: t, revoked: &revocations{ids: map[string]bool{}}, log: &testserver.LogBuffer{}, calls: &calls{left: make(chan error, 1), began: make(chan struct{}, 1)}}
	set := settings{mcp: mcp.Defaults(), throttle: auth.ThrottleDefaults(), catalogue: s.calls.catalogue()}
	set.mcp.BaseURL, set.mcp.Build = baseURL, build
	for _, f := range change {
		f(&set)
	}
	s.unchecked = set.unchecked
	s.auth = newAuthority(t, set.mcp.BaseURL, set.throttle, s.revoked)
	queries := query.Defaults()
	queries.CursorKey = contracts.Secret(strings.Repeat("k", 32))
	service := must.Get(query.New(queries, nil, time.Now))(t)
	h := must.Get(mcp.NewWith(set.mcp, mcp.Deps{Service: service, Auth: s.auth, Logger: slog.New(slog.NewJSONHandler(s.log, nil)), Now: time.Now, Called: set.called}, set.catalogue))(t)
	return s, h
}

// newAuthority issues and verifies tokens of accounts without logins.
func newAuthority(t testing.TB, issuer string, limits auth.ThrottleConfig, revoked *revocations) *auth.Authority {
	t.Helper()
	_, key, _ := ed25519.GenerateKey(nil)
	keys := must.Get(auth.NewKeyring(key))(t)
	throttle := must.Get(auth.NewThrottle(limits, time.Now))(t)
	cfg := auth.Defaults()
	cfg.Issuer, cfg.Hash = issuer, argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	a := must.Get(auth.New(cfg, auth.Deps{Keys: keys, Accounts: nobody{}, Revocations: revoked, Throttle: throttle, Now: time.Now}))(t)
	return a
}

// edge gives answers the headers that the service's edge adds.
func edge(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "request-1")
		for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy"} {
			w.Header().Set(name, "set")
		}
		next.ServeHTTP(w, r)
	})
}

type nobody struct{}

func (nobody) ByLogin(context.Context, string) (auth.Credentials, error) {
	return auth.Credentials{}, fault.New(fault.NotFound, "", "No such login.")
}

func (nobody) Active(_ context.Context, all []contracts.AccountID) ([]contracts.AccountID, error) {
	return all, nil
}

type revocations struct {
	mu   sync.Mutex
	ids  map[string]bool
	away bool
}

func (r *revocations) Revoke(_ context.Context, jti string, _ time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids[jti] = true
	return nil
}

func (r *revocations) Revoked(jti string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return false, &fault.Error{Kind: fault.Unavailable, Err: errors.New("secret: no revocations"), RetryAfter: 3 * time.Second}
	}
	return r.ids[jti], nil
}

// token issues an access token for MCP.
func (s *surface) token(change ...func(*auth.Grant)) string {
	s.t.Helper()
	g := auth.Grant{Account: reader, Audience: s.issuer() + "/mcp", Lifetime: time.Hour, Scopes: []string{"mcp"}, Client: "client-1", Session: "session-1"}
	for _, f := range change {
		f(&g)
	}
	issued := must.Get(s.auth.Issue(g))(s.t)
	return issued.Token.Reveal()
}

func (s *surface) issuer() string { return baseURL }

// answer is the response to a POST.
type answer struct {
	status int
	header http.Header
	body   string
}

// request is a POST that can be changed before it is sent.
type request struct {
	method, body string
	host         string
	header       http.Header
	t            testing.TB
	s            *surface
}

func (s *surface) request(body string) *request {
	return &request{
		t: s.t, s: s, method: http.MethodPost, body: body, host: "prices.example.test",
		header: http.Header{
			"Authorization": {"Bearer " + s.token()}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		},
	}
}

func (r *request) with(name, value string) *request {
	r.header[http.CanonicalHeaderKey(name)] = []string{value}
	return r
}

func (r *request) without(name string) *request {
	r.header.Del(name)
	return r
}

func (r *request) send() answer {
	r.t.Helper()
	req := must.Get(http.NewRequestWithContext(r.t.Context(), r.method, r.s.URL+"/mcp", strings.NewReader(r.body)))(r.t)
	req.Header, req.Host = r.header, r.host
	resp := must.Get(r.s.Client().Do(req))(r.t)
	defer resp.Body.Close()
	body := must.Get(io.ReadAll(resp.Body))(r.t)
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// post sends a legacy body.
func (s *surface) post(body string) answer { return s.request(body).send() }

// reply is a response of JSON-RPC as a client reads it.
type reply struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  map[string]any  `json:"result"`
	Error   *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
}

func (a answer) reply(t testing.TB) reply {
	t.Helper()
	return a.decode(t, func(b []byte) ([]reply, error) {
		var one reply
		err := json.Unmarshal(b, &one)
		return []reply{one}, err
	})[0]
}

func (a answer) replies(t testing.TB) []reply {
	t.Helper()
	return a.decode(t, func(b []byte) (all []reply, err error) {
		err = json.Unmarshal(b, &all)
		return all, err
	})
}

func (a answer) decode(t testing.TB, read func([]byte) ([]reply, error)) []reply {
	t.Helper()
	equals.Is(t, "application/json", a.header.Get("Content-Type"), "content type of %d %.200q", a.status, a.body)
	all, err := read([]byte(a.body))
	if err != nil {
		t.Fatalf("%d %.300q: %v", a.status, a.body, err)
	}
	for _, r := range all {
		if r.JSONRPC != "2.0" || (r.Result == nil) == (r.Error == nil) || r.ID == nil {
			t.Errorf("not a response: %.300s", a.body)
		}
	}
	return all
}

// wantError checks a POST that failed as a whole, or its one response.
func (a answer) wantError(t testing.TB, status, code int) reply {
	t.Helper()
	r := a.reply(t)
	if a.status != status || r.Error == nil || r.Error.Code != code {
		t.Fatalf("got %d %.300s, want status %d and code %d", a.status, a.body, status, code)
	}
	if r.Error.Message == "" {
		t.Error("an error without a message")
	}
	return r
}

// wantResult checks a POST of one request that has a result.
func (a answer) wantResult(t testing.TB) map[string]any {
	t.Helper()
	r := a.reply(t)
	if a.status != http.StatusOK || r.Result == nil {
		t.Fatalf("got %d %.300s, want a result", a.status, a.body)
	}
	return r.Result
}

// raw sends a POST without net/http's client, which does not send every host.
func (r *request) raw() answer {
	r.t.Helper()
	conn := must.Get(net.Dial("tcp", r.s.Listener.Addr().String()))(r.t)
	defer conn.Close()
	fmt.Fprintf(conn, "%s /mcp HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n", r.method, r.host, len(r.body))
	must.Do(r.t, r.header.Write(conn))
	fmt.Fprintf(conn, "\r\n%s", r.body)
	resp := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(r.t)
	defer resp.Body.Close()
	body := must.Get(io.ReadAll(resp.Body))(r.t)
	return answer{resp.StatusCode, resp.Header, string(body)}
}
