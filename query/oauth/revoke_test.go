package oauth_test

import (
	"net/url"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
)

func (a *app) revoke(token string, change ...string) reply {
	a.w.t.Helper()
	return a.w.post("/oauth/revoke", "application/x-www-form-urlencoded", apply(url.Values{"token": {token}, "client_id": {a.id}}, change).Encode())
}

// RFC 7009: whichever token is revoked, its whole session ends.
func TestRevoke(t *testing.T) {
	w := open(t)
	a := w.app()
	for name, of := range map[string]func(tokens) string{
		"refresh token": func(got tokens) string { return got.Refresh },
		"access token":  func(got tokens) string { return got.Access },
	} {
		t.Run(name, func(t *testing.T) {
			beside := a.signIn() // another session of the same account and client
			old := a.signIn()
			got := a.refresh(old.Refresh).tokens(t)
			for range 2 { // revoking again is no error
				if r := a.revoke(of(got), "token_type_hint", "access_token"); r.StatusCode != 200 || r.body != "" {
					t.Errorf("%d %s", r.StatusCode, r.body)
				}
				w.wantEnded(got, a)
				w.wantEnded(old, a)
			}
			w.wantAlive(beside)
			a.refresh(beside.Refresh).tokens(t)
		})
	}
}

// A token that is unknown, or another client's, is left alone, and the response
// does not show it.
func TestRevokeOfOthers(t *testing.T) {
	w := open(t)
	a := w.app()
	got := a.signIn()
	another := w.register(`{"client_name":"Another","redirect_uris":["http://127.0.0.1/callback"]}`).json(t)["client_id"].(string)
	rest, _, err := w.auth.IssueREST(reader)
	must.Do(t, err)
	for _, r := range []reply{
		a.revoke("nonsense"), a.revoke(got.Refresh, "client_id", another), a.revoke(got.Access, "client_id", another), a.revoke(rest.Token.Reveal()),
	} {
		if r.StatusCode != 200 || r.body != "" {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
	}
	w.wantAlive(got)
	a.revoke("").wantError(t, 400, "invalid_request")
	a.revoke(got.Refresh, "client_id", "").wantError(t, 401, "invalid_client")
	a.revoke(got.Refresh, "client_id", "nobody").wantError(t, 401, "invalid_client")
	w.wantAlive(a.refresh(got.Refresh).tokens(t))
	w.clock.advance(25 * time.Hour)
	if r := a.revoke(got.Access); r.StatusCode != 200 { // expired
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}
