package oauth_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query/oauth/clientdoc"
)

// A fault in the client or in its redirect URI is shown to the person: nothing
// is redirected (checklist 12).
func TestNoRedirectToStrangers(t *testing.T) { // OAUTH-04
	w := open(t)
	a := w.app()
	b := w.browser()
	tampered := a.id[:8] + "AAAA" + a.id[8:]
	for name, change := range map[string][]string{
		"no client":                  {"client_id", ""},
		"unknown client":             {"client_id", "nobody"},
		"tampered client":            {"client_id", tampered},
		"client without document":    {"client_id", "https://nobody.example/client.json"},
		"no redirect":                {"redirect_uri", ""},
		"another host":               {"redirect_uri", "https://evil.example/cb"},
		"a longer path":              {"redirect_uri", "https://app.example/cb/more"},
		"a query more":               {"redirect_uri", "https://app.example/cb?x=1"},
		"upper case":                 {"redirect_uri", "https://APP.example/cb"},
		"another port":               {"redirect_uri", "https://app.example:8443/cb"},
		"http":                       {"redirect_uri", "http://app.example/cb"},
		"a user":                     {"redirect_uri", "https://app.example@evil.example/cb"},
		"a user on loopback":         {"redirect_uri", "http://127.0.0.1:80@evil.example/callback"},
		"a fragment":                 {"redirect_uri", "https://app.example/cb#x"},
		"dots":                       {"redirect_uri", "https://app.example/cb/../cb"},
		"an escaped letter":          {"redirect_uri", "https://app.example/%63b"},
		"a backslash":                {"redirect_uri", `https://app.example\@evil.example/cb`},
		"a script":                   {"redirect_uri", "javascript:alert(1)"},
		"data":                       {"redirect_uri", "data:text/html,x"},
		"another loopback name":      {"redirect_uri", "http://localhost:7777/callback"},
		"a name like loopback":       {"redirect_uri", "http://127.0.0.1.evil.example/callback"},
		"another path on loopback":   {"redirect_uri", "http://127.0.0.1:7777/other"},
		"https on loopback":          {"redirect_uri", "https://127.0.0.1:7777/callback"},
		"loopback and a fragment":    {"redirect_uri", "http://127.0.0.1:7777/callback#x"},
		"loopback with a port of no": {"redirect_uri", "http://127.0.0.1:77777/callback"},
	} {
		t.Run(name, func(t *testing.T) {
			// the scope is wrong too: an error that would otherwise be
			// redirected
			r := a.authorize(b, append([]string{"scope", "nonsense"}, change...)...)
			if r.Header.Get("Location") != "" || r.StatusCode < 400 || r.StatusCode > 499 || r.page() != "problem" {
				t.Errorf("%d %s: %s", r.StatusCode, r.page(), r.body)
			}
		})
	}
	for _, twice := range []string{"client_id=" + url.QueryEscape(a.id), "redirect_uri=" + url.QueryEscape(a.redirect)} {
		if r := b.get("/oauth/authorize?" + a.query().Encode() + "&" + twice); r.StatusCode != 400 || r.page() != "problem" {
			t.Errorf("%s twice: %d %s", twice[:9], r.StatusCode, r.page())
		}
	}
	if r := b.get("/oauth/authorize?" + a.query("state", strings.Repeat("s", 20<<10)).Encode()); r.StatusCode != 400 || r.page() != "problem" {
		t.Errorf("a long request: %d %s", r.StatusCode, r.page())
	}
}

// Any port is accepted on the user's own computer (OAUTH-04, checklist 12).
func TestLoopbackPorts(t *testing.T) {
	w := open(t)
	a := w.app()
	r := w.register(`{"redirect_uris":["http://localhost/cb?x=1","http://[::1]:3000/cb","http://127.0.0.1","com.example.app:/cb","https://web.example/cb?x=1"]}`)
	wide := *a
	wide.id = r.json(t)["client_id"].(string)
	for _, c := range []struct {
		app      *app
		redirect string
	}{
		{a, "http://127.0.0.1/callback"},
		{a, "http://127.0.0.1:1/callback"},
		{a, "http://127.0.0.1:65535/callback"},
		{a, "https://app.example/cb"},
		{&wide, "http://localhost:5/cb?x=1"},
		{&wide, "http://[::1]/cb"},
		{&wide, "http://[::1]:9/cb"},
		{&wide, "http://127.0.0.1:9"},
		{&wide, "com.example.app:/cb"},
		{&wide, "https://web.example/cb?x=1"},
	} {
		b := w.browser()
		page := c.app.authorize(b, "redirect_uri", c.redirect).wantPage(t, 200, "login")
		consent := b.login(page, "reader@example.com")
		if u, _ := url.Parse(c.redirect); c.app == &wide && u.Host != "" && !strings.Contains(consent.body, `<bdi class="name">`+u.Host+`</bdi>`) {
			t.Errorf("a client without a name is not called by its host: %s", consent.body)
		}
		answer := b.decide(consent, "allow")
		to := answer.Header.Get("Location")
		joint := "?"
		if strings.Contains(c.redirect, "?") {
			joint = "&"
		}
		if answer.StatusCode != 303 || !strings.HasPrefix(to, c.redirect+joint+"code=") {
			t.Errorf("%s: %d %s", c.redirect, answer.StatusCode, to)
		}
	}
}

// Every other fault is reported to the client, with its state and the issuer
// (RFC 9207).
func TestAuthorizeErrors(t *testing.T) { // checklist 11, 15, 16, 18; OAUTH-01a, OAUTH-01b
	w := open(t)
	a := w.app()
	b := w.browser()
	base := w.cfg.BaseURL
	for name, c := range map[string]struct {
		change []string
		code   string
	}{
		"no PKCE":                 {[]string{"code_challenge", "", "code_challenge_method", ""}, "invalid_request"},
		"PKCE without its method": {[]string{"code_challenge_method", ""}, "invalid_request"},
		"plain":                   {[]string{"code_challenge_method", "plain"}, "invalid_request"},
		"method in lower case":    {[]string{"code_challenge_method", "s256"}, "invalid_request"},
		"a short challenge":       {[]string{"code_challenge", strings.Repeat("c", 42)}, "invalid_request"},
		"a padded challenge":      {[]string{"code_challenge", strings.Repeat("c", 43) + "="}, "invalid_request"},
		"no response type":        {[]string{"response_type", ""}, "invalid_request"},
		"implicit":                {[]string{"response_type", "token"}, "unsupported_response_type"},
		"hybrid":                  {[]string{"response_type", "code id_token"}, "unsupported_response_type"},
		"fragment":                {[]string{"response_mode", "fragment"}, "invalid_request"},
		"unknown scope":           {[]string{"scope", "mcp admin"}, "invalid_scope"},
		"only offline":            {[]string{"scope", "offline_access"}, "invalid_scope"},
		"two blanks":              {[]string{"scope", "mcp  offline_access"}, "invalid_scope"},
		"another resource":        {[]string{"resource", "https://other.example/mcp"}, "invalid_target"},
		"a resource above":        {[]string{"resource", base}, "invalid_target"},
		"a resource below":        {[]string{"resource", base + "/mcp/x"}, "invalid_target"},
		"a resource, slash":       {[]string{"resource", base + "/mcp/"}, "invalid_target"},
		"a resource, fragment":    {[]string{"resource", base + "/mcp#x"}, "invalid_target"},
		"a resource, query":       {[]string{"resource", base + "/mcp?x"}, "invalid_target"},
		"prompt none":             {[]string{"prompt", "none"}, "login_required"},
		"prompt none and more":    {[]string{"prompt", "none login"}, "invalid_request"},
		"request":                 {[]string{"request", "a.b.c"}, "request_not_supported"},
		"request_uri":             {[]string{"request_uri", "https://evil.example/r"}, "request_uri_not_supported"},
	} {
		t.Run(name, func(t *testing.T) {
			v := a.authorize(b, c.change...).redirect(t, callback)
			if v.Get("error") != c.code || v.Get("state") != "a state & more" || v.Get("iss") != base || v.Get("error_description") == "" || v.Has("code") {
				t.Errorf("%v; want %s", v, c.code)
			}
		})
	}
	for _, twice := range []string{"scope=mcp", "code_challenge=x", "unknown=1&unknown=2"} {
		v := b.get("/oauth/authorize?"+a.query().Encode()+"&"+twice).redirect(t, callback)
		if v.Get("error") != "invalid_request" || v.Get("state") != "a state & more" {
			t.Errorf("%s: %v", twice, v)
		}
	}
	if v := b.get("/oauth/authorize?"+a.query().Encode()+"&resource=x").redirect(t, callback); v.Get("error") != "invalid_target" {
		t.Errorf("a resource that is not ours, after ours: %v", v)
	}
	if v := b.get("/oauth/authorize?"+a.query().Encode()+"&state=x").redirect(t, callback); v.Get("error") != "invalid_request" || v.Has("state") {
		t.Errorf("two states: %v", v)
	}
	for name, change := range map[string][]string{
		"no state": {"state", ""}, "no scope": {"scope", ""}, "no resource": {"resource", ""}, "scope twice in one": {"scope", "mcp mcp"},
		"upper-case resource": {"resource", strings.Replace(a.resource, "http", "HTTP", 1)}, "login, consent": {"prompt", "login consent"},
		"an unknown parameter": {"nonce", "x"}, "mode": {"response_mode", "query"},
	} {
		if r := a.authorize(b, change...); r.StatusCode != 200 || r.page() != "login" {
			t.Errorf("%s: %d %s", name, r.StatusCode, r.page())
		}
	}
}

// Clients send the resource as their parser of URLs writes it, whatever the
// operator typed.
func TestResourceIsOurs(t *testing.T) { // OAUTH-02
	for base, c := range map[string]struct {
		resource string
		ours     bool
	}{
		"https://Prices.example.com":      {"https://prices.example.com/mcp", true},
		"https://prices.example.com:443":  {"https://prices.example.com/mcp", true},
		"HTTPS://Prices.example.com:443":  {"HTTPS://PRICES.example.com:443/mcp", true},
		"https://prices.example.com":      {"https://prices.example.com:443/mcp", true},
		"https://prices.example.com:80":   {"https://prices.example.com/mcp", false},
		"https://prices.example.com:8443": {"https://prices.example.com/mcp", false},
		"https://prices.example.com/Api":  {"https://prices.example.com/api/mcp", false},
		"http://localhost":                {"http://LOCALHOST:80/mcp", true},
		"http://[::1]:80":                 {"http://[::1]/mcp", true},
	} {
		w := open(t, func(s *settings) { s.tls, s.oauth.BaseURL = strings.EqualFold(base[:5], "https"), base })
		r := w.app().authorize(w.browser(), "resource", c.resource)
		if ours := r.StatusCode == 200 && r.page() == "login"; ours != c.ours {
			t.Errorf("%s is the resource of %s: %v (status %d)", c.resource, base, ours, r.StatusCode)
		}
		for _, cookie := range r.Cookies() {
			if cookie.Secure != (w.TLS != nil) {
				t.Errorf("%s: cookie %s, secure %v", base, cookie.Name, cookie.Secure)
			}
		}
	}
}

// A wrong request by a client on the web redirects no one: otherwise anyone who
// registers a client could make a link to us into one to a page of theirs,
// without a page of ours in between (RFC 9700, section 4.11.2). A person who
// has logged in and decided is redirected.
func TestNoErrorRedirectToTheWeb(t *testing.T) {
	w := open(t)
	registered := w.app() // both addresses are registered
	registered.redirect = "https://app.example/cb"
	document := *registered
	document.id = "https://app.example/oauth/client.json"
	w.docs.put(document.id, clientdoc.Document{Host: "app.example", Name: "App", RedirectURIs: []string{registered.redirect}})
	for _, a := range []*app{registered, &document} {
		b := w.browser()
		for code, change := range map[string][]string{
			"invalid_scope":             {"scope", "nonsense"},
			"login_required":            {"prompt", "none"},
			"unsupported_response_type": {"response_type", "token"},
			"invalid_target":            {"resource", "https://other.example/mcp"},
			"invalid_request":           {"code_challenge", ""},
		} {
			r := a.authorize(b, change...).wantPage(t, 400, "problem")
			if r.Header.Get("Location") != "" || !strings.Contains(r.body, code) || strings.Contains(r.body, "app.example") {
				t.Errorf("%s: %v %s", code, r.Header, r.body)
			}
		}
		page := b.login(a.authorize(b), "reader@example.com")
		if v := b.decide(page, "deny").redirect(t, a.redirect); v.Get("error") != "access_denied" {
			t.Errorf("denied: %v", v)
		}
	}
}

// The answer carries exactly the state that was sent, or none.
func TestState(t *testing.T) {
	w := open(t)
	a := w.app()
	for _, state := range []string{"", "x", "a+b c%20&iss=evil&code=1#f", "ünï\x00\n", strings.Repeat("s", 2000)} {
		b := w.browser()
		page := b.login(a.authorize(b, "state", state), "reader@example.com")
		for _, decision := range []string{"allow", "deny"} {
			v := b.decide(page, decision).redirect(t, callback)
			if got := v["state"]; state == "" && got != nil || state != "" && (len(got) != 1 || got[0] != state) {
				t.Errorf("%s: state %q, not %q", decision, got, state)
			}
			if v.Get("iss") != w.cfg.BaseURL {
				t.Errorf("iss: %q", v["iss"])
			}
			if decision == "allow" { // the cookie is gone by now
				b = w.browser()
				page = b.login(a.authorize(b, "state", state), "reader@example.com")
			}
		}
	}
}

// A client whose id is the URL of its document (checklist 20 is tested in that
// package).
func TestClientIDMetadataDocument(t *testing.T) {
	const id = "https://app.example/oauth/client.json"
	w := open(t)
	w.docs.put(id, clientdoc.Document{Host: "app.example", Name: "App", RedirectURIs: []string{"http://localhost/cb"}})
	a := w.app()
	a.id, a.redirect = id, "http://localhost:7000/cb"
	b := w.browser()
	page := a.consentPage(b)
	if !strings.Contains(page.body, "app.example") {
		t.Errorf("who vouches is not shown: %s", page.body)
	}
	fetched := w.docs.fetched
	got := a.redeem(b.decide(page, "allow").redirect(t, a.redirect).Get("code")).tokens(t)
	w.wantAlive(a.refresh(got.Refresh).tokens(t))
	if w.docs.fetched != fetched {
		t.Error("the document was fetched for a token")
	}
	a.authorize(b, "redirect_uri", "http://localhost:7000/other").wantPage(t, 400, "problem")
}

// A document that is unavailable is reported as such, with advice to try again.
func TestDocumentAway(t *testing.T) {
	w := open(t)
	a := w.app()
	w.docs.down(&fault.Error{Kind: fault.Unavailable, Msg: "Away."})
	r := a.authorize(w.browser(), "client_id", "https://app.example/c.json").wantPage(t, 503, "problem")
	if r.Header.Get("Retry-After") == "" || !strings.Contains(r.body, "cannot be checked") {
		t.Errorf("%v %s", r.Header, r.body)
	}
}

// Only these paths and methods are served; forms from other origins are
// refused.
func TestMethods(t *testing.T) {
	w := open(t)
	for path, allow := range map[string]string{
		"/oauth/authorize": "GET, HEAD", "/oauth/authorize/login": "POST", "/oauth/authorize/consent": "POST",
		"/oauth/token": "OPTIONS, POST", "/oauth/register": "OPTIONS, POST", "/oauth/revoke": "OPTIONS, POST",
		"/.well-known/oauth-authorization-server": "GET, HEAD, OPTIONS", "/.well-known/oauth-protected-resource/mcp": "GET, HEAD, OPTIONS",
	} {
		if !slices.Contains(w.oauth.Paths(), path) {
			t.Errorf("%s is not served", path)
		}
		r := must.Get(http.NewRequest("DELETE", w.URL+path, nil))(t)
		r.Header.Set("Origin", "https://page.example")
		got := w.browser().do(r)
		open := strings.Contains(allow, "OPTIONS")
		if got.StatusCode != 405 || got.Header.Get("Allow") != allow || (got.Header.Get("Access-Control-Allow-Origin") == "*") != open {
			t.Errorf("%s: %d %v", path, got.StatusCode, got.Header)
		}
		r = must.Get(http.NewRequest("OPTIONS", w.URL+path, nil))(t)
		got = w.browser().do(r)
		if open != (got.StatusCode == 204) || open != (got.Header.Get("Access-Control-Allow-Methods") == allow) {
			t.Errorf("%s: preflight: %d %v", path, got.StatusCode, got.Header)
		}
		if got.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: credentials of other origins", path)
		}
	}
	if got := w.browser().get("/oauth/other"); got.StatusCode != 404 || slices.Contains(w.oauth.Paths(), "/oauth/other") {
		t.Errorf("another path: %d", got.StatusCode)
	}
}
