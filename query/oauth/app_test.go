package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
)

// app is a client with its verifier.
type app struct {
	w        *world
	id       string
	redirect string
	scope    string
	verifier string
	resource string
}

func (w *world) register(metadata string) reply {
	w.t.Helper()
	return w.post("/oauth/register", "application/json", metadata)
}

func (w *world) post(path, media, body string, change ...func(*http.Request)) reply {
	w.t.Helper()
	r := must.Get(http.NewRequest("POST", w.URL+path, strings.NewReader(body)))(w.t)
	r.Header.Set("Content-Type", media)
	for _, f := range change {
		f(r)
	}
	return (&browser{w: w, c: w.Client()}).do(r)
}

// app registers a client at the callback.
func (w *world) app() *app {
	w.t.Helper()
	r := w.register(`{"client_name":"Claude Code","redirect_uris":["http://127.0.0.1/callback","https://app.example/cb"],"application_type":"native"}`)
	if r.StatusCode != http.StatusCreated {
		w.t.Fatalf("register: %d %s", r.StatusCode, r.body)
	}
	return &app{
		w: w, id: r.json(w.t)["client_id"].(string), redirect: callback, scope: "mcp offline_access",
		verifier: strings.Repeat("v", 43), resource: w.cfg.BaseURL + "/mcp",
	}
}

// query returns the parameters of the client's request; change holds pairs of
// name and value.
func (a *app) query(change ...string) url.Values {
	sum := sha256.Sum256([]byte(a.verifier))
	v := url.Values{
		"response_type": {"code"}, "client_id": {a.id}, "redirect_uri": {a.redirect}, "state": {"a state & more"}, "scope": {a.scope},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "resource": {a.resource},
	}
	for name, values := range v {
		if values[0] == "" {
			delete(v, name)
		}
	}
	return apply(v, change)
}

func apply(v url.Values, change []string) url.Values {
	for i := 0; i < len(change); i += 2 {
		if v.Set(change[i], change[i+1]); change[i+1] == "" {
			v.Del(change[i])
		}
	}
	return v
}

func (a *app) authorize(b *browser, change ...string) reply {
	a.w.t.Helper()
	return b.get("/oauth/authorize?" + a.query(change...).Encode())
}

// consentPage walks as far as the consent page.
func (a *app) consentPage(b *browser) reply {
	a.w.t.Helper()
	page := a.authorize(b).wantPage(a.w.t, 200, "login")
	return b.login(page, "reader@example.com").wantPage(a.w.t, 200, "consent")
}

// code walks the whole flow and returns the code.
func (a *app) code() string {
	a.w.t.Helper()
	b := a.w.browser()
	v := b.decide(a.consentPage(b), "allow").redirect(a.w.t, a.redirect)
	if v.Get("code") == "" {
		a.w.t.Fatalf("no code: %v", v)
	}
	return v.Get("code")
}

func (a *app) token(v url.Values) reply {
	a.w.t.Helper()
	return a.w.post("/oauth/token", "application/x-www-form-urlencoded", v.Encode())
}

func (a *app) exchange(code string, change ...string) url.Values {
	return apply(url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "client_id": {a.id}, "redirect_uri": {a.redirect},
		"code_verifier": {a.verifier}, "resource": {a.resource},
	}, change)
}

func (a *app) redeem(code string, change ...string) reply {
	a.w.t.Helper()
	return a.token(a.exchange(code, change...))
}

func (a *app) refresh(token string, change ...string) reply {
	a.w.t.Helper()
	return a.token(apply(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {a.id}}, change))
}

// tokens are the tokens of a token response.
type tokens struct {
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Expires int    `json:"expires_in"`
	Refresh string `json:"refresh_token"`
	Scope   string `json:"scope"`
}

func (r reply) tokens(t testing.TB) (got tokens) {
	t.Helper()
	if r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	must.Do(t, json.Unmarshal([]byte(r.body), &got))
	return got
}

// signIn walks the whole flow and returns the tokens.
func (a *app) signIn() tokens {
	a.w.t.Helper()
	return a.redeem(a.code()).tokens(a.w.t)
}

// accepted reports whether the resource accepts an access token.
func (w *world) accepted(access string) bool {
	w.t.Helper()
	_, err := w.auth.Verify(access, w.cfg.BaseURL+"/mcp")
	if err != nil && fault.KindOf(err) != fault.Unauthenticated {
		w.t.Fatal(err)
	}
	return err == nil
}

func (w *world) wantEnded(got tokens, a *app) {
	w.t.Helper()
	if w.accepted(got.Access) {
		w.t.Error("the access token is still accepted")
	}
	if got.Refresh != "" {
		a.refresh(got.Refresh).wantError(w.t, 400, "invalid_grant")
	}
}

func (w *world) wantAlive(got tokens) {
	w.t.Helper()
	if !w.accepted(got.Access) {
		w.t.Error("the access token is not accepted")
	}
}
