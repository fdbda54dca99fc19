package oauth_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/deploy/testserver/effort"
)

// A code works only for the client that it was issued to, and with its
// verifier. A request that does not fit leaves the code usable (checklist 11,
// 13, 16).
func TestCodeIsBound(t *testing.T) { // OAUTH-01a
	w := open(t)
	a := w.app()
	another := w.register(`{"client_name":"Another","redirect_uris":["http://127.0.0.1/callback"]}`).json(t)["client_id"].(string)
	code := a.code()
	for name, c := range map[string]struct {
		change []string
		status int
		code   string
	}{
		"another verifier":  {[]string{"code_verifier", strings.Repeat("w", 43)}, 400, "invalid_grant"},
		"a short verifier":  {[]string{"code_verifier", "v"}, 400, "invalid_grant"},
		"the challenge":     {[]string{"code_verifier", a.query().Get("code_challenge")}, 400, "invalid_grant"},
		"no verifier":       {[]string{"code_verifier", ""}, 400, "invalid_request"},
		"another client":    {[]string{"client_id", another}, 400, "invalid_grant"},
		"no client":         {[]string{"client_id", ""}, 401, "invalid_client"},
		"unknown client":    {[]string{"client_id", "nobody"}, 401, "invalid_client"},
		"another redirect":  {[]string{"redirect_uri", "http://127.0.0.1:7778/callback"}, 400, "invalid_grant"},
		"another resource":  {[]string{"resource", "https://other.example/mcp"}, 400, "invalid_target"},
		"no resource":       {[]string{"resource", ""}, 400, "invalid_target"},
		"no code":           {[]string{"code", ""}, 400, "invalid_request"},
		"another code":      {[]string{"code", code[:22] + strings.Repeat("A", 43)}, 400, "invalid_grant"},
		"another grant":     {[]string{"code", strings.Repeat("A", 22) + code[22:]}, 400, "invalid_grant"},
		"a longer code":     {[]string{"code", code + "A"}, 400, "invalid_grant"},
		"a strange code":    {[]string{"code", strings.Repeat("é*>", 100)}, 400, "invalid_grant"},
		"a client secret":   {[]string{"client_secret", "x"}, 401, "invalid_client"},
		"no grant type":     {[]string{"grant_type", ""}, 400, "invalid_request"},
		"password grant":    {[]string{"grant_type", "password"}, 400, "unsupported_grant_type"},
		"a code to refresh": {[]string{"grant_type", "refresh_token", "refresh_token", code}, 400, "invalid_grant"},
	} {
		t.Run(name, func(t *testing.T) { a.redeem(code, c.change...).wantError(t, c.status, c.code) })
	}
	w.wantAlive(a.redeem(code).tokens(t)) // it survived all that

	// OAuth 2.1 clients send no redirect_uri here; one that named no resource needs none.
	b := w.browser()
	page := b.login(a.authorize(b, "resource", ""), "reader@example.com")
	code = b.decide(page, "allow").redirect(t, callback).Get("code")
	got := a.redeem(code, "redirect_uri", "", "resource", "").tokens(t)
	w.wantAlive(got)
}

// A second redemption revokes everything that came from the first (checklist
// 13).
func TestCodeTwice(t *testing.T) { // OAUTH-01a
	for name, change := range map[string][]string{"the same": nil, "a thief without verifier": {"code_verifier", strings.Repeat("w", 43)}} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			a := w.app()
			code := a.code()
			got := a.redeem(code).tokens(t)
			next := a.refresh(got.Refresh).tokens(t)
			w.wantAlive(got)
			w.clock.advance(10 * time.Minute) // the code's own lifetime is over
			a.redeem(code, change...).wantError(t, 400, "invalid_grant")
			w.wantEnded(next, a)
			w.wantEnded(got, a)
			a.redeem(code).wantError(t, 400, "invalid_grant")
		})
	}
}

func TestCodeRace(t *testing.T) { // checklist 13
	w := open(t)
	a := w.app()
	for range effort.Often(2, 5) {
		code := a.code()
		var mu sync.Mutex
		var won []tokens
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				r := a.redeem(code)
				mu.Lock()
				defer mu.Unlock()
				if r.StatusCode == 200 {
					won = append(won, r.tokens(t))
					return
				}
				r.wantError(t, 400, "invalid_grant")
			})
		}
		all.Wait()
		if len(won) != 1 {
			t.Fatalf("%d of 50 redeemed one code", len(won))
		}
		w.wantEnded(won[0], a) // the others were second redemptions
	}
}

func TestCodeExpires(t *testing.T) { // checklist 13
	w := open(t)
	a := w.app()
	code := a.code()
	w.clock.advance(58 * time.Second)
	w.wantAlive(a.redeem(code).tokens(t))
	code = a.code()
	w.clock.advance(60 * time.Second)
	a.redeem(code).wantError(t, 400, "invalid_grant")
}

// An unused code leaves nothing behind, by the server's own clock.
func TestCodeIsForgotten(t *testing.T) {
	w := open(t, func(s *settings) { s.oauth.CodeLifetime = time.Second })
	a := w.app()
	a.code()
	for start := time.Now(); w.keys("grant.>") != 0; time.Sleep(20 * time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("%d grants are left", w.keys("grant.>"))
		}
	}
}

// The token endpoint takes forms and nothing else (RFC 6749, section 3.2).
func TestTokenForm(t *testing.T) {
	w := open(t)
	a := w.app()
	code := a.code()
	form := "application/x-www-form-urlencoded"
	body := a.exchange(code).Encode()
	w.post("/oauth/token", "application/json", `{}`).wantError(t, 400, "invalid_request")
	w.post("/oauth/token", form, body+"&code=x").wantError(t, 400, "invalid_request")
	w.post("/oauth/token", form, body+"&%zz").wantError(t, 400, "invalid_request")
	w.post("/oauth/token", form, strings.Repeat("x", 70<<10)).wantError(t, 413, "invalid_request")
	w.post("/oauth/token?"+body, form, "").wantError(t, 401, "invalid_client") // checklist 6: not from the URL
	r := w.post("/oauth/token", form, body, func(r *http.Request) { r.SetBasicAuth(a.id, "x") })
	r.wantError(t, 401, "invalid_client")
	if !strings.HasPrefix(r.Header.Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("WWW-Authenticate: %q", r.Header.Get("WWW-Authenticate"))
	}
	w.wantAlive(w.post("/oauth/token", form+"; charset=utf-8", body).tokens(t))
}
