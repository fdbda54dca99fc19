package page_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"preismon/deploy/testserver/must"
	"preismon/query/oauth/page"
)

var form = page.Form{Action: "/oauth/login", Transaction: "t-1"}

// pages has one page of each kind and state, for tests that look at all of
// them.
var pages = map[string]page.Page{
	"login":              page.Login{Form: form},
	"login-client":       page.Login{Form: form, ClientName: "Claude Code"},
	"login-wrong":        page.Login{Form: form, ClientName: "Claude Code", LoginIdentifier: "reader@example.com", Refused: page.WrongCredentials},
	"login-throttled":    page.Login{Form: form, LoginIdentifier: "reader@example.com", Refused: page.TooManyAttempts, Wait: 42 * time.Second},
	"login-unavailable":  page.Login{Form: form, Refused: page.LoginUnavailable},
	"consent-document":   page.Consent{Form: form, ClientName: "Example Assistant", ClientHost: "assistant.example.com", RedirectURI: "https://assistant.example.com/oauth/callback", Account: "reader@example.com", Scopes: []string{"mcp", "offline_access"}},
	"consent-registered": page.Consent{Form: form, ClientName: "Claude Code", RedirectURI: "http://127.0.0.1:53210/callback", Account: "reader@example.com", Scopes: []string{"mcp"}},
	"consent-app":        page.Consent{Form: form, ClientName: "Example App", ClientHost: "app.example.com", RedirectURI: "com.example.app:/callback", Account: "reader@example.com", Scopes: []string{"mcp"}},
	"consent-long":       page.Consent{Form: form, ClientName: strings.Repeat("Wonderful", 20), ClientHost: strings.Repeat("a-very-long-label.", 12) + "example.com", RedirectURI: "https://" + strings.Repeat("another-long-label.", 12) + "example.org:8443/", Account: strings.Repeat("longname", 10) + "@example.com", Scopes: []string{"mcp", "offline_access"}},
	"problem-expired":    page.Problem{Reason: page.Expired},
	"problem-redirect":   page.Problem{Reason: page.BadRedirect, Code: "invalid_request", Detail: "redirect_uri is not one of those that the client registered.", RequestID: "01JD8Z6W3V9X0K2M4N6P8Q0R2S"},
	"problem-request":    page.Problem{Reason: page.BadRequest, Code: "invalid_request", Detail: strings.Repeat("code_challenge_method_", 20)},
	"problem-often":      page.Problem{Reason: page.TooManyRequests, Wait: 200 * time.Second},
}

// render returns the answer to a browser that prefers a language.
func render(t *testing.T, p page.Page, accept ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest("GET", "/oauth/authorize", nil)
	r.Header["Accept-Language"] = accept
	w := httptest.NewRecorder()
	must.Do(t, page.Render(w, r, 200, p))
	return w
}

// parse reads an answer's HTML.
func parse(t *testing.T, w *httptest.ResponseRecorder) *html.Node {
	t.Helper()
	doc := must.Get(html.Parse(strings.NewReader(w.Body.String())))(t)
	return doc
}

// all returns the elements with a name.
func all(doc *html.Node, name string) (found []*html.Node) {
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			found = append(found, n)
		}
	}
	return found
}

// attr returns an attribute, and whether it is present.
func attr(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// text returns the text of an element as it is read, with runs of blanks as
// one.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
