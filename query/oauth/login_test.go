package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// The reason of a failed login is not shown: unknown, wrong, administrative and
// disabled look the same (AUTH-04, checklist 8, 10).
func TestLoginRefused(t *testing.T) {
	w := open(t)
	a := w.app()
	w.accounts.set(other, &query.Access{Account: other, Disabled: true})
	var bodies []string
	for name, c := range map[string][2]string{
		"unknown": {"nobody@example.com", password}, "wrong": {"reader@example.com", "wrong"},
		"administrative": {"admin@example.com", password}, "disabled": {"other@example.com", password},
	} {
		b := w.browser()
		page := a.authorize(b)
		r := b.submit(page, url.Values{"loginIdentifier": {c[0]}, "password": {c[1]}})
		if r.StatusCode != 403 || r.page() != "login" {
			t.Errorf("%s: %d %s", name, r.StatusCode, r.page())
		}
		body := strings.NewReplacer(c[0], "LOGIN", first(hiddenForm, r.body), "SEALED").Replace(r.body)
		bodies = append(bodies, body)
		if body != bodies[0] {
			t.Errorf("%s: another page: %s\n%s", name, body, bodies[0])
		}
		// and it may be tried again
		if name == "wrong" {
			b.login(r, "reader@example.com").wantPage(t, 200, "consent")
		}
	}
	b := w.browser()
	for _, login := range []string{"", strings.Repeat("l", 300)} {
		r := b.submit(a.authorize(b), url.Values{"loginIdentifier": {login}, "password": {password}})
		r.wantPage(t, 403, "login")
	}
	b.submit(a.authorize(b), url.Values{"loginIdentifier": {"reader@example.com"}}).wantPage(t, 403, "login")
}

func TestLoginThrottled(t *testing.T) { // checklist 9
	w := open(t, func(s *settings) { s.throttle.Attempts.Requests = 3 })
	a := w.app()
	b := w.browser()
	page := a.authorize(b)
	for range 3 {
		page = b.submit(page, url.Values{"loginIdentifier": {"reader@example.com"}, "password": {"wrong"}}).wantPage(t, 403, "login")
	}
	r := b.login(page, "reader@example.com").wantPage(t, 429, "login")
	if r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	w.clock.advance(61 * time.Second)
	b.login(r, "reader@example.com").wantPage(t, 200, "consent")
}

// A page belongs to one browser, one step and ten minutes (checklist 10, 18).
func TestTransaction(t *testing.T) {
	w := open(t)
	a := w.app()
	login := func(b *browser, page reply) reply { return b.login(page, "reader@example.com") }

	t.Run("another browser", func(t *testing.T) {
		mine, theirs := w.browser(), w.browser()
		page := a.authorize(mine)
		a.authorize(theirs)
		login(theirs, page).wantPage(t, 400, "other browser")
		consent := login(mine, page).wantPage(t, 200, "consent")
		a.consentPage(theirs) // having another consent page does not help
		theirs.decide(consent, "allow").wantPage(t, 400, "other browser")
		theirs.decide(consent, "deny").wantPage(t, 400, "other browser")
		if v := mine.decide(consent, "allow").redirect(t, callback); v.Get("code") == "" {
			t.Error("its own browser is refused")
		}
	})
	t.Run("the cookie changes at login", func(t *testing.T) {
		b := w.browser()
		page := a.authorize(b)
		login(b, page).wantPage(t, 200, "consent")
		login(b, page).wantPage(t, 400, "expired")
	})
	t.Run("too late, with a wrong password between", func(t *testing.T) {
		b := w.browser()
		page := a.authorize(b)
		w.clock.advance(6 * time.Minute)
		again := b.submit(page, url.Values{"loginIdentifier": {"reader@example.com"}, "password": {"wrong"}}).wantPage(t, 403, "login")
		w.clock.advance(4 * time.Minute)
		login(b, again).wantPage(t, 400, "expired")
	})
	t.Run("too late", func(t *testing.T) {
		b := w.browser()
		page := a.authorize(b)
		w.clock.advance(9*time.Minute + 58*time.Second)
		consent := login(b, page).wantPage(t, 200, "consent")
		w.clock.advance(10 * time.Minute)
		b.decide(consent, "allow").wantPage(t, 400, "expired")
		b = w.browser()
		page = a.authorize(b)
		w.clock.advance(10 * time.Minute)
		login(b, page).wantPage(t, 400, "expired")
	})
	t.Run("a login page is no consent page", func(t *testing.T) {
		b := w.browser()
		page := a.authorize(b)
		page.body = strings.Replace(page.body, "/authorize/login", "/authorize/consent", 1)
		b.decide(page, "allow").wantPage(t, 400, "expired")
		consent := a.consentPage(b)
		consent.body = strings.Replace(consent.body, "/authorize/consent", "/authorize/login", 1)
		login(b, consent).wantPage(t, 400, "expired")
	})
	t.Run("tampered", func(t *testing.T) {
		b := w.browser()
		consent := a.consentPage(b)
		sealed := first(hiddenForm, consent.body)
		for _, bad := range []string{"", "x", sealed[:len(sealed)-4], "AAAA" + sealed[4:], sealed + "AAAA"} {
			b.submit(consent, url.Values{"decision": {"allow"}, "transaction": {bad}}).wantPage(t, 400, "expired")
		}
	})
	t.Run("no decision", func(t *testing.T) {
		b := w.browser()
		b.decide(a.consentPage(b), "").wantPage(t, 400, "problem")
	})
	t.Run("two at once", func(t *testing.T) { // two clients that begin together
		b := w.browser()
		one, two := a.authorize(b), a.authorize(b)
		one, two = login(b, one).wantPage(t, 200, "consent"), login(b, two).wantPage(t, 200, "consent")
		for _, page := range []reply{one, two} {
			if b.decide(page, "allow").redirect(t, callback).Get("code") == "" {
				t.Error("no code")
			}
		}
	})
	t.Run("switch account", func(t *testing.T) {
		b := w.browser()
		consent := a.consentPage(b)
		page := b.decide(consent, "switch").wantPage(t, 200, "login")
		b.decide(consent, "allow").wantPage(t, 400, "expired") // the earlier one
		consent = b.login(page, "other@example.com").wantPage(t, 200, "consent")
		got := a.redeem(b.decide(consent, "allow").redirect(t, callback).Get("code")).tokens(t)
		token := must.Get(w.auth.Verify(got.Access, a.resource))(t)
		if token.Account != other {
			t.Errorf("tokens of %d", token.Account)
		}
	})
	t.Run("deny", func(t *testing.T) { // OAUTH-03c
		b := w.browser()
		v := b.decide(a.consentPage(b), "deny").redirect(t, callback)
		if v.Get("error") != "access_denied" || v.Get("iss") != w.cfg.BaseURL || v.Get("state") == "" || v.Has("code") {
			t.Errorf("denied: %v", v)
		}
	})
}

// Forms from other sites are refused, whatever they know (checklist 10).
func TestCrossSite(t *testing.T) {
	w := open(t)
	a := w.app()
	for name, change := range map[string]func(*http.Request){
		"cross-site":     func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"same-site":      func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"another origin": func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "https://evil.example") },
	} {
		b := w.browser()
		consent := a.consentPage(b)
		for _, decision := range []string{"allow", "deny"} {
			r := b.submit(consent, url.Values{"decision": {decision}}, change)
			if r.StatusCode != 400 || r.page() != "problem" {
				t.Errorf("%s: consent: %d %s", name, r.StatusCode, r.page())
			}
		}
		page := a.authorize(b)
		r := b.submit(page, url.Values{"loginIdentifier": {"reader@example.com"}, "password": {password}}, change)
		if r.StatusCode != 400 || r.page() != "problem" {
			t.Errorf("%s: login: %d %s", name, r.StatusCode, r.page())
		}
	}
	// an older browser, behind a proxy that changed the host
	b := w.browser()
	r := b.submit(a.consentPage(b), url.Values{"decision": {"allow"}}, func(r *http.Request) {
		r.Header.Del("Sec-Fetch-Site")
		r.Header.Set("Origin", w.cfg.BaseURL)
		for _, c := range b.c.Jar.Cookies(r.URL) {
			r.AddCookie(c)
		}
		r.Host = "internal:8080"
	})
	if r.redirect(t, callback).Get("code") == "" {
		t.Error("our own origin is refused")
	}
}

// One consent yields one code, however often its form is sent.
func TestConsentOnce(t *testing.T) {
	w := open(t)
	a := w.app()
	b := w.browser()
	consent := a.consentPage(b)
	cookies := b.c.Jar
	u, _ := url.Parse(w.URL)
	kept := cookies.Cookies(u)
	var mu sync.Mutex
	codes := 0
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			twin := w.browser()
			twin.c.Jar.SetCookies(u, kept)
			r := twin.decide(consent, "allow")
			mu.Lock()
			defer mu.Unlock()
			switch {
			case r.StatusCode == 303:
				codes++
			case r.StatusCode != 400 || r.page() != "expired":
				t.Errorf("%d %s", r.StatusCode, r.page())
			}
		})
	}
	all.Wait()
	if codes != 1 {
		t.Errorf("%d codes", codes)
	}
}

// An account that is gone by the time of its consent gets nothing.
func TestConsentOfAnEndedAccount(t *testing.T) { // AUTH-04
	w := open(t)
	a := w.app()
	for name, access := range map[string]*query.Access{
		"gone": nil, "disabled": {Account: reader, Disabled: true}, "administrative": {Account: reader, Administrative: true},
	} {
		w.accounts.set(reader, &query.Access{Account: reader})
		b := w.browser()
		consent := a.consentPage(b)
		w.accounts.set(reader, access)
		if v := b.decide(consent, "allow").redirect(t, callback); v.Get("error") != "access_denied" {
			t.Errorf("%s: %v", name, v)
		}
	}
	w.accounts.set(reader, &query.Access{Account: reader})
	b := w.browser()
	consent := a.consentPage(b)
	w.accounts.fail(&fault.Error{Kind: fault.Unavailable})
	if r := b.decide(consent, "allow").wantPage(t, 503, "problem"); r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	w.accounts.fail(nil)
	if b.decide(consent, "allow").redirect(t, callback).Get("code") == "" { // the consent was not used up
		t.Error("no code")
	}
}

// The cookie is sent to our pages only; over TLS, its name is one that no other
// host can set. A browser never holds many of them (checklist 10).
func TestCookie(t *testing.T) {
	for _, tls := range []bool{false, true} {
		w := open(t, func(s *settings) { s.tls = tls })
		a := w.app()
		b := w.browser()
		r := a.authorize(b)
		all := r.Cookies()
		if len(all) != 1 {
			t.Fatalf("cookies: %v", all)
		}
		c := all[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 600 ||
			c.Secure != tls || strings.HasPrefix(c.Name, "__Host-") != tls || len(c.Value) < 22 {
			t.Errorf("tls %v: %s", tls, r.Header.Get("Set-Cookie"))
		}
		for range 30 {
			a.authorize(b)
		}
		u, _ := url.Parse(w.URL)
		if n := len(b.c.Jar.Cookies(u)); n > 10 {
			t.Errorf("%d cookies", n)
		}
		if b.decide(a.consentPage(b), "allow").redirect(t, callback).Get("code") == "" { // also over TLS
			t.Error("no code")
		}
	}
}
