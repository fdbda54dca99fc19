package rest_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/fault"
	"preismon/deploy/testserver"
	"preismon/query/auth"
)

var readRoutes = []string{
	"/v1/sites", "/v1/items", "/v1/results", "/v1/results/stream",
	"/v1/items/asin-locales", "/v1/orders", "/v1/orders/5", "/v1/orders/5/observation-quality",
}

type tokenReply struct {
	TokenType, AccessToken string
	ExpiresIn              int
}

func TestToken(t *testing.T) {
	s := serve(t)
	a := s.login(" Reader@Example.com ", password)
	if a.StatusCode != 200 || a.Header.Get("Content-Type") != "application/json" || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v %s", a.StatusCode, a.Header, a.body) // AUTH-T7a
	}
	got := decode[tokenReply](t, a)
	if got.TokenType != "Bearer" || got.ExpiresIn != 14400 { // AUTH-T3, AUTH-T5
		t.Errorf("got %+v", got)
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(got.AccessToken, ".")[1])
	must(t, err)
	var claims struct{ Iat, Exp int64 }
	must(t, json.Unmarshal(payload, &claims))
	if claims.Exp-claims.Iat != 14400 { // AUTH-01b
		t.Errorf("lives %d s", claims.Exp-claims.Iat)
	}
	if a := s.get("/v1/sites", got.AccessToken); a.StatusCode != 200 { // AUTH-02, AUTH-S1a
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	for i := range got.AccessToken { // AUTH-T4
		if i%11 != 0 && i != len(got.AccessToken)-1 || got.AccessToken[i] == '.' {
			continue
		}
		other := byte('A')
		if got.AccessToken[i] == 'A' {
			other = 'B'
		}
		changed := got.AccessToken[:i] + string(other) + got.AccessToken[i+1:]
		s.get("/v1/sites", changed).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	}
	if strings.Contains(s.log.String(), got.AccessToken) || strings.Contains(s.log.String(), password) {
		t.Error("a secret is in the log")
	}
}

func TestTokenRequestIsStrict(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Attempts.Requests = 1000 })
	good := `{"loginIdentifier":"reader@example.com","password":"` + password + `"}`
	for _, body := range []string{
		`{"loginIdentifier":`, ``, `null`, `[]`, `"x"`, // AUTH-T7b
		`{"loginIdentifier":1,"password":[]}`, `{"loginIdentifier":"a","password":null}`, `{"loginIdentifier":{},"password":"b"}`, // AUTH-T7c
		`{"password":"b"}`, `{"loginIdentifier":"a"}`, `{}`, // AUTH-T1, AUTH-T2
		`{"loginIdentifier":"","password":"b"}`, `{"loginIdentifier":"a","password":""}`,
		`{"loginIdentifier":"a","password":"b","more":"c"}`,
		`{"loginIdentifier":"a","loginIdentifier":"b","password":"c"}`,
		`{"LoginIdentifier":"a","password":"c"}`,
		good + `{}`, good + `x`, `{"loginIdentifier":"a","password":"b",}`,
		"{\"loginIdentifier\":\"a\",\"password\":\"\xff\"}",
		`{"loginIdentifier":"` + strings.Repeat("a", 257) + `","password":"b"}`,
		`{"loginIdentifier":"a","password":"` + strings.Repeat("b", 1025) + `"}`,
	} {
		s.postLogin(body).wantProblem(t, 400, "MVP_VALIDATION_ERROR") // ERR-01b
	}
	for media, status := range map[string]int{ // AUTH-T7d
		"": 400, "text/plain": 400, "application/jsonx": 400, "application/x-www-form-urlencoded": 400,
		"application/json; charset=latin1": 400, "application/json; charset": 400,
		"application/json": 200, "application/json; charset=UTF-8": 200, "Application/JSON;charset=utf-8": 200,
	} {
		r := s.request("POST", "/v1/auth/token", "", strings.NewReader(good))
		if media != "" {
			r.Header.Set("Content-Type", media)
		}
		if a := s.do(r); a.StatusCode != status {
			t.Errorf("%q: %d, want %d: %s", media, a.StatusCode, status, a.body)
		} else if status != 200 {
			a.wantProblem(t, 400, "MVP_VALIDATION_ERROR")
		}
	}
	r := s.request("POST", "/v1/auth/token", "", strings.NewReader(good))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	s.do(r).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
}

func TestPayloadTooLarge(t *testing.T) {
	s := serve(t)
	big := bytes.Repeat([]byte("x"), 70_000)
	for name, c := range map[string]struct {
		method, path string
		body         io.Reader
		actual       int64
	}{ // AUTH-T7f, ERR-00b, ERR-09, ERR-F6, ERR-F7
		"announced":     {"POST", "/v1/auth/token", bytes.NewReader(big), 70_000},
		"chunked":       {"POST", "/v1/auth/token", io.MultiReader(bytes.NewReader(big)), 65_537},
		"logout":        {"POST", "/v1/auth/logout", bytes.NewReader(big), 70_000},
		"read":          {"GET", "/v1/sites", bytes.NewReader(big), 70_000},
		"read, chunked": {"GET", "/v1/results", io.MultiReader(bytes.NewReader(big)), 65_537},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.request(c.method, c.path, s.token(reader), c.body)
			r.Header.Set("Content-Type", "application/json")
			p := s.do(r).wantProblem(t, 413, "PAYLOAD_TOO_LARGE")
			if p.ActualBytes == nil || p.MaxBytes == nil || *p.ActualBytes != c.actual || *p.MaxBytes != 65_536 {
				t.Fatalf("sizes: %+v", p)
			}
			for _, n := range []int64{*p.ActualBytes, *p.MaxBytes} { // ERR-F9
				if !strings.Contains(p.Detail, strconv.FormatInt(n, 10)) {
					t.Errorf("detail lacks %d: %s", n, p.Detail)
				}
			}
		})
	}
	if a := s.do(s.request("GET", "/v1/sites", s.token(reader), strings.NewReader(`{"a":1}`))); a.StatusCode != 200 {
		t.Errorf("a small body without meaning: %d %s", a.StatusCode, a.body)
	}
}

func TestRefusedLoginsAreAlike(t *testing.T) {
	s := serve(t)
	var first answer
	for _, login := range []string{"reader@example.com", "nobody@example.com", "admin@example.com", "disabled@example.com"} { // AUTH-T7e, AUTH-04
		pw := password
		if login == "reader@example.com" {
			pw = "wrong"
		}
		before := s.auth.Hashes()
		a := s.login(login, pw)
		a.wantProblem(t, 401, "AUTH_CREDENTIALS_INVALID")
		if n := s.auth.Hashes() - before; n != 1 {
			t.Errorf("%s: %d hashes, want 1", login, n)
		}
		if first.Response == nil {
			first = a
			continue
		}
		if !bytes.Equal(a.body, first.body) {
			t.Errorf("%s: %s, not %s", login, a.body, first.body)
		}
		if diff := cmp.Diff(alike(first.Header), alike(a.Header)); diff != "" {
			t.Errorf("%s: %s", login, diff)
		}
	}
}

func TestTokenThrottle(t *testing.T) {
	s := serve(t, trust("127.0.0.0/8"))
	attempt := func(login, address string) answer {
		r := s.request("POST", "/v1/auth/token", "", strings.NewReader(`{"loginIdentifier":"`+login+`","password":"x"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Forwarded-For", address)
		return s.do(r)
	}
	for i := range 10 { // from one address
		a := attempt(fmt.Sprintf("login%d@example.com", i), "192.0.2.1")
		a.wantProblem(t, 401, "AUTH_CREDENTIALS_INVALID")
		if a.Header.Get("X-RateLimit-Limit") != "10" || a.Header.Get("X-RateLimit-Remaining") != strconv.Itoa(9-i) { // RATE-01, RATE-02a
			t.Errorf("attempt %d: %v", i, a.Header)
		}
	}
	a := attempt("reader@example.com", "192.0.2.1")
	a.wantProblem(t, 429, "RATE_LIMIT_EXCEEDED") // AUTH-T7g
	if a.Header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("%v", a.Header)
	}
	after, err := strconv.Atoi(a.Header.Get("Retry-After")) // RATE-03, ERR-10
	if err != nil || after < 55 || after > 60 {
		t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
	}
	for i := range 10 { // for one login
		attempt("Reader@example.com", fmt.Sprintf("198.51.100.%d", i)).wantProblem(t, 401, "AUTH_CREDENTIALS_INVALID")
	}
	attempt("reader@example.com", "203.0.113.9").wantProblem(t, 429, "RATE_LIMIT_EXCEEDED")
	s.clock.advance(time.Duration(after) * time.Second)
	attempt("reader@example.com", "192.0.2.1").wantProblem(t, 401, "AUTH_CREDENTIALS_INVALID")
}

func TestForwardedAddresses(t *testing.T) {
	attempt := func(s *surface, forwarded ...string) int {
		r := s.request("POST", "/v1/auth/token", "", strings.NewReader(`{}`))
		r.Header["X-Forwarded-For"] = forwarded
		return s.do(r).StatusCode
	}
	one := func(set *settings) { set.throttle.Attempts.Requests = 1 }
	t.Run("from strangers they mean nothing", func(t *testing.T) {
		s := serve(t, one)
		if got := attempt(s, "192.0.2.1"); got != 400 {
			t.Errorf("first: %d", got)
		}
		if got := attempt(s, "192.0.2.2"); got != 429 {
			t.Errorf("second: %d", got)
		}
	})
	t.Run("a client cannot add hops", func(t *testing.T) {
		s := serve(t, one, trust("127.0.0.0/8"))
		if got := attempt(s, "203.0.113.1", "192.0.2.1"); got != 400 {
			t.Errorf("first: %d", got)
		}
		if got := attempt(s, "203.0.113.2, 192.0.2.1"); got != 429 {
			t.Errorf("same client, other made-up hop: %d", got)
		}
		if got := attempt(s, "192.0.2.1", "203.0.113.3"); got != 400 {
			t.Errorf("other client: %d", got)
		}
	})
}

func TestDomainEndpointsNeedAToken(t *testing.T) {
	s := serve(t)
	expired, err := s.auth.Issue(auth.Grant{Account: reader, Audience: auth.RESTAudience, Lifetime: time.Second})
	must(t, err)
	mcp, err := s.auth.Issue(auth.Grant{Account: reader, Audience: baseURL + "/mcp", Lifetime: time.Hour})
	must(t, err)
	s.clock.advance(2 * time.Second)
	revoked := s.token(reader)
	if a := s.logout(revoked); a.StatusCode != 200 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	good := s.token(reader)
	type credentials struct {
		code   string
		values []string
	}
	for _, path := range readRoutes {
		var first []byte
		for name, c := range map[string]credentials{ // AUTH-E0, AUTH-02, ERR-05
			"none":         {"AUTH_TOKEN_INVALID", nil},
			"empty":        {"AUTH_TOKEN_INVALID", []string{"Bearer"}},
			"garbage":      {"AUTH_TOKEN_INVALID", []string{"Bearer garbage"}},
			"too large":    {"AUTH_TOKEN_INVALID", []string{"Bearer " + strings.Repeat("a", 9000)}},
			"expired":      {"AUTH_TOKEN_INVALID", []string{"Bearer " + expired.Token.Reveal()}},
			"revoked":      {"AUTH_TOKEN_INVALID", []string{"Bearer " + revoked}},            // AUTH-S1b
			"of MCP":       {"AUTH_TOKEN_INVALID", []string{"Bearer " + mcp.Token.Reveal()}}, // AUTH-06
			"twice":        {"AUTH_TOKEN_INVALID", []string{"Bearer " + good, "Bearer " + good}},
			"other scheme": {"AUTH_TOKEN_INVALID", []string{"Token " + good}},
			"Basic":        {"AUTH_SCHEME_NOT_ALLOWED", []string{"Basic cmVhZGVyOng="}}, // AUTH-03, ERR-04
			"basic":        {"AUTH_SCHEME_NOT_ALLOWED", []string{"basic cmVhZGVyOng="}},
		} {
			r := s.request("GET", path, "", nil)
			r.Header["Authorization"] = c.values
			a := s.do(r)
			a.wantProblem(t, 401, c.code)
			wantQuota(t, a)
			if c.code != "AUTH_TOKEN_INVALID" {
				continue
			}
			if first == nil {
				first = a.body
			}
			if !bytes.Equal(a.body, first) {
				t.Errorf("%s %s: %s, others %s", path, name, a.body, first)
			}
		}
		s.get(path+"?access_token="+good, "").wantProblem(t, 401, "AUTH_TOKEN_INVALID")
		r := s.request("GET", path, "", nil)
		r.Header.Set("Authorization", "bearer "+good)
		if a := s.do(r); a.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.body)
		}
	}
}

func TestLogout(t *testing.T) {
	s := serve(t)
	one, two := s.token(reader), s.token(reader)
	a := s.logout(one)
	if a.StatusCode != 200 || string(a.body) != `{"revoked":true}` { // AUTH-L0a, AUTH-L1, AUTH-T6
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	s.get("/v1/sites", one).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	s.logout(one).wantProblem(t, 401, "AUTH_TOKEN_INVALID") // AUTH-L2
	if a := s.get("/v1/sites", two); a.StatusCode != 200 {  // AUTH-05
		t.Errorf("another token: %d", a.StatusCode)
	}
	for _, bad := range []string{"", "garbage"} { // AUTH-L0c
		s.logout(bad).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	}
	r := s.request("POST", "/v1/auth/logout", "", nil)
	r.Header.Set("Authorization", "Basic cmVhZGVyOng=")
	s.do(r).wantProblem(t, 401, "AUTH_SCHEME_NOT_ALLOWED")

	mcp, err := s.auth.Issue(auth.Grant{Account: reader, Audience: baseURL + "/mcp", Lifetime: time.Hour})
	must(t, err)
	s.logout(mcp.Token.Reveal()).wantProblem(t, 400, "MVP_VALIDATION_ERROR") // AUTH-L0b, AUTH-06
	if _, err := s.auth.Verify(mcp.Token.Reveal(), baseURL+"/mcp"); err != nil {
		t.Errorf("the MCP token is gone: %v", err)
	}
	s.clock.advance(5 * time.Hour)
	s.logout(two).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	s.logout(mcp.Token.Reveal()).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
}

func TestLogoutOfATokenWithoutID(t *testing.T) { // AUTH-L3
	s := serve(t)
	now := s.clock.now()
	plain := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"iss": baseURL, "aud": auth.RESTAudience, "sub": "1", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	plain.Header["typ"] = "at+jwt"
	plain.Header["kid"] = auth.KeyID(s.key.Public().(ed25519.PublicKey))
	token, err := plain.SignedString(s.key)
	must(t, err)
	for range 2 {
		if a := s.logout(token); a.StatusCode != 200 || string(a.body) != `{"revoked":false}` {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
		if a := s.get("/v1/sites", token); a.StatusCode != 200 {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
	}
	s.clock.advance(time.Hour + time.Second)
	s.get("/v1/sites", token).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
}

func TestLogoutWithoutAStore(t *testing.T) {
	s := serve(t)
	token := s.token(reader)
	s.revoked.breakDown(errors.New("disk is full"), nil)
	s.logout(token).wantProblem(t, 500, "LOGOUT_REVOCATION_FAILED") // AUTH-L0d, ERR-11
	if a := s.get("/v1/sites", token); a.StatusCode != 200 {        // AUTH-L4
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	away := &fault.Error{Kind: fault.Unavailable, Msg: "Tokens cannot be checked.", RetryAfter: 5 * time.Second}
	s.revoked.breakDown(errors.New("disk is full"), away)
	s.logout(token).wantProblem(t, 500, "LOGOUT_REVOCATION_FAILED")
	a := s.get("/v1/sites", token)
	a.wantProblem(t, 503, "SERVICE_UNAVAILABLE") // fails closed
	if a.Header.Get("Retry-After") != "5" {
		t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
	}
	wantQuota(t, a)
	if !strings.Contains(s.log.String(), "disk is full") {
		t.Error("the cause is not in the log")
	}
}

// Two nodes share their revocations by NATS.
func TestLogoutOnAllNodes(t *testing.T) { // AUTH-L1, AUTH-L2, AUTH-S1b
	address := testserver.NATS(t)
	var key ed25519.PrivateKey
	node := func() *surface {
		nc, err := nats.Connect(address)
		must(t, err)
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		must(t, err)
		revoked, err := auth.NewRevokedTokens(auth.RevocationDefaults(), js, slog.New(slog.DiscardHandler), time.Now)
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- revoked.Run(ctx) }()
		t.Cleanup(func() { cancel(); <-ended })
		<-revoked.Ready()
		s := serve(t, func(set *settings) { set.revocations, set.key = revoked, key })
		key = s.key
		return s
	}
	one, two := node(), node()
	token := decode[tokenReply](t, one.login("reader@example.com", password)).AccessToken
	for _, s := range []*surface{one, two} {
		if a := s.get("/v1/sites", token); a.StatusCode != 200 {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
	}
	if a := one.logout(token); a.StatusCode != 200 || string(a.body) != `{"revoked":true}` {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	one.get("/v1/sites", token).wantProblem(t, 401, "AUTH_TOKEN_INVALID") // the very next request
	one.logout(token).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		a := two.get("/v1/sites", token)
		if a.StatusCode == 401 {
			break
		}
		if time.Since(start) > time.Second {
			t.Fatalf("the other node still answers with %d", a.StatusCode)
		}
	}
	two.logout(token).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
}

func TestForbidden(t *testing.T) { // AUTH-08
	s := serve(t)
	token := s.token(narrow)
	if a := s.get("/v1/sites", token); a.StatusCode != 200 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	for _, path := range readRoutes[1:] { // ERR-E1
		s.get(path, token).wantProblem(t, 403, "AUTH_FORBIDDEN")
	}
	for _, gone := range []string{s.token(99), s.token(admin)} { // no such account any more
		s.get("/v1/sites", gone).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	}
}

// wantQuota checks that an answer tells where its caller stands (RATE-02a).
func wantQuota(t testing.TB, a answer) {
	t.Helper()
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if _, err := strconv.ParseInt(a.Header.Get(name), 10, 64); err != nil {
			t.Errorf("%s %s %d: %s is %q", a.Request.Method, a.Request.URL.Path, a.StatusCode, name, a.Header.Get(name))
		}
	}
}

func TestReadThrottle(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 3 })
	token := s.token(reader)
	for i, path := range []string{"/v1/sites", "/v1/results?limit=x", "/v1/results/stream"} { // RATE-01, of one account together
		a := s.get(path, token)
		if a.Header.Get("X-RateLimit-Limit") != "3" || a.Header.Get("X-RateLimit-Remaining") != strconv.Itoa(2-i) {
			t.Errorf("%s: %v", path, a.Header)
		}
		reset, _ := strconv.ParseInt(a.Header.Get("X-RateLimit-Reset"), 10, 64)
		if left := time.Until(time.Unix(reset, 0)); left < 50*time.Second || left > 62*time.Second {
			t.Errorf("resets in %s", left)
		}
	}
	for _, path := range readRoutes {
		a := s.get(path, token)
		a.wantProblem(t, 429, "RATE_LIMIT_EXCEEDED")
		if after, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || after < 1 || a.Header.Get("X-RateLimit-Remaining") != "0" { // RATE-03
			t.Errorf("%v", a.Header)
		}
	}
	if a := s.get("/v1/sites", s.token(narrow)); a.StatusCode != 200 {
		t.Errorf("another account: %d", a.StatusCode)
	}
	for range 3 { // nobody's requests count for the address
		s.get("/v1/sites", "garbage").wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	}
	s.get("/v1/sites", "garbage").wantProblem(t, 429, "RATE_LIMIT_EXCEEDED")
	s.get("/v1/nothing", "").wantProblem(t, 429, "RATE_LIMIT_EXCEEDED")
	for range 10 { // RATE-02b
		if a := s.get("/healthz", ""); a.StatusCode != 200 || a.Header.Get("X-RateLimit-Limit") != "" {
			t.Fatalf("%d %v", a.StatusCode, a.Header)
		}
	}
	s.clock.advance(time.Minute)
	if a := s.get("/v1/sites", token); a.StatusCode != 200 { // ERR-10
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

func TestHeavyReads(t *testing.T) {
	s := serve(t)
	token := s.token(reader)
	hold := make(chan struct{})
	entered := make(chan struct{}, 16)
	s.store.each = func(n int) error {
		if n == 0 {
			entered <- struct{}{}
			<-hold
		}
		return nil
	}
	done := make(chan int, 8)
	for i := range 8 {
		go func() {
			r, _ := http.NewRequest("GET", s.URL+readRoutes[2+i%2], nil)
			r.Header.Set("Authorization", "Bearer "+token)
			resp, err := s.Client().Do(r)
			if err != nil {
				done <- 0
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			done <- resp.StatusCode
		}()
	}
	for range 8 {
		<-entered
	}
	for _, path := range []string{"/v1/results", "/v1/results/stream"} {
		a := s.get(path, token)
		a.wantProblem(t, 429, "RATE_LIMIT_EXCEEDED")
		if a.Header.Get("Retry-After") != "1" || !strings.HasSuffix(a.Header.Get("RateLimit"), `"heavy";r=0`) {
			t.Errorf("Retry-After %q, RateLimit %q", a.Header.Get("Retry-After"), a.Header.Get("RateLimit"))
		}
	}
	if a := s.get("/v1/sites", token); a.StatusCode != 200 {
		t.Errorf("a light read: %d", a.StatusCode)
	}
	close(hold)
	for range 8 {
		if got := <-done; got != 200 {
			t.Errorf("status %d", got)
		}
	}
	if a := s.get("/v1/results", token); a.StatusCode != 200 {
		t.Errorf("afterwards: %d %s", a.StatusCode, a.body)
	}
}
