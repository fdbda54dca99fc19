package oauth_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The response to a registration says what the client got (RFC 7591, section
// 3.2.1), which may be less than it requested.
func TestRegister(t *testing.T) { // OAUTH-03b, checklist 19
	w := open(t)
	for name, c := range map[string]struct {
		body, name, kind string
		redirects        []any
	}{
		"least":           {`{"redirect_uris":["https://app.example/cb"]}`, "", "web", []any{"https://app.example/cb"}},
		"local":           {`{"redirect_uris":["http://localhost:3118/callback"],"client_name":"Claude Code (preismon)"}`, "Claude Code (preismon)", "native", []any{"http://localhost:3118/callback"}},
		"native by word":  {`{"redirect_uris":["https://app.example/cb"],"application_type":"native"}`, "", "native", []any{"https://app.example/cb"}},
		"asks for secret": {`{"redirect_uris":["https://app.example/cb"],"token_endpoint_auth_method":"client_secret_post","grant_types":["authorization_code"],"scope":"openid"}`, "", "web", []any{"https://app.example/cb"}},
		"hidden letters":  {"{\"redirect_uris\":[\"https://app.example/cb\"],\"client_name\":\" a\\u202e\\u200bb\\n<b>\"}", "ab <b>", "web", []any{"https://app.example/cb"}},
		"several": {
			`{"redirect_uris":["https://vscode.dev/redirect","http://127.0.0.1:33418/","http://127.0.0.1/","http://127.0.0.1/","com.example.app:/cb"],
			"client_name":"Visual Studio Code","logo_uri":"http://169.254.169.254/","jwks_uri":"http://169.254.169.254/","unknown":{"x":[1]},"client_uri":null}`,
			"Visual Studio Code", "native",
			[]any{"com.example.app:/cb", "http://127.0.0.1/", "http://127.0.0.1:33418/", "https://vscode.dev/redirect"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.register(c.body)
			if r.StatusCode != 201 || r.Header.Get("Cache-Control") != "no-store" {
				t.Fatalf("%d %s", r.StatusCode, r.body)
			}
			got := r.json(t)
			id, _ := got["client_id"].(string)
			delete(got, "client_id")
			want := map[string]any{
				"redirect_uris": c.redirects, "application_type": c.kind, "token_endpoint_auth_method": "none",
				"grant_types": []any{"authorization_code", "refresh_token"}, "response_types": []any{"code"}, "scope": "mcp offline_access",
			}
			if c.name != "" {
				want["client_name"] = c.name
			}
			if diff := cmp.Diff(want, got); diff != "" || len(id) < 40 {
				t.Error(diff)
			}
			if again := w.register(c.body).json(t)["client_id"]; again != id { // nothing to flood, nothing to prune
				t.Errorf("another id: %s, %s", again, id)
			}
		})
	}
	if w.docs.fetched != 0 {
		t.Error("a URL was fetched")
	}
	id := func(body string) any { return w.register(body).json(t)["client_id"] }
	if id(`{"redirect_uris":["https://a.example/","https://b.example/"]}`) != id(`{"redirect_uris":["https://b.example/","https://a.example/"]}`) {
		t.Error("the order of redirect URIs makes another client")
	}
	if id(`{"redirect_uris":["https://a.example/"]}`) == id(`{"redirect_uris":["https://a.example/"],"client_name":"x"}`) {
		t.Error("two clients have one id")
	}
}

func TestRegisterRefused(t *testing.T) { // checklist 12, 19
	w := open(t)
	uris := func(n int, path string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"https://app.example/%d%s"`, i, path))
		}
		return strings.Join(all, ",")
	}
	for name, c := range map[string]struct{ body, code string }{
		"no JSON":             {`{`, "invalid_client_metadata"},
		"no object":           {`[]`, "invalid_client_metadata"},
		"another type":        {`{"redirect_uris":"https://app.example/cb"}`, "invalid_client_metadata"},
		"two values":          {`{"redirect_uris":["https://app.example/cb"]}{}`, "invalid_client_metadata"},
		"no redirects":        {`{"client_name":"x"}`, "invalid_redirect_uri"},
		"empty redirects":     {`{"redirect_uris":[]}`, "invalid_redirect_uri"},
		"eleven redirects":    {`{"redirect_uris":[` + uris(11, "") + `]}`, "invalid_redirect_uri"},
		"a long redirect":     {`{"redirect_uris":["https://app.example/` + strings.Repeat("x", 1100) + `"]}`, "invalid_redirect_uri"},
		"long together":       {`{"redirect_uris":[` + uris(10, strings.Repeat("x", 500)) + `]}`, "invalid_client_metadata"},
		"http":                {`{"redirect_uris":["http://app.example/cb"]}`, "invalid_redirect_uri"},
		"a script":            {`{"redirect_uris":["javascript:alert(1)"]}`, "invalid_redirect_uri"},
		"a wildcard":          {`{"redirect_uris":["https://*.example/cb"]}`, "invalid_redirect_uri"},
		"a fragment":          {`{"redirect_uris":["https://app.example/cb#x"]}`, "invalid_redirect_uri"},
		"a user":              {`{"redirect_uris":["https://u@app.example/cb"]}`, "invalid_redirect_uri"},
		"dots":                {`{"redirect_uris":["https://app.example/a/../cb"]}`, "invalid_redirect_uri"},
		"one good, one bad":   {`{"redirect_uris":["https://app.example/cb","http://app.example/cb"]}`, "invalid_redirect_uri"},
		"web on loopback":     {`{"redirect_uris":["http://localhost/cb"],"application_type":"web"}`, "invalid_redirect_uri"},
		"web on https local":  {`{"redirect_uris":["https://localhost/cb"],"application_type":"web"}`, "invalid_redirect_uri"},
		"unknown application": {`{"redirect_uris":["https://app.example/cb"],"application_type":"desktop"}`, "invalid_client_metadata"},
		"implicit":            {`{"redirect_uris":["https://app.example/cb"],"response_types":["token"]}`, "invalid_client_metadata"},
		"client credentials":  {`{"redirect_uris":["https://app.example/cb"],"grant_types":["client_credentials"]}`, "invalid_client_metadata"},
		"a key":               {`{"redirect_uris":["https://app.example/cb"],"token_endpoint_auth_method":"private_key_jwt"}`, "invalid_client_metadata"},
	} {
		t.Run(name, func(t *testing.T) { w.register(c.body).wantError(t, 400, c.code) })
	}
	w.register(`{"redirect_uris":["https://app.example/cb"],"client_name":"`+strings.Repeat("x", 17<<10)+`"}`).wantError(t, 413, "invalid_request")
	w.post("/oauth/register", "text/plain", `{"redirect_uris":["https://app.example/cb"]}`).wantError(t, 400, "invalid_client_metadata")
}

// Each address has a limited number of registrations and calls (checklist 19).
func TestThrottle(t *testing.T) {
	w := open(t, func(s *settings) { s.throttle.Reads.Requests = 2 })
	for range 2 {
		w.register(`{"redirect_uris":["https://app.example/cb"]}`)
	}
	for _, r := range []reply{
		w.register(`{"redirect_uris":["https://app.example/cb"]}`),
		w.post("/oauth/token", "application/x-www-form-urlencoded", "grant_type=x"),
		w.post("/oauth/revoke", "application/x-www-form-urlencoded", "token=x"),
	} {
		r.wantError(t, 429, "temporarily_unavailable")
		if r.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	w.browser().get("/oauth/authorize").wantPage(t, 429, "problem")
}

// The largest client that can be registered gets through the whole flow,
// including its id and tokens.
func TestLargestClient(t *testing.T) {
	w := open(t)
	var uris []string
	for i := range 10 {
		uris = append(uris, fmt.Sprintf(`"https://app.example/%d%s"`, i, strings.Repeat("x", 270)))
	}
	a := w.app()
	r := w.register(`{"client_name":"` + strings.Repeat("ü", 60) + `","redirect_uris":["http://127.0.0.1/callback",` + strings.Join(uris[1:], ",") + `]}`)
	a.id = r.json(t)["client_id"].(string)
	if len(a.id) < 3<<10 {
		t.Errorf("not that large: %d", len(a.id))
	}
	w.wantAlive(a.refresh(a.signIn().Refresh).tokens(t))
}
