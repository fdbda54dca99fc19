package oauth_test

import (
	"strconv"
	"strings"
	"testing"
)

// How other vendors' programs expect to be answered, one redirect URI of each
// form.
var programs = map[string][]string{
	"Claude Code": {"http://localhost:54213/callback"},
	"Claude":      {"https://claude.ai/api/mcp/auth_callback", "claude://oauth/callback"},
	"Cursor":      {"cursor://anysphere.cursor-mcp/oauth/callback", "http://localhost:8787/callback"},
	"VS Code":     {"https://vscode.dev/redirect", "http://127.0.0.1:33418/", "vscode://dynamicauthprovider/redirect", "vscode-insiders://dynamicauthprovider/redirect"},
	"Windsurf":    {"windsurf://codeium.windsurf/oauth/callback", "http://127.0.0.1:46273/callback"},
	"Zed":         {"http://127.0.0.1:33701/callback", "zed://mcp/oauth/callback"},
	"Kiro":        {"http://127.0.0.1:49153/oauth/callback", "kiro://kiro.mcp/oauth/callback"},
	"Goose":       {"http://127.0.0.1:52310/oauth_callback", "goose://oauth/callback"},
}

// OAUTH-03b, OAUTH-04: each is registered and answered, those with a scheme of
// their own only if it is configured.
func TestPrograms(t *testing.T) {
	w := open(t, func(s *settings) {
		s.oauth.Schemes = []string{"claude", "cursor", "goose", "kiro", "vscode", "vscode-insiders", "windsurf", "zed"}
	})
	bare := open(t)
	for name, uris := range programs {
		for _, uri := range uris {
			metadata := `{"client_name":` + strconv.Quote(name) + `,"redirect_uris":[` + strconv.Quote(uri) + `]}`
			a := w.app()
			a.redirect = uri
			a.id, _ = w.register(metadata).json(t)["client_id"].(string)
			if page := a.authorize(w.browser()); page.StatusCode != 200 || page.page() != "login" {
				t.Errorf("%s: %s: %d %s", name, uri, page.StatusCode, page.body)
			}
			own := !strings.HasPrefix(uri, "http")
			if r := bare.register(metadata); (r.StatusCode != 201) != own {
				t.Errorf("%s: %s without configuration: %d", name, uri, r.StatusCode)
			}
		}
	}
}

// A refused registration says which of its URIs it is, and why.
func TestRegistrationNamesTheURI(t *testing.T) {
	w := open(t)
	for name, c := range map[string]struct{ uris, want string }{
		"another computer": {`"https://app.example/cb","http://app.example/cb"`, `redirect_uris: "http://app.example/cb": http to a host that is not`},
		"a scheme":         {`"http://127.0.0.1/cb","myapp:/cb"`, `redirect_uris: "myapp:/cb": a scheme that is neither`},
		"no plain text":    {`"https://app.example/\u202e\n"`, `redirect_uris: "https://app.example/\u202e\n": a character`},
		"long":             {`"https://app.example/` + strings.Repeat("x", 1100) + `"`, `redirect_uris: "https://app.example/` + strings.Repeat("x", 180) + `"…: longer than 1024 bytes`},
		"web":              {`"https://a.example/","http://localhost/cb"],"application_type":"web","x":["y"`, `redirect_uris: "http://localhost/cb": those of a web application`},
	} {
		r := w.register(`{"redirect_uris":[` + c.uris + `]}`)
		r.wantError(t, 400, "invalid_redirect_uri")
		if text, _ := r.json(t)["error_description"].(string); !strings.HasPrefix(text, c.want) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// Clients that name the resource more than once, each time the right one, get
// their token (RFC 8707, section 2); a client that names another resource gets
// none.
func TestResources(t *testing.T) {
	w := open(t)
	a := w.app()
	b := w.browser()
	also := func(text, resource string) string { return text + "&resource=" + resource }
	page := b.get(also("/oauth/authorize?"+a.query().Encode(), strings.Replace(a.resource, "http", "HTTP", 1))).wantPage(t, 200, "login")
	code := b.decide(b.login(page, "reader@example.com").wantPage(t, 200, "consent"), "allow").redirect(t, a.redirect).Get("code")
	const media = "application/x-www-form-urlencoded"
	w.post("/oauth/token", media, also(a.exchange(code).Encode(), "https://other.example/mcp")).wantError(t, 400, "invalid_target")
	code = a.code()
	got := w.post("/oauth/token", media, also(also(a.exchange(code).Encode(), ""), a.resource)).tokens(t)
	w.wantAlive(got)
}
