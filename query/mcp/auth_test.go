package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

const (
	ping     = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	metadata = `resource_metadata="https://prices.example.test/.well-known/oauth-protected-resource/mcp"`
)

// MCP-08, MCP-09, choices 56: a client that is not admitted is told where to
// get a token, before a byte of the body is read.
func TestTokens(t *testing.T) {
	s := serve(t)
	missing := `Bearer ` + metadata + `, scope="mcp offline_access"`
	invalid := missing + `, error="invalid_token"`
	scope := `Bearer error="insufficient_scope", scope="mcp offline_access", ` + metadata
	good := s.token()
	revoked := s.token(func(g *auth.Grant) { g.Session = "session-2" })
	must.Do(t, s.auth.RevokeSession(t.Context(), "session-2", time.Now().Add(time.Hour)))
	for name, c := range map[string]struct {
		header    []string
		status    int
		challenge string
	}{
		"none":                  {nil, 401, missing},
		"empty":                 {[]string{""}, 401, missing},
		"Basic":                 {[]string{"Basic dTpw"}, 401, missing},
		"the token alone":       {[]string{good}, 401, missing},
		"two":                   {[]string{"Bearer " + good, "Bearer " + good}, 401, missing},
		"garbage":               {[]string{"Bearer garbage"}, 401, invalid},
		"edited":                {[]string{"Bearer " + good + "A"}, 401, invalid},
		"expired":               {[]string{"Bearer " + s.token(func(g *auth.Grant) { g.Lifetime = -time.Minute })}, 401, invalid},
		"revoked":               {[]string{"Bearer " + revoked}, 401, invalid},
		"of REST":               {[]string{"Bearer " + s.token(func(g *auth.Grant) { g.Audience, g.Scopes = auth.RESTAudience, nil })}, 401, invalid},
		"for another resource":  {[]string{"Bearer " + s.token(func(g *auth.Grant) { g.Audience = "https://other.example.test/mcp" })}, 401, invalid},
		"without a scope":       {[]string{"Bearer " + s.token(func(g *auth.Grant) { g.Scopes = nil })}, 403, scope},
		"of another scope":      {[]string{"Bearer " + s.token(func(g *auth.Grant) { g.Scopes = []string{"mcp2", "offline_access"} })}, 403, scope},
		"of more than one":      {[]string{"Bearer " + s.token(func(g *auth.Grant) { g.Scopes = []string{"offline_access", "mcp"} })}, 200, ""},
		"in another case":       {[]string{"bearer " + good}, 200, ""},
		"with blanks around it": {[]string{"Bearer  " + good + " "}, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, body := range []string{ping, "{", "[]"} {
				if c.status == http.StatusOK && body != ping {
					continue
				}
				r := s.request(body)
				if r.header.Del("Authorization"); c.header != nil {
					r.header["Authorization"] = c.header
				}
				a := r.send()
				if a.header.Get("WWW-Authenticate") != c.challenge {
					t.Errorf("challenge %q, want %q", a.header.Get("WWW-Authenticate"), c.challenge)
				}
				if c.status == http.StatusOK {
					a.wantResult(t)
				} else if got := a.wantError(t, c.status, c.status); string(got.ID) != "null" {
					t.Errorf("id %s", got.ID)
				}
			}
		})
	}
}

// A token is accepted only in the header: checklist 34.
func TestTokenInTheQuery(t *testing.T) {
	s := serve(t)
	req := must.Get(http.NewRequest(http.MethodPost, s.URL+"/mcp?access_token="+s.token(), strings.NewReader(ping)))(t)
	req.Host = "prices.example.test"
	req.Header.Set("Content-Type", "application/json")
	resp := must.Get(s.Client().Do(req))(t)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// A token that may have been revoked is not accepted.
func TestRevocationsAway(t *testing.T) {
	s := serve(t)
	s.revoked.mu.Lock()
	s.revoked.away = true
	s.revoked.mu.Unlock()
	a := s.post(ping)
	a.wantError(t, http.StatusServiceUnavailable, http.StatusServiceUnavailable)
	if a.header.Get("Retry-After") != "3" || strings.Contains(a.body, "secret") || a.header.Get("WWW-Authenticate") != "" {
		t.Errorf("%v %s", a.header, a.body)
	}
	if !strings.Contains(s.log.String(), "secret: no revocations") {
		t.Error("not logged")
	}
}

// Guesses of tokens are counted by the client's address; behind trusted
// proxies, by the address that they name.
func TestThrottleOfNobody(t *testing.T) {
	s := serve(t, func(set *settings) {
		set.throttle.Reads = auth.Rate{Requests: 2, Per: time.Minute}
		set.mcp.TrustedProxies = auth.Proxies{netip.MustParsePrefix("127.0.0.0/8")}
	})
	try := func(address string) answer {
		return s.request(ping).with("Authorization", "Bearer guess").with("X-Forwarded-For", address).send()
	}
	for range 2 {
		try("203.0.113.1").wantError(t, 401, 401)
	}
	a := try("203.0.113.1")
	a.wantError(t, 429, 429)
	wantRetryAfter(t, a)
	try("203.0.113.2").wantError(t, 401, 401)
	s.request(ping).with("X-Forwarded-For", "203.0.113.1").send().wantResult(t) // an account is counted separately
}

func wantRetryAfter(t testing.TB, a answer) {
	t.Helper()
	if n, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || n < 1 || n > 60 {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
}

// Each request counts as one read of the account, and so does a POST without
// any.
func TestThrottleOfAnAccount(t *testing.T) {
	limit := func(n int) func(*settings) {
		return func(set *settings) { set.throttle.Reads = auth.Rate{Requests: n, Per: time.Minute} }
	}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`
	for _, c := range []struct{ name, body string }{
		{"request", ping},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`},
		{"unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no"}}`},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
		{"nonsense", `{`},
		{"batch of notifications", `[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, limit(1))
			if a := s.post(c.body); a.status == 429 {
				t.Fatal(a.body)
			}
			a := s.post(ping)
			a.wantError(t, 429, 429)
			wantRetryAfter(t, a)
			s.post(`{`).wantError(t, 429, 429)
			s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).wantError(t, 429, 429)
			for _, r := range []*request{s.request(call), s.modern("tools/call", "echo", `"name":"echo"`)} {
				a = r.send()
				wantProblem(t, a.wantResult(t), 429, "RATE_LIMIT_EXCEEDED")
				wantRetryAfter(t, a)
			}
			equals.Slices(t, nil, s.calls.noted(), "tools ran")
			other := s.token(func(g *auth.Grant) { g.Account = contracts.AccountID(8) })
			s.request(ping).with("Authorization", "Bearer "+other).send().wantResult(t)
		})
	}
	t.Run("batch", func(t *testing.T) {
		s := serve(t, limit(2))
		a := s.post(`[` + call + `,{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":2,"method":"ping"},` +
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}},{"jsonrpc":"2.0","id":4,"method":"ping"}]`)
		all := a.replies(t)
		if a.status != http.StatusOK || len(all) != 4 || all[0].Result == nil || all[1].Result == nil || all[3].Error == nil || all[3].Error.Code != 429 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		wantProblem(t, all[2].Result, 429, "RATE_LIMIT_EXCEEDED")
		if ran := s.calls.noted(); len(ran) != 1 {
			t.Errorf("tools ran: %v", ran)
		}
	})
}

// Heavy tools use the account's places for heavy reads.
func TestHeavyTools(t *testing.T) {
	s := serve(t, func(set *settings) {
		set.throttle.HeavyAtOnce = 1
		for i := range set.catalogue.Tools {
			set.catalogue.Tools[i].Heavy = set.catalogue.Tools[i].Descriptor.Name != "echo"
		}
	})
	r := s.legacy("tools/call", `"name":"waits"`)
	ctx, cancel := context.WithCancel(t.Context())
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/mcp", strings.NewReader(r.body)))(t)
	req.Header, req.Host = r.header, r.host
	go func() {
		if resp, err := s.Client().Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	<-s.calls.began
	a := s.legacy("tools/call", `"name":"missing"`).send()
	wantProblem(t, a.wantResult(t), 429, "RATE_LIMIT_EXCEEDED")
	if a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	s.legacy("tools/call", `"name":"echo"`).send().wantResult(t)
	cancel()
	<-s.calls.left
	for range 3 { // the place is free again, and a panic frees it too
		wantProblem(t, s.legacy("tools/call", `"name":"panics"`).send().wantResult(t), 500, "INTERNAL_ERROR")
	}
}

// Checklist 32: pages of other origins cannot call.
func TestOrigins(t *testing.T) {
	s := serve(t, func(set *settings) { set.mcp.AllowedOrigins = []string{"https://agent.example.test:8443"} })
	for _, origin := range []string{"https://prices.example.test", "https://prices.example.test:443", "https://PRICES.example.test", "https://agent.example.test:8443"} {
		s.request(ping).with("Origin", origin).send().wantResult(t)
	}
	for _, origin := range []string{
		"null", "", "https://evil.example.test", "http://prices.example.test", "https://prices.example.test:8443", "https://prices.example.test.evil.test",
		"https://agent.example.test", "prices.example.test", "https://u@prices.example.test", "https://prices.example.test/", "https://prices.example.test,https://evil.example.test", "%",
	} {
		s.request(ping).with("Origin", origin).send().wantError(t, http.StatusForbidden, http.StatusForbidden)
	}
	twice(s.request(ping).with("Origin", "https://prices.example.test"), "Origin").send().wantResult(t)
	r := s.request(ping)
	r.header["Origin"] = []string{"https://prices.example.test", "https://evil.example.test"}
	r.without("Authorization").send().wantError(t, http.StatusForbidden, http.StatusForbidden)
}

// Checklist 32: a foreign name that was pointed at us is refused.
func TestHosts(t *testing.T) {
	for base, c := range map[string]struct{ good, bad []string }{
		"https://prices.example.test": {
			[]string{"prices.example.test", "Prices.Example.Test", "prices.example.test:443", "prices.example.test:18443", "prices.example.test."},
			[]string{"", "evil.test", "127.0.0.1", "localhost:8080", "prices.example.test.evil.test", "evil.prices.example.test"},
		},
		"http://localhost:8080": {
			[]string{"localhost:8080", "localhost", "127.0.0.1:8080", "127.0.0.1:41234", "[::1]:8080", "127.8.9.1", "[::ffff:127.0.0.1]:1"},
			[]string{"evil.test:8080", "10.0.0.1:8080", "localhost.evil.test", "0.0.0.0:8080"},
		},
		"http://[::1]:8080/app": {[]string{"[::1]:8080", "localhost:8080"}, []string{"[::2]:8080", "evil.test"}},
	} {
		s := serve(t, func(set *settings) { set.mcp.BaseURL = base })
		try := func(host string) answer {
			r := s.request(ping).with("Authorization", "Bearer "+s.token(func(g *auth.Grant) { g.Audience = base + "/mcp" }))
			r.host = host
			return r.raw()
		}
		for _, host := range c.good {
			if a := try(host); a.status != http.StatusOK {
				t.Errorf("%s: %q is refused: %s", base, host, a.body)
			}
		}
		for _, host := range c.bad {
			if a := try(host); a.status != http.StatusForbidden {
				t.Errorf("%s: %q is let in: %d", base, host, a.status)
			}
		}
	}
}

// The edge's own headers stay; no one else may store answers.
func TestHeaders(t *testing.T) {
	s := serve(t)
	for _, a := range []answer{s.post(ping), s.post(`{`), s.request(ping).without("Authorization").send()} {
		if a.header.Get("X-Request-Id") != "request-1" || a.header.Get("Cache-Control") != "no-store" || a.header.Get("Content-Length") != strconv.Itoa(len(a.body)) || a.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%v", a.header)
		}
		if !json.Valid([]byte(a.body)) || strings.ContainsAny(a.body, "\n\t") {
			t.Errorf("not compact: %s", a.body)
		}
	}
}
