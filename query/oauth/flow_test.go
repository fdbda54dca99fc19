package oauth_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// The whole flow of a client that was never seen before.
func TestFlow(t *testing.T) { // OAUTH-01a, OAUTH-01b, OAUTH-01c, OAUTH-02, OAUTH-03b, OAUTH-03c, OPEN-13
	w := open(t)
	b := w.browser()
	base := w.cfg.BaseURL

	resource := b.get("/.well-known/oauth-protected-resource/mcp").json(t)
	if resource["resource"] != base+"/mcp" || !cmp.Equal(resource["authorization_servers"], []any{base}) {
		t.Fatalf("resource metadata: %v", resource)
	}
	server := b.get("/.well-known/oauth-authorization-server").json(t)
	for name, path := range map[string]string{
		"authorization_endpoint": "/oauth/authorize", "token_endpoint": "/oauth/token",
		"registration_endpoint": "/oauth/register", "revocation_endpoint": "/oauth/revoke",
	} {
		if server[name] != base+path {
			t.Errorf("%s: %v", name, server[name])
		}
	}

	a := w.app()
	login := a.authorize(b).wantPage(t, 200, "login")
	consent := b.login(login, " Reader@Example.com ").wantPage(t, 200, "consent")
	for _, want := range []string{"Claude Code", "127.0.0.1:7777", "Reader@Example.com"} {
		if !strings.Contains(consent.body, want) {
			t.Errorf("the consent page does not show %q: %s", want, consent.body)
		}
	}
	for _, h := range []http.Header{login.Header, consent.Header} { // checklist 18
		if !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") || h.Get("Cache-Control") != "no-store" {
			t.Errorf("headers of a page: %v", h)
		}
	}
	link := must.Get(url.Parse("/oauth/authorize"))(t)
	link = must.Get(link.Parse(first(regexp.MustCompile(`href="([^"]*)"`), login.body)))(t)
	if style := b.get(link.RequestURI()); style.StatusCode != 200 || style.Header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("style: %d %v", style.StatusCode, style.Header)
	}
	allowed := b.decide(consent, "allow")
	answer := allowed.redirect(t, callback)
	if h := allowed.Header; h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("headers of the answer: %v", h)
	}
	if answer.Get("state") != "a state & more" || answer.Get("iss") != base || answer.Get("code") == "" || len(answer) != 3 { // checklist 15
		t.Fatalf("answer: %v", answer)
	}

	r := a.redeem(answer.Get("code"))
	got := r.tokens(t)
	if got.Type != "Bearer" || got.Expires != 24*3600 || got.Scope != "mcp offline_access" || got.Refresh == "" {
		t.Errorf("tokens: %s", r.body)
	}
	if r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Content-Type") != "application/json" { // checklist 17
		t.Errorf("headers: %v", r.Header)
	}
	token := must.Get(w.auth.Verify(got.Access, base+"/mcp"))(t)
	if token.Account != reader || token.Client != a.id || !slices.Equal(token.Scopes, []string{"mcp", "offline_access"}) || token.Session == "" {
		t.Errorf("token: %+v", token)
	}
	if _, err := w.auth.Verify(got.Access, auth.RESTAudience); err == nil { // AUTH-06
		t.Error("it is a REST token too")
	}

	w.clock.advance(20 * time.Hour)
	next := a.refresh(got.Refresh).tokens(t)
	if next.Refresh == got.Refresh || next.Refresh == "" || next.Scope != "mcp offline_access" { // checklist 14: rotated
		t.Errorf("refreshed: %+v", next)
	}
	w.wantAlive(next)
	w.wantAlive(got) // until it expires by itself

	revoke := w.post("/oauth/revoke", "application/x-www-form-urlencoded", "token="+next.Refresh+"&client_id="+a.id)
	if revoke.StatusCode != 200 || revoke.body != "" {
		t.Errorf("revoke: %d %s", revoke.StatusCode, revoke.body)
	}
	w.wantEnded(next, a)
	w.wantEnded(got, a)
}

// Without offline_access there is no refresh token (OAUTH-01c).
func TestFlowWithoutRefresh(t *testing.T) {
	a := open(t).app()
	a.scope = ""
	if got := a.signIn(); got.Refresh != "" || got.Scope != "mcp" {
		t.Errorf("tokens: %+v", got)
	}
}
