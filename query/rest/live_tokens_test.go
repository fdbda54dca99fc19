package rest_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// TestEveryRouteNeedsALiveToken: without a token that is valid here and now,
// every route gives the same answer to any request, which TestVisibilityMatrix
// has answered with one: VIS-05, AUTH-02, AUTH-03, AUTH-06, AUTH-E0, AUTH-S1b,
// ERR-04, ERR-05.
func TestEveryRouteNeedsALiveToken(t *testing.T) {
	t.Parallel()
	l := readMatrix(t)
	issue := func(g auth.Grant) string {
		issued := must.Get(l.auth.Issue(g))(t)
		return issued.Token.Reveal()
	}
	expired := issue(auth.Grant{Account: whole, Audience: auth.RESTAudience, Lifetime: time.Second})
	old := l.token(whole)
	l.clock.freeze(l.now.Add(2 * time.Second))
	revoked := l.token(whole)
	l.logout(revoked).want(t, 200)
	other := serve(t) // a service with another key
	tokens := map[string]string{
		"garbage": "x.y.z", "expired": expired, "revoked": revoked, "of MCP": issue(auth.Grant{Account: whole, Audience: baseURL + "/mcp", Lifetime: time.Hour}),
		"of another audience": issue(auth.Grant{Account: whole, Audience: "preismon", Lifetime: time.Hour}), "of another service": other.token(whole),
		"of no account": issue(auth.Grant{Account: 999, Audience: auth.RESTAudience, Lifetime: time.Hour}), "administrative": l.token(8), "disabled": l.token(9),
		"like an authorization code": strings.Repeat("c", 22+43), "like a refresh token": strings.Repeat("r", 22+22+43), // of the OAuth server: see query/oauth
	}
	authorizations := map[string][]string{
		"none": nil, "empty": {"Bearer"}, "too large": {"Bearer " + strings.Repeat("a", 9000)}, "twice": {"Bearer " + old, "Bearer " + old}, "another scheme": {"Token " + old},
		"Basic": {"Basic cmVhZGVyOng="}, "basic": {"basic cmVhZGVyOng="},
	}
	for name, token := range tokens {
		authorizations[name] = []string{"Bearer " + token}
	}
	n := 0
	for _, route := range matrixRoutes() {
		v := matrix[route]
		var first []byte
		for name, values := range authorizations {
			n++
			r := l.asking(route, []pairIDs{own, theirs}[n%2], v.names[0], "")
			r.Header["Authorization"] = values
			a := l.do(r)
			wantQuota(t, a)
			if strings.EqualFold(name, "Basic") {
				a.wantProblem(t, 401, "AUTH_SCHEME_NOT_ALLOWED")
				continue
			}
			a.wantProblem(t, 401, "AUTH_TOKEN_INVALID")
			if first == nil {
				first = a.body
			}
			if !bytes.Equal(first, a.body) {
				t.Errorf("%s, %s: %s, others %s", route, name, a.body, first)
			}
		}
	}
	r := l.request("GET", "/v1/sites", "", nil)
	r.Header.Set("Authorization", "bearer "+old)
	l.do(r).is(t, 200)
}

// seesOwn checks whether a pairIDs sees what mandate 1 has on a route, in the
// state of that number.
func (l *live) seesOwn(t *testing.T, what, route string, v visible, state int, token string, want bool) {
	t.Helper()
	_, path, _ := strings.Cut(route, " ")
	for n, name := range v.names {
		if n > 0 && (n != state || state > 2 || v.dear || effort.Often(0, 1) == 0) { // TestVisibilityMatrix requests by all names
			continue
		}
		a := l.ask(route, own, name, token)
		if strings.HasSuffix(path, "/download") { // the order stays visible, the content of its files does not
			if (a.StatusCode == 200) != want || (a.StatusCode == 403) == want {
				t.Errorf("%s: %s %s: %d", what, route, name, a.StatusCode)
			}
			continue
		}
		if got := v.shows(t, name, own, a); got != (want && !v.begins || v.order || v.alike) {
			t.Errorf("%s: %s %s: seen %v", what, route, name, got)
		}
	}
}

// A grant takes effect with the next request and a revocation too, on every
// route and within a walk, whatever the node remembers of the time before.
func TestGrantsHoldAtOnce(t *testing.T) {
	t.Parallel()
	l := serveMatrix(t, 3)
	token := l.token(whole)
	first := decode[page](t, l.get("/v1/results?limit=1&itemId="+own["item"], token))
	if first.Paging.NextCursor == "" {
		t.Fatal("no second page")
	}
	states := 0
	see := func(what string, want bool) {
		t.Helper()
		states++
		was := l.service.Stats()
		for round := range 3 { // streams are sent from remembered text when they are requested for the third time
			for i, route := range slices.Sorted(maps.Keys(matrix)) {
				v, stream := matrix[route], strings.HasSuffix(route, "/stream")
				if !stream && (round == 2 || round == 1 && i%effort.Often(3, 1) > 0) {
					continue
				}
				l.seesOwn(t, what, route, v, states, token, want)
			}
		}
		if now := l.service.Stats(); now.Remembered.Hits == was.Remembered.Hits || want && now.Replayed == was.Replayed {
			t.Errorf("%s: nothing is remembered: %+v", what, now)
		}
	}
	arrived := 0
	arrive := func() { // a row of the pair becomes visible, captured after a silence
		t.Helper()
		arrived++
		seq := uint64(liveMark + arrived)
		l.observe(1, l.row("numbers(1)", map[string]string{
			"item": "toUInt64(" + own["item"] + ")", "site": "'" + own["site"] + "'", "seq": fmt.Sprint(seq), "captured_at": l.at(time.Duration(arrived) * 8 * 24 * time.Hour),
		}))
		l.exec("INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES ('OBSERVATIONS', 0, ?, ?)", uint32(liveEpoch), seq)
	}
	feeds := []string{"GET /ext/v1/changes", "GET /ext/v1/alerts"}
	begin := func() (tokens []string) {
		t.Helper()
		for _, route := range feeds {
			tokens = append(tokens, decode[changesPage](t, l.ask(route, own, matrix[route].names[0], token)).Progress.Token)
		}
		return tokens
	}
	follow := func(what string, want int, tokens []string) { // what came since
		t.Helper()
		for i, route := range feeds {
			if page := decode[changesPage](t, l.ask(route, own, "since="+tokens[i], token)); len(page.Data) != want || page.Progress.Token == "" {
				t.Errorf("%s: %s: %+v, want %d", what, route, page, want)
			}
		}
	}
	see("at first", true)
	before := begin()
	arrive()
	follow("at first", 1, before)
	tails := make([]chan controlLine, len(feeds))
	for i, route := range feeds {
		_, path, _ := strings.Cut(route, " ")
		tails[i], _ = l.tailOf(t.Context(), path, own.fill("", matrix[route].names[0])[1:], token)
		<-tails[i]
	}
	l.exec("INSERT INTO scope_pairs SELECT 1, 5, item, site, orders FROM scope_pairs WHERE mandate = 1 AND version = 1 AND item = 1002")
	l.exec("INSERT INTO scopes VALUES (1, 5, 1, 1)")
	l.announced()
	see("revoked", false)
	for i, route := range feeds {
		l.ask(route, own, "since="+before[i], token).wantProblem(t, 410, "CHANGES_SCOPE_CHANGED")
	}
	l.exec("INSERT INTO scopes_applied VALUES (1, 0, 5)")
	l.announced()
	for i, lines := range tails { // which end by themselves, and say how to begin again
		var end controlLine
		for end = range lines { //nolint:revive // up to the last one
		}
		_, again, _ := strings.Cut(end.Detail, " GET ")
		again, _, _ = strings.Cut(again+" ", " ")
		if end.Control != "reset" || end.Reason != "CHANGES_SCOPE_CHANGED" || again == "" {
			t.Errorf("%s: %+v", feeds[i], end)
			continue
		}
		r := l.request("GET", strings.TrimRight(again, ".,:"), token, nil)
		r.Header.Set("Prefer", "changes-token")
		l.do(r).is(t, 200)
	}
	revoked := begin()
	arrive()
	follow("revoked", 0, revoked)
	if p := decode[page](t, l.get("/v1/results?limit=1&itemId="+own["item"]+"&cursor="+first.Paging.NextCursor, token)); len(p.Data) != 0 || p.Paging.NextCursor != "" {
		t.Errorf("a cursor shows what was revoked: %+v", p)
	}
	l.exec("INSERT INTO scope_pairs SELECT 1, 6, item, site, orders FROM scope_pairs WHERE mandate = 1 AND version = 1")
	l.exec("INSERT INTO scopes VALUES (1, 6, 2, 2)")
	l.exec("INSERT INTO scopes_applied VALUES (1, 0, 6)")
	l.announced()
	see("granted again", true)
	for i, route := range feeds {
		l.ask(route, own, "since="+revoked[i], token).wantProblem(t, 410, "CHANGES_SCOPE_CHANGED")
	}
	again := begin()
	arrive()
	follow("granted again", 1, again)
}
