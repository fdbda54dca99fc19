package oauth_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/chromium"
)

// A real browser goes the whole way, with and without TLS: it keeps the
// cookie, sends the forms, and its policy lets the answer through to a
// program on the same computer.
func TestFlowInChromium(t *testing.T) { // OAUTH-03c, OAUTH-04
	program := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer program.Close()
	for _, tls := range []bool{false, true} {
		w := open(t, func(s *settings) { s.tls = tls })
		a := w.app()
		a.redirect = program.URL + "/callback"
		var saw struct {
			Titles  []string `json:"titles"`
			End     string   `json:"end"`
			Cookies []any    `json:"cookies"`
		}
		chromium.Run(t, "testdata/flow.mjs", map[string]any{
			"start": w.URL + "/oauth/authorize?" + a.query().Encode(), "callback": a.redirect, "hosts": []string{w.URL, program.URL},
			"login": "reader@example.com", "password": password,
		}, &saw)
		signIn, allow := "Log in · preismon", "Allow access? · preismon"
		if diff := cmp.Diff([]string{signIn, "Error: " + signIn, allow, signIn, allow}, saw.Titles); diff != "" {
			t.Error(diff)
		}
		if len(saw.Cookies) != 0 {
			t.Errorf("cookies are left: %v", saw.Cookies)
		}
		end, err := url.Parse(saw.End)
		must(t, err)
		w.wantAlive(a.redeem(end.Query().Get("code")).tokens(t))
	}
}
