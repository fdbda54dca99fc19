package page_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"preismon/deploy/testserver/chromium"
	"preismon/query/oauth/page"
)

// step is a key, or "type " and a text, and what has the focus after it: the
// name of a field, and its value where several fields have that name.
type step = []string

type walk struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Steps []step `json:"steps"`
	Wants string `json:"wants"` // the URL where it ends
}

// A real browser shows each page in both languages, light and dark, on a phone
// and on a desktop; axe finds nothing, the policy blocks nothing of ours, and
// the keyboard is enough for everything (OAUTH-03c).
func TestInBrowser(t *testing.T) {
	onward := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer onward.Close()
	client := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/onward" {
			http.Redirect(w, r, onward.URL, http.StatusTemporaryRedirect)
		}
	}))
	defer client.Close()

	served := maps.Clone(pages)
	mux := http.NewServeMux()
	mux.Handle(page.StylePath, page.Style())
	mux.HandleFunc("GET /show/{name}", func(w http.ResponseWriter, r *http.Request) {
		if err := page.Render(w, r, http.StatusOK, served[r.PathValue("name")]); err != nil {
			t.Error(err)
		}
	})
	// A submitted form is answered from the place that /then/ names, with its
	// values.
	mux.HandleFunc("POST /then/", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		to, _ := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), "/then/"))
		http.Redirect(w, r, to+"?"+r.PostForm.Encode(), http.StatusSeeOther)
	})
	mux.HandleFunc("GET /favicon.ico", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /end", func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(mux)
	defer server.Close()

	then := func(to string) page.Form {
		return page.Form{Action: "/then/" + url.PathEscape(to), Transaction: "t"}
	}
	shown := func(name string, p page.Page) string {
		served[name] = p
		return "/show/" + name
	}
	var plan struct {
		Base  string   `json:"base"`
		Hosts []string `json:"hosts"`
		Pages []string `json:"pages"`
		Walks []walk   `json:"walks"`
	}
	plan.Base, plan.Hosts = server.URL, []string{server.URL, client.URL, onward.URL}
	for name := range pages {
		plan.Pages = append(plan.Pages, name)
	}
	slices.Sort(plan.Pages)

	end := server.URL + "/end?"
	login := shown("walk-login", page.Login{Form: then("/end")})
	again := shown("walk-again", page.Login{Form: then("/end"), LoginIdentifier: "reader", Refused: page.WrongCredentials})
	consent := func(name, redirect, to string) string {
		return shown(name, page.Consent{Form: then(to), ClientName: "x", RedirectURI: redirect, Account: "reader", Scopes: []string{"mcp"}})
	}
	own := consent("walk-consent", client.URL+"/cb", "/end")
	decided := func(what string) string { return "decision=" + what + "&transaction=t" }
	toAllow := []step{{"Tab", "decision", "switch"}, {"Tab", "decision", "allow"}, {"Enter"}}
	plan.Walks = []walk{
		{"log in", login, []step{{"", "loginIdentifier"}, {"type reader"}, {"Tab", "password"}, {"type secret"}, {"Tab", "BUTTON"}, {"Enter"}}, end + "loginIdentifier=reader&password=secret&transaction=t"},
		{"log in by Enter", login, []step{{"", "loginIdentifier"}, {"type reader"}, {"Tab", "password"}, {"type secret"}, {"Enter"}}, end + "loginIdentifier=reader&password=secret&transaction=t"},
		{"log in again", again, []step{{"", "password"}, {"type secret"}, {"Enter"}}, end + "loginIdentifier=reader&password=secret&transaction=t"},
		{"allow", own, toAllow, end + decided("allow")},
		{"deny", own, []step{{"", "BODY"}, {"Tab", "decision", "switch"}, {"Tab", "decision", "allow"}, {"Tab", "decision", "deny"}, {"Space"}}, end + decided("deny")},
		{"switch account", own, []step{{"Tab", "decision", "switch"}, {"Enter"}}, end + decided("switch")},
		// The answer is a redirect, which Chromium checks against form-action.
		{"to a program on this computer", consent("walk-loopback", client.URL+"/cb", client.URL+"/cb"), toAllow, client.URL + "/cb?" + decided("allow")},
		{"to a website that sends on", consent("walk-onward", "https://client.example.com/cb", client.URL+"/onward"), toAllow, onward.URL + "/"},
	}
	chromium.Run(t, "testdata/browser.mjs", plan, nil)
}
