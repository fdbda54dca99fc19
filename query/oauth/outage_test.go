package oauth_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/must"
)

// Without the bucket nothing is granted and nothing is refused permanently.
func TestOutage(t *testing.T) {
	cfg := embedded.NATSConfig{Dir: t.TempDir()}
	server := must.Get(embedded.StartNATS(t.Context(), cfg))(t)
	w := open(t, func(s *settings) { s.nats, s.oauth.Wait = server.URL(), 500*time.Millisecond })
	a := w.app()
	got := a.signIn()
	code := a.code()
	b := w.browser()
	consent := a.consentPage(b)

	w.nats.Close() // this node is cut off
	for what, r := range map[string]reply{"redeem": a.redeem(code), "refresh": a.refresh(got.Refresh), "revoke": a.revoke(got.Refresh)} {
		r.wantError(t, 503, "temporarily_unavailable")
		if r.Header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", what)
		}
	}
	r := b.decide(consent, "allow").wantPage(t, 503, "problem")
	if r.Header.Get("Retry-After") == "" {
		t.Error("consent: no Retry-After")
	}
	if !strings.Contains(w.log.String(), "oauth request failed") {
		t.Error("nothing is logged")
	}

	// on another node everything still works
	next := open(t, func(s *settings) { s.nats, s.oauth = server.URL(), w.cfg })
	twin := *a
	twin.w = next
	twin.redeem(code).tokens(t)
	twin.refresh(got.Refresh).tokens(t)
	must.Do(t, server.Stop(t.Context()))
}

// A session whose access tokens could not be revoked cannot be refreshed, and
// its next use revokes them.
func TestRevocationFails(t *testing.T) {
	w := open(t)
	a := w.app()
	for name, again := range map[string]func(got tokens){
		"refresh": func(got tokens) { a.refresh(got.Refresh).wantError(t, 400, "invalid_grant") },
		"revoke":  func(got tokens) { a.revoke(got.Refresh) },
	} {
		t.Run(name, func(t *testing.T) {
			got := a.signIn()
			next := a.refresh(got.Refresh).tokens(t)
			w.clock.advance(31 * time.Second)
			w.revoked.broken.Store(true)
			a.refresh(got.Refresh).wantError(t, 503, "temporarily_unavailable")
			a.refresh(next.Refresh).wantError(t, 503, "temporarily_unavailable")
			w.wantAlive(next)
			w.revoked.broken.Store(false)
			again(got)
			w.wantEnded(next, a)
		})
	}
}

// A thief who hangs up does not prevent the end of the session.
func TestReuseAndHangUp(t *testing.T) {
	w := open(t)
	a := w.app()
	got := a.signIn()
	next := a.refresh(got.Refresh).tokens(t)
	w.clock.advance(31 * time.Second)
	gone, cancel := context.WithCancel(t.Context())
	body := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {got.Refresh}, "client_id": {a.id}}.Encode()
	r := httptest.NewRequestWithContext(gone, "POST", "/oauth/token", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w.accounts.onAccess(cancel) // after the session was read, before it is ended
	w.oauth.ServeHTTP(httptest.NewRecorder(), r)
	w.accounts.onAccess(nil)
	w.wantEnded(next, a)
}

// A deleted bucket is recreated; its contents are gone.
func TestLostBucket(t *testing.T) {
	w := open(t, func(s *settings) { s.oauth.Wait = 500 * time.Millisecond })
	a := w.app()
	got := a.signIn()
	js := must.Get(jetstream.New(w.nats))(t)
	must.Do(t, js.DeleteStream(t.Context(), "KV_"+w.cfg.Bucket))
	a.refresh(got.Refresh).wantError(t, 503, "temporarily_unavailable")
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		r := a.refresh(got.Refresh)
		if r.StatusCode == 400 {
			r.wantError(t, 400, "invalid_grant")
			break
		}
		if time.Since(start) > 10*time.Second {
			t.Fatalf("%d %s", r.StatusCode, r.body)
		}
	}
	w.wantAlive(a.signIn())
}

// A NATS that has little room, or less than its streams reserve, serves logins
// and sessions all the same.
func TestLittleRoom(t *testing.T) {
	cfg := embedded.NATSConfig{Dir: t.TempDir(), MaxStore: 512 << 20}
	start := func() (*embedded.NATS, *world) {
		server := must.Get(embedded.StartNATS(t.Context(), cfg))(t)
		return server, open(t, func(s *settings) { s.nats, s.oauth.BaseURL = server.URL(), "http://127.0.0.1:8080" })
	}
	server, w := start()
	w.wantAlive(w.app().signIn())
	w.nats.Close()
	must.Do(t, server.Stop(t.Context()))

	cfg = embedded.NATSConfig{Dir: t.TempDir(), MaxStore: 4 << 30}
	server, w = start()
	a := w.app()
	got := a.signIn()
	js := must.Get(jetstream.New(w.nats))(t)
	stream := must.Get(js.Stream(t.Context(), "KV_"+w.cfg.Bucket))(t)
	large := stream.CachedInfo().Config
	large.MaxBytes = 1 << 30
	must.Get(js.UpdateStream(t.Context(), large))(t)
	w.nats.Close()
	must.Do(t, server.Stop(t.Context()))

	cfg.MaxStore = 512 << 20
	server, w = start()
	twin := *a
	twin.w = w
	twin.refresh(got.Refresh).tokens(t)
	w.nats.Close()
	must.Do(t, server.Stop(t.Context()))
}

// No secret is ever logged (checklist 6).
func TestLog(t *testing.T) {
	w := open(t)
	a := w.app()
	b := w.browser()
	a.authorize(b, "scope", "wrong")
	page := a.authorize(b)
	page = b.submit(page, url.Values{"loginIdentifier": {"reader@example.com"}, "password": {"wrong horse"}})
	consent := b.login(page, "reader@example.com")
	w.accounts.fail(errInternal)
	b.decide(consent, "allow").wantPage(t, 500, "problem")
	w.accounts.fail(nil)
	code := b.decide(consent, "allow").redirect(t, callback).Get("code")
	got := a.redeem(code).tokens(t)
	w.accounts.fail(errInternal)
	r := a.refresh(got.Refresh)
	r.wantError(t, 500, "server_error")
	if strings.Contains(r.body, errInternal.Error()) { // checklist 40
		t.Errorf("the cause is told: %s", r.body)
	}
	w.accounts.fail(nil)
	next := a.refresh(got.Refresh).tokens(t)
	a.revoke(next.Access)
	second := a.code()
	a.redeem(second).tokens(t)
	a.redeem(second).wantError(t, 400, "invalid_grant")

	log := w.log.String()
	for _, want := range []string{"oauth consent", "revoked by its client", "code used twice", errInternal.Error(), `"request_id":"test"`} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is not logged: %s", want, log)
		}
	}
	for what, secret := range map[string]string{
		"code": code[22:], "refresh token": got.Refresh[22:], "next refresh token": next.Refresh[22:], "access token": got.Access[60:],
		"password": password, "wrong password": "wrong horse", "verifier": a.verifier, "state": "a state", "session": code[:22],
		"transaction": first(hiddenForm, consent.body), "client secret": w.cfg.Key.Reveal(), "login": "reader@example.com",
	} {
		if strings.Contains(log, secret) {
			t.Errorf("the %s is logged", what)
		}
	}
}
