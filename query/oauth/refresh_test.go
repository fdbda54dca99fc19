package oauth_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// Using an old token after its grace period ends the session and everything
// that came from it (checklist 14).
func TestRefreshReuse(t *testing.T) { // OAUTH-01c
	w := open(t)
	a := w.app()
	first := a.signIn()
	second := a.refresh(first.Refresh).tokens(t)
	third := a.refresh(second.Refresh).tokens(t)
	w.clock.advance(31 * time.Second)
	for _, got := range []tokens{first, second, third} {
		w.wantAlive(got)
	}
	a.refresh(first.Refresh).wantError(t, 400, "invalid_grant")
	for _, got := range []tokens{third, second, first} {
		w.wantEnded(got, a)
	}
	a.refresh(first.Refresh).wantError(t, 400, "invalid_grant")
}

// During the grace period the previous token works too, and the holders of both
// tokens stay signed in.
func TestRefreshGrace(t *testing.T) { // checklist 14
	w := open(t)
	a := w.app()
	got := a.signIn()
	one := a.refresh(got.Refresh).tokens(t)
	w.clock.advance(29 * time.Second)
	two := a.refresh(got.Refresh).tokens(t)
	if one.Refresh == two.Refresh {
		t.Error("both processes have the same token")
	}
	for range 5 {
		w.clock.advance(5 * time.Hour)
		one, two = a.refresh(one.Refresh).tokens(t), a.refresh(two.Refresh).tokens(t)
	}
	w.wantAlive(one)
	w.wantAlive(two)
	a.refresh(got.Refresh).wantError(t, 400, "invalid_grant")
	w.wantEnded(one, a)
	w.wantEnded(two, a)
}

// The grace period counts from the first use: another use does not extend it.
func TestRefreshGraceIsNotProlonged(t *testing.T) {
	w := open(t)
	a := w.app()
	got := a.signIn()
	a.refresh(got.Refresh).tokens(t)
	w.clock.advance(20 * time.Second)
	last := a.refresh(got.Refresh).tokens(t)
	w.clock.advance(11 * time.Second)
	a.refresh(got.Refresh).wantError(t, 400, "invalid_grant")
	w.wantEnded(last, a)
}

// Processes that refresh at the same time all stay signed in.
func TestRefreshRace(t *testing.T) { // checklist 14
	w := open(t)
	a := w.app()
	got := a.signIn()
	var mu sync.Mutex
	var children []tokens
	seen := map[string]bool{}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			next := a.refresh(got.Refresh).tokens(t)
			mu.Lock()
			defer mu.Unlock()
			children = append(children, next)
			seen[next.Refresh] = true
		})
	}
	all.Wait()
	if len(seen) != 20 {
		t.Fatalf("%d tokens of their own", len(seen))
	}
	w.clock.advance(time.Hour)
	for _, c := range children {
		w.wantAlive(a.refresh(c.Refresh).tokens(t))
	}
}

// A session does not grow without bound: beyond a maximum of simultaneous
// tokens no more are issued, and all the others keep working.
func TestRefreshIsBounded(t *testing.T) {
	w := open(t)
	a := w.app()
	got := a.signIn()
	var last tokens
	n := 0
	for range 60 {
		r := a.refresh(got.Refresh)
		if r.StatusCode != 200 {
			r.wantError(t, 400, "invalid_grant")
			break
		}
		last = r.tokens(t)
		n++
	}
	if n != 32 {
		t.Errorf("%d tokens at once", n)
	}
	for range 60 { // nor by used tokens
		last = a.refresh(last.Refresh).tokens(t)
	}
	w.wantAlive(last)
	if n := w.largest(); n > 5<<10 {
		t.Errorf("a record of %d bytes", n)
	}
}

// Answers that are lost now and then do not use up the grace of a long session:
// the tokens in them make room for others.
func TestLostAnswers(t *testing.T) {
	w := open(t)
	a := w.app()
	got := a.signIn()
	for round := range 40 {
		w.clock.advance(12 * time.Hour)
		a.refresh(got.Refresh).tokens(t) // lost
		r := a.refresh(got.Refresh)
		if r.StatusCode != 200 {
			t.Fatalf("round %d: %d %s", round, r.StatusCode, r.body)
		}
		got = r.tokens(t)
	}
	w.wantAlive(got)
	if n := w.largest(); n > 5<<10 {
		t.Errorf("a record of %d bytes", n)
	}
}

// No refresh extends a session; its access tokens end with it.
func TestSessionEnds(t *testing.T) { // checklist 14
	w := open(t)
	a := w.app()
	got := a.signIn()
	for range 29 {
		w.clock.advance(24 * time.Hour)
		got = a.refresh(got.Refresh).tokens(t)
		if got.Expires != 24*3600 && got.Expires > 24*3600 {
			t.Fatalf("expires in %d", got.Expires)
		}
	}
	w.clock.advance(23 * time.Hour)
	got = a.refresh(got.Refresh).tokens(t)
	if got.Expires > 3600 || got.Expires < 3500 {
		t.Errorf("the last access token lasts %d s", got.Expires)
	}
	w.clock.advance(time.Hour)
	a.refresh(got.Refresh).wantError(t, 400, "invalid_grant")
	if w.accepted(got.Access) {
		t.Error("the access token outlives its session")
	}
}

// A refresh token works only for its client, and for no more than was consented
// to.
func TestRefreshIsBound(t *testing.T) { // checklist 14, 16
	w := open(t)
	a := w.app()
	got := a.signIn()
	another := w.register(`{"client_name":"Another","redirect_uris":["http://127.0.0.1/callback"]}`).json(t)["client_id"].(string)
	flip := func(s string, at int) string {
		c := "A"
		if s[at] == 'A' {
			c = "B"
		}
		return s[:at] + c + s[at+1:]
	}
	for name, c := range map[string]struct {
		change []string
		status int
		code   string
	}{
		"another client":   {[]string{"client_id", another}, 400, "invalid_grant"},
		"unknown client":   {[]string{"client_id", "nobody"}, 401, "invalid_client"},
		"no token":         {[]string{"refresh_token", ""}, 400, "invalid_request"},
		"an access token":  {[]string{"refresh_token", got.Access}, 400, "invalid_grant"},
		"another session":  {[]string{"refresh_token", flip(got.Refresh, 3)}, 400, "invalid_grant"},
		"another serial":   {[]string{"refresh_token", flip(got.Refresh, 30)}, 400, "invalid_grant"},
		"another seal":     {[]string{"refresh_token", flip(got.Refresh, 50)}, 400, "invalid_grant"},
		"a longer token":   {[]string{"refresh_token", got.Refresh + "A"}, 400, "invalid_grant"},
		"another resource": {[]string{"resource", "https://other.example/mcp"}, 400, "invalid_target"},
		"unknown scope":    {[]string{"scope", "mcp admin"}, 400, "invalid_scope"},
		"without mcp":      {[]string{"scope", "offline_access"}, 400, "invalid_scope"},
	} {
		t.Run(name, func(t *testing.T) { a.refresh(got.Refresh, c.change...).wantError(t, c.status, c.code) })
	}
	w.wantAlive(got) // none of that ended it

	narrow := a.refresh(got.Refresh, "scope", "mcp", "resource", a.resource).tokens(t)
	token := must.Get(w.auth.Verify(narrow.Access, a.resource))(t)
	if narrow.Scope != "mcp" || strings.Join(token.Scopes, " ") != "mcp" {
		t.Errorf("narrowed: %+v", narrow)
	}
	if wide := a.refresh(narrow.Refresh).tokens(t); wide.Scope != "mcp offline_access" {
		t.Errorf("the refresh token lost scopes: %+v", wide)
	}
}

// An account that was ended gets no more tokens; when it is active again, it
// does.
func TestRefreshOfAnEndedAccount(t *testing.T) { // AUTH-04
	w := open(t)
	a := w.app()
	got := a.signIn()
	for name, access := range map[string]*query.Access{
		"gone": nil, "disabled": {Account: reader, Disabled: true}, "administrative": {Account: reader, Administrative: true},
	} {
		t.Run(name, func(t *testing.T) {
			w.accounts.set(reader, access)
			a.refresh(got.Refresh).wantError(t, 400, "invalid_grant")
		})
	}
	w.accounts.set(reader, &query.Access{Account: reader})
	w.accounts.fail(&fault.Error{Kind: fault.Unavailable, Code: "OUR_OWN", RetryAfter: 7 * time.Second})
	r := a.refresh(got.Refresh)
	r.wantError(t, 503, "temporarily_unavailable")
	if r.Header.Get("Retry-After") != "7" {
		t.Errorf("Retry-After: %q", r.Header.Get("Retry-After"))
	}
	w.accounts.fail(nil)
	a.refresh(got.Refresh).tokens(t)
}
