package rest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
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
	if got.TokenType != "Bearer" || got.ExpiresIn != 14400 { // AUTH-T3, AUTH-T5, LIM-12
		t.Errorf("got %+v", got)
	}
	payload := must.Get(base64.RawURLEncoding.DecodeString(strings.Split(got.AccessToken, ".")[1]))(t)
	var claims struct{ Iat, Exp int64 }
	must.Do(t, json.Unmarshal(payload, &claims))
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
		strings.Repeat("[", 60_000), strings.Repeat(`{"a":`, 10_000), `{"loginIdentifier":` + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000) + `,"password":"x"}`,
		`{"loginIdentifier":1e999,"password":"x"}`, `{"loginIdentifier":NaN,"password":"x"}`, `{"loginIdentifier":"\ud800","password":1}`,
		`{"loginIdentifier":"a","password":"x"}` + "\x00", "\ufeff" + `{"loginIdentifier":"a","password":"x"}`, `{"loginIdentifier":"a","password":"x"}{"a":"b"}`,
		`{"__proto__":"a","loginIdentifier":"a","password":"x"}`,
	} {
		p := s.postLogin(body).wantProblem(t, 400, "MVP_VALIDATION_ERROR") // ERR-01b
		if text := leaks.FindString(p.Detail); text != "" || len(p.Detail) > 500 {
			t.Errorf("%.40q: %q shows in %s", body, text, p.Detail)
		}
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
	s.do(s.request("GET", "/v1/sites", s.token(reader), strings.NewReader(`{"a":1}`))).is(t, 200)
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
		equals.Is(t, 1, s.auth.Hashes()-before, "%s hashes", login)
		if first.Response == nil {
			first = a
			continue
		}
		if !bytes.Equal(a.body, first.body) {
			t.Errorf("%s: %s, not %s", login, a.body, first.body)
		}
		equals.Checkf(t, alike(first.Header), alike(a.Header), "%s", login)
	}
}

func TestTokenThrottle(t *testing.T) {
	s := serve(t, trust("127.0.0.0/8"))
	attempt := func(login, pass, address string) answer {
		r := s.request("POST", "/v1/auth/token", "", strings.NewReader(`{"loginIdentifier":"`+login+`","password":"`+pass+`"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Forwarded-For", address)
		return s.do(r)
	}
	for i := range 10 { // from one address, which a success gives no new attempts
		login, pass, status := fmt.Sprintf("login%d@example.com", i), "x", 401
		if i == 8 {
			login, pass, status = "narrow@example.com", password, 200
		}
		a := attempt(login, pass, "192.0.2.1")
		if a.StatusCode != status {
			t.Errorf("%d %s", a.StatusCode, a.body)
		}
		if a.Header.Get("X-RateLimit-Limit") != "10" || a.Header.Get("X-RateLimit-Remaining") != strconv.Itoa(9-i) { // RATE-01, RATE-02a
			t.Errorf("attempt %d: %v", i, a.Header)
		}
	}
	a := attempt("reader@example.com", password, "192.0.2.1")
	a.wantProblem(t, 429, "RATE_LIMIT_EXCEEDED") // AUTH-T7g
	if a.Header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("%v", a.Header)
	}
	after, err := strconv.Atoi(a.Header.Get("Retry-After")) // RATE-03, ERR-10
	if err != nil || after < 55 || after > 60 {
		t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
	}
	for i := range 10 { // for one login
		attempt("Reader@example.com", "x", fmt.Sprintf("198.51.100.%d", i)).wantProblem(t, 401, "AUTH_CREDENTIALS_INVALID")
	}
	attempt("reader@example.com", "x", "203.0.113.9").wantProblem(t, 429, "RATE_LIMIT_EXCEEDED")
	s.clock.advance(time.Duration(after) * time.Second)
	if a := attempt("reader@example.com", password, "192.0.2.1"); a.StatusCode != 200 { // nobody is locked out
		t.Errorf("after the window: %d %s", a.StatusCode, a.body)
	}
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
		equals.Is(t, 400, attempt(s, "192.0.2.1"), "first")
		equals.Is(t, 429, attempt(s, "192.0.2.2"), "second")
	})
	t.Run("a client cannot add hops", func(t *testing.T) {
		s := serve(t, one, trust("127.0.0.0/8"))
		equals.Is(t, 400, attempt(s, "203.0.113.1", "192.0.2.1"), "first")
		equals.Is(t, 429, attempt(s, "203.0.113.2, 192.0.2.1"), "same client, other made-up hop")
		equals.Is(t, 400, attempt(s, "192.0.2.1", "203.0.113.3"), "other client")
	})
}
