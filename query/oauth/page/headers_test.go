package page_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/oauth/page"
)

func TestLanguages(t *testing.T) {
	for accept, want := range map[string]string{
		"": "en", "en": "en", "de": "de", "de-AT": "de", "de-CH,de;q=0.9,en;q=0.8": "de", "en-GB,en;q=0.9,de;q=0.8": "en", "de;q=0.5,en;q=0.6": "en", "en;q=0.5, de": "de",
		"fr": "en", "fr,de;q=0.1": "de", "fr-FR, ja;q=0.5": "en", "*": "en", "de;q=0": "en", "de;q=0, en;q=0.1": "en", "gsw": "de", "zh-Hant-TW": "en",
		"nonsense!!": "en", ";;;": "en", "de\x00": "en", strings.Repeat("de,", 400): "en",
	} {
		w := render(t, page.Login{Form: form}, accept)
		equals.Is(t, want, w.Header().Get("Content-Language"), "%.40q", accept)
	}
	if got := render(t, page.Login{}, "fr", "de;q=0.9, en;q=0.8").Header().Get("Content-Language"); got != "de" { // a header in two lines
		t.Error(got)
	}
}

func TestHeaders(t *testing.T) {
	r := httptest.NewRequest("POST", "/oauth/authorize", nil)
	consent := func(redirect string) page.Page {
		return page.Consent{Form: form, ClientName: "x", RedirectURI: redirect, Account: "a", Scopes: []string{"mcp"}}
	}
	const closed = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'"
	for name, c := range map[string]struct {
		page   page.Page
		policy string
	}{
		"login":            {page.Login{Form: form}, closed + "; form-action 'self'"},
		"problem":          {page.Problem{Reason: page.Internal}, closed + "; form-action 'none'"},
		"to a website":     {consent("https://app.example.com:8443/cb?x=y"), closed},
		"to this computer": {consent("http://127.0.0.1:5000/cb;x"), closed + "; form-action 'self' http://127.0.0.1:5000 https:"},
		"to localhost":     {consent("http://localhost/cb"), closed + "; form-action 'self' http://localhost https:"},
		"to this, IPv6":    {consent("http://[::1]:5000/cb"), closed + "; form-action 'self' http:"},
		"to an app":        {consent("com.example.app:/cb"), closed + "; form-action 'self' com.example.app:"},
	} {
		w := httptest.NewRecorder()
		w.Header().Set("Vary", "Origin")
		must.Do(t, page.Render(w, r, http.StatusTooManyRequests, c.page))
		want := http.Header{
			"Content-Security-Policy": {c.policy}, "X-Frame-Options": {"DENY"}, "X-Content-Type-Options": {"nosniff"}, "Referrer-Policy": {"same-origin"}, "Cache-Control": {"no-store"},
			"Content-Type": {"text/html; charset=utf-8"}, "Content-Language": {"en"}, "Vary": {"Origin", "Accept-Language"},
		}
		got := w.Header().Clone()
		got.Del("Content-Length")
		if diff := cmp.Diff(want, got); diff != "" || w.Code != http.StatusTooManyRequests {
			t.Errorf("%s: %d %s", name, w.Code, diff)
		}
	}
}

// The pages find their style sheet at whatever path of its host the service is
// mounted.
func TestStyleBelowAPath(t *testing.T) {
	for _, at := range []string{"https://prices.example.com", "https://example.com/prices", "https://example.com/a/b"} {
		for _, path := range []string{"/oauth/authorize", "/oauth/authorize/login", "/oauth/authorize/consent"} {
			w := httptest.NewRecorder()
			must.Do(t, page.Render(w, httptest.NewRequest("GET", path, nil), 200, page.Login{}))
			link, _ := attr(all(parse(t, w), "link")[0], "href")
			shown := must.Get(url.Parse(at + path))(t)
			style, err := shown.Parse(link)
			if err != nil || !strings.HasPrefix(style.String(), at+page.StylePath+"?v=") {
				t.Errorf("%s: %s is %s: %v", shown, link, style, err)
			}
		}
	}
}

func TestStyle(t *testing.T) {
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		page.Style().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w
	}
	link, _ := attr(all(parse(t, render(t, page.Login{})), "link")[0], "href")
	w := get(strings.TrimPrefix(link, "..")) // from /oauth/authorize
	body := w.Body.String()
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/css; charset=utf-8" || w.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if strings.Contains(body, "url(") || strings.Contains(body, "@import") || strings.Contains(body, "@font-face") || !strings.Contains(body, "prefers-color-scheme: dark") || !strings.Contains(body, ":focus-visible") {
		t.Error("the style sheet fetches something, or lacks something")
	}
	for _, path := range []string{page.StylePath, page.StylePath + "?v=another"} { // from another build: not cached as this one's
		if w := get(path); w.Body.String() != body || w.Header().Get("Cache-Control") != "no-cache" || w.Header().Get("ETag") == "" {
			t.Errorf("%s: %v", path, w.Header())
		}
	}
	r := httptest.NewRequest("GET", page.StylePath, nil)
	r.Header.Set("If-None-Match", w.Header().Get("ETag"))
	again := httptest.NewRecorder()
	if page.Style().ServeHTTP(again, r); again.Code != http.StatusNotModified {
		t.Errorf("%d", again.Code)
	}
}
