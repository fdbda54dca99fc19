package rest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/query/auth"
	"preismon/query/rest"
)

// Accounts of the matrix.
const (
	whole      contracts.AccountID = 1 // all of mandate 1
	part       contracts.AccountID = 2 // order 702 of mandate 1 alone
	partSites  contracts.AccountID = 3 // site "own-2.example" of mandate 1 alone
	stranger   contracts.AccountID = 4 // all of mandate 2
	shrunk     contracts.AccountID = 5 // all of mandate 3, whose scope lost a pair
	unassigned contracts.AccountID = 6 // of mandate 1, with nothing assigned
	unscoped   contracts.AccountID = 7 // all of mandate 4, which has no scope
)

// who holds the ids of one pair, by their kind. All values of a kind have the
// same length, so that answers do not differ by what they echo.
type who map[string]string

var (
	own     = who{"item": "1001", "site": "own-1.example", "order": "701", "ean": "4000000000011", "pzn": "10000011", "asin": "B000000011", "merchant": "Merchant-own", "brand": "Brand-own", "maker": "Maker-own"}
	ours    = who{"item": "1002", "site": "own-2.example", "order": "702", "ean": "4000000000028", "pzn": "10000028", "asin": "B000000022", "merchant": "Merchant-our", "brand": "Brand-our", "maker": "Maker-our"}
	theirs  = who{"item": "2001", "site": "for-1.example", "order": "801", "ean": "4000000000035", "pzn": "10000035", "asin": "B000000033", "merchant": "Merchant-the", "brand": "Brand-the", "maker": "Maker-the"}
	lost    = who{"item": "3001", "site": "los-1.example", "order": "703", "ean": "4000000000042", "pzn": "10000042", "asin": "B000000044", "merchant": "Merchant-los", "brand": "Brand-los", "maker": "Maker-los"}
	nobodys = who{"item": "9001", "site": "mis-1.example", "order": "901", "ean": "4000000000059", "pzn": "10000059", "asin": "B000000055", "merchant": "Merchant-mis", "brand": "Brand-mis", "maker": "Maker-mis"}
)

// visible says of one route how a caller can name what a mandate has.
type visible struct {
	public bool     // needs no token
	own    bool     // has tests of its own: token and logout
	names  []string // query strings, or paths, with {item}, {site} and so on
}

const allGroups = "includeExportFields=true&includeIdentity=true&includeOrderIds=true&includeCustomerData=true&includeCoverage=true"

var resultNames = []string{
	"itemId={item}", "site={site}", "orderId={order}", "ean={ean}", "pzn={pzn}", "asin={asin}&asinLocale=de", "merchant={merchant}", "brand={brand}", "manufacturer={maker}",
	"itemId={item}&site={site}&orderId={order}&" + allGroups, "itemId={item}&latestPerPair=true", "site={site}&latestObservationPerPair=true",
	"itemId={item}&capturedFrom=2026-01-01", "merchant={merchant}&latestPerPair=true",
}

// matrix lists every route. A route that is not here fails the test: say how
// a caller can name a mandate's data there.
var matrix = map[string]visible{
	"GET /healthz":           {public: true},
	"GET /problems/{code}":   {public: true},
	"POST /v1/auth/token":    {own: true},
	"POST /v1/auth/logout":   {own: true},
	"GET /v1/sites":          {names: []string{"site={site}"}},
	"GET /v1/items":          {names: []string{"itemId={item}", "ean={ean}", "pzn={pzn}", "asin={asin}&asinLocale=de"}},
	"GET /v1/results":        {names: resultNames},
	"GET /v1/results/stream": {names: []string{resultNames[0], resultNames[1], resultNames[2], resultNames[6], resultNames[9]}}, // the same read as pages
}

func (w who) fill(path, name string) string {
	for kind, value := range w {
		name = strings.ReplaceAll(name, "{"+kind+"}", value)
	}
	if strings.HasPrefix(name, "/") {
		return name
	}
	return path + "?" + name
}

// hide takes what the request itself named out of an answer.
func (w who) hide(body []byte) string {
	text := string(body)
	for kind, value := range w {
		text = strings.ReplaceAll(text, `"`+value+`"`, `"`+kind+`"`)
	}
	return text
}

// serveMatrix writes hidden rows for each pair that mandate 1 does not see.
func serveMatrix(t *testing.T, hidden int) *live {
	l := serveLive(t)
	l.clock.freeze(l.now) // so that echoed windows are equal
	l.mark()
	for i, w := range []who{own, ours, theirs, lost} {
		l.exec("INSERT INTO items VALUES (" + w["item"] + ", '" + w["ean"] + "', '" + w["pzn"] + "', '" + w["asin"] + "', 'de', 'x', '" + w["brand"] + "', '', 1)")
		l.exec("INSERT INTO sites VALUES ('" + w["site"] + "', 'x', 'shop', 'DE', 'EUR', '', true, false, 1)")
		mandate := uint64([]int{1, 1, 2, 3}[i])
		n := 3
		if mandate != 1 {
			n = hidden
		}
		l.observe(mandate, l.row(fmt.Sprintf("numbers(%d)", n), map[string]string{
			"item": "toUInt64(" + w["item"] + ")", "site": "'" + w["site"] + "'", "seq": fmt.Sprintf("number + %d", i*1_000_000+1),
			"captured_at": fmt.Sprintf("fromUnixTimestamp64Milli(%d - number * 100, 'UTC')", l.now.Add(-time.Minute).UnixMilli()),
			"merchant":    "'" + w["merchant"] + "'", "manufacturer": "'" + w["maker"] + "'",
		}))
		l.exec(fmt.Sprintf("INSERT INTO reference_prices VALUES (%d, %s, [(100, 'EUR', '', '', '')], 1)", mandate, w["item"]))
		l.exec(fmt.Sprintf("INSERT INTO customer_data VALUES (%d, %s, 'x', {'a': 'b'}, 1)", mandate, w["item"]))
	}
	pair := func(w who) string {
		return "SELECT toUInt64(" + w["item"] + ") AS item, '" + w["site"] + "' AS site, [toUInt64(" + w["order"] + ")] AS orders"
	}
	l.scope(1, 1, pair(own)+" UNION ALL "+pair(ours))
	l.scope(2, 1, pair(theirs))
	l.scope(3, 1, pair(lost)+" UNION ALL "+pair(ours))
	// Revoked: a new version in force, the rows still there and not yet deleted.
	l.exec("INSERT INTO scope_pairs SELECT 3, 2, item, site, orders FROM (" + pair(ours) + ")")
	l.exec("INSERT INTO scopes VALUES (3, 2, 1, 1)")
	l.account(whole, 1, "", "")
	l.account(part, 1, "[702]", "")
	l.account(partSites, 1, "", "['own-2.example']")
	l.account(stranger, 2, "", "")
	l.account(shrunk, 3, "", "")
	l.account(unassigned, 1, "[]", "")
	l.exec("ALTER TABLE accounts UPDATE all_orders = false WHERE account = 6 SETTINGS mutations_sync = 2")
	l.account(unscoped, 4, "", "")
	l.exec("INSERT INTO accounts VALUES (8, 1, 'u8', 'h', true, false, ['sites','items','orders','results','files'], true, [], true, [], 1)")
	l.exec("INSERT INTO accounts VALUES (9, 1, 'u9', 'h', false, true, ['sites','items','orders','results','files'], true, [], true, [], 1)")
	return l
}

// found counts the records of an answer.
func found(t *testing.T, a answer) int {
	t.Helper()
	switch {
	case a.StatusCode == 404:
		return 0
	case a.StatusCode != 200:
		t.Fatalf("%s: %d %s", a.Request.URL, a.StatusCode, a.body)
	case strings.HasSuffix(a.Request.URL.Path, "/stream"):
		return bytes.Count(a.body, []byte("\n"))
	}
	return len(decode[page](t, a).Data)
}

// TestVisibilityMatrix asks every route for what the caller may not see, in
// every way it can be named, and compares the answer with that for something
// that does not exist: VIS-01, VIS-02, VIS-05.
func TestVisibilityMatrix(t *testing.T) {
	l := serveMatrix(t, 3)
	for _, route := range rest.Routes() {
		if _, listed := matrix[route]; !listed {
			t.Errorf("%s is not in the matrix", route)
		}
	}
	routes := slices.Sorted(func(yield func(string) bool) {
		for route, v := range matrix {
			if !v.public && !v.own && !yield(route) {
				return
			}
		}
	})
	outsiders := []struct {
		name    string
		account contracts.AccountID
		hidden  who
	}{
		{"another mandate's", whole, theirs},
		{"the other way round", stranger, own},
		{"outside the account's orders", part, own},
		{"outside the account's sites", partSites, own},
		{"after a revoked grant", shrunk, lost},
		{"of an account with nothing", unassigned, own},
		{"of a mandate without a scope", unscoped, theirs},
	}
	for _, route := range routes {
		_, path, _ := strings.Cut(route, " ")
		for _, name := range matrix[route].names {
			for who, account := range map[string]contracts.AccountID{"own": whole, "theirs": stranger} { // the question finds what may be seen
				holder := own
				if who == "theirs" {
					holder = theirs
				}
				if n := found(t, l.plain(holder.fill(path, name)+"&limit=1000", l.token(account))); n == 0 {
					t.Errorf("%s: %s does not find what the caller may see", route, name)
				}
			}
			for _, o := range outsiders {
				hidden, none := l.get(o.hidden.fill(path, name), l.token(o.account)), l.get(nobodys.fill(path, name), l.token(o.account))
				if found(t, hidden) != 0 {
					t.Errorf("%s: %s, %s: shows %.300s", route, o.name, name, hidden.body)
				}
				sameAnswer(t, fmt.Sprintf("%s: %s, %s", route, o.name, name), o.hidden, hidden, none)
			}
		}
	}
}

// sameAnswer compares two answers in all that a caller can see.
func sameAnswer(t *testing.T, what string, asked who, hidden, none answer) {
	t.Helper()
	if hidden.StatusCode != none.StatusCode {
		t.Errorf("%s: status %d, for nothing %d", what, hidden.StatusCode, none.StatusCode)
	}
	if h, n := asked.hide(hidden.body), nobodys.hide(none.body); h != n {
		t.Errorf("%s:\n%s\nfor nothing\n%s", what, h, n)
	}
	comparable := func(h http.Header) string {
		h = h.Clone()
		for _, own := range []string{"X-Request-Id", "Date", "Ratelimit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
			delete(h, own)
		}
		var b strings.Builder
		_ = h.Write(&b)
		return b.String()
	}
	if h, n := comparable(hidden.Header)+comparable(hidden.Trailer), comparable(none.Header)+comparable(none.Trailer); h != n {
		t.Errorf("%s: headers\n%s\nfor nothing\n%s", what, h, n)
	}
}

// TestHiddenCostsWhatNothingCosts: neither the work of the store nor the time
// tells something hidden, however large, from something that does not exist.
func TestHiddenCostsWhatNothingCosts(t *testing.T) {
	l := serveMatrix(t, 150_000) // so much that reading it would be noticed
	names := map[string]bool{}
	for route, v := range matrix {
		_, path, _ := strings.Cut(route, " ")
		if strings.HasSuffix(path, "/stream") {
			continue // the same statements
		}
		for _, name := range v.names {
			names[path+" "+name] = true
		}
	}
	token := l.token(whole)
	type span struct{ from, to time.Time }
	during := func(path string) (d span) {
		time.Sleep(2 * time.Millisecond)
		d.from = time.Now()
		l.get(path, token)
		d.to = time.Now()
		return d
	}
	spans := map[string][2]span{}
	for question := range names {
		path, name, _ := strings.Cut(question, " ")
		spans[question] = [2]span{during(theirs.fill(path, name)), during(nobodys.fill(path, name))}
	}
	l.exec("SYSTEM FLUSH LOGS")
	logged := uint64(0)
	for question, pair := range spans {
		_, hidden := l.logged(pair[0].from, pair[0].to)
		_, none := l.logged(pair[1].from, pair[1].to)
		if d := int64(hidden) - int64(none); d > 20_000 || d < -20_000 {
			t.Errorf("%s: the hidden one reads %d rows, nothing %d", question, hidden, none)
		}
		logged += hidden + none
	}
	if logged == 0 {
		t.Error("what statements read is not seen")
	}
	for _, question := range []string{
		"/v1/sites site={site}", "/v1/items ean={ean}", "/v1/results itemId={item}", "/v1/results orderId={order}",
	} {
		path, name, _ := strings.Cut(question, " ")
		// How often the hidden one takes longer, of all pairs of measurements:
		// a half when nothing tells them apart, whatever else the machine does.
		for try, n := range []int{25, 100} {
			share := l.slower(theirs.fill(path, name), nobodys.fill(path, name), token, n)
			if share > 0.15 && share < 0.85 {
				break
			}
			if try > 0 {
				t.Errorf("%s: the hidden one takes longer in %.0f %% of the comparisons", question, 100*share)
			}
		}
	}
}

func (l *live) slower(a, b, token string, n int) float64 {
	l.t.Helper()
	client := l.raw()
	measure := func(path string) time.Duration {
		r := l.request("GET", path, token, nil)
		began := time.Now()
		resp, err := client.Do(r)
		must(l.t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return time.Since(began)
	}
	var as, bs []time.Duration
	for i := range n + 3 {
		one, two := measure(a), measure(b)
		if i >= 3 { // the first ones warm up
			as, bs = append(as, one), append(bs, two)
		}
	}
	longer := 0
	for _, x := range as {
		for _, y := range bs {
			if x > y {
				longer++
			}
		}
	}
	return float64(longer) / float64(n*n)
}

// TestEveryRouteNeedsALiveToken: without one that is valid here and now, every
// route answers the same, whatever it is asked for: VIS-05, AUTH-E0, ERR-05.
func TestEveryRouteNeedsALiveToken(t *testing.T) {
	l := serveMatrix(t, 3)
	issue := func(g auth.Grant) string {
		issued, err := l.auth.Issue(g)
		must(t, err)
		return issued.Token.Reveal()
	}
	expired := issue(auth.Grant{Account: whole, Audience: auth.RESTAudience, Lifetime: time.Second})
	old := l.token(whole)
	l.clock.freeze(l.now.Add(2 * time.Second))
	revoked := l.token(whole)
	if a := l.logout(revoked); a.StatusCode != 200 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	other := serve(t) // a service with another key
	tokens := map[string]string{
		"none": "", "garbage": "x.y.z", "expired": expired, "revoked": revoked, "of MCP": issue(auth.Grant{Account: whole, Audience: baseURL + "/mcp", Lifetime: time.Hour}),
		"of another audience": issue(auth.Grant{Account: whole, Audience: "preismon", Lifetime: time.Hour}), "of another service": other.token(whole),
		"of no account": issue(auth.Grant{Account: 999, Audience: auth.RESTAudience, Lifetime: time.Hour}), "administrative": l.token(8), "disabled": l.token(9),
	}
	for route, v := range matrix {
		if v.public || v.own {
			continue
		}
		_, path, _ := strings.Cut(route, " ")
		for _, ids := range []who{own, theirs} {
			var first []byte
			for name, token := range tokens {
				a := l.get(ids.fill(path, v.names[0]), token)
				a.wantProblem(t, 401, "AUTH_TOKEN_INVALID")
				if first == nil {
					first = a.body
				}
				if !bytes.Equal(first, a.body) {
					t.Errorf("%s, %s: %s, others %s", route, name, a.body, first)
				}
			}
		}
		if a := l.get(own.fill(path, v.names[0]), old); a.StatusCode != 200 {
			t.Errorf("%s: a valid token: %d %s", route, a.StatusCode, a.body)
		}
	}
}

// A grant shows with the next request and goes with the next request, on
// every route and within a walk.
func TestGrantsHoldAtOnce(t *testing.T) {
	l := serveMatrix(t, 3)
	token := l.token(whole)
	first := decode[page](t, l.get("/v1/results?limit=1&itemId="+own["item"], token))
	if first.Paging.NextCursor == "" {
		t.Fatal("no second page")
	}
	see := func(what string, want bool) {
		t.Helper()
		for route, v := range matrix {
			_, path, _ := strings.Cut(route, " ")
			for _, name := range v.names {
				if got := found(t, l.plain(own.fill(path, name), token)) > 0; got != want {
					t.Errorf("%s: %s %s: seen %v", what, route, name, got)
				}
			}
		}
	}
	see("at first", true)
	l.exec("INSERT INTO scope_pairs SELECT 1, 5, item, site, orders FROM scope_pairs WHERE mandate = 1 AND version = 1 AND item = 1002")
	l.exec("INSERT INTO scopes VALUES (1, 5, 1, 1)")
	see("revoked", false)
	if p := decode[page](t, l.get("/v1/results?limit=1&itemId="+own["item"]+"&cursor="+first.Paging.NextCursor, token)); len(p.Data) != 0 || p.Paging.NextCursor != "" {
		t.Errorf("a cursor shows what was revoked: %+v", p)
	}
	l.exec("INSERT INTO scope_pairs SELECT 1, 6, item, site, orders FROM scope_pairs WHERE mandate = 1 AND version = 1")
	l.exec("INSERT INTO scopes VALUES (1, 6, 2, 2)")
	see("granted again", true)
}

// A login gives a token of its own account's scope: AUTH-01a.
func TestLoginsSeeTheirOwn(t *testing.T) {
	l := serveMatrix(t, 3)
	for login, want := range map[string][]string{"u1": {"1001", "1002"}, "u4": {"2001"}} {
		token := decode[tokenReply](t, l.login(login, password)).AccessToken
		if got := keys(decode[page](t, l.get("/v1/items", token)), "itemId"); !slices.Equal(got, want) {
			t.Errorf("%s sees %v, want %v", login, got, want)
		}
		for _, record := range decode[page](t, l.get("/v1/results?limit=1000", token)).Data {
			if !slices.Contains(want, record["itemId"].(string)) {
				t.Errorf("%s sees %v", login, record)
			}
		}
	}
}

// A cursor is its owner's: to anybody else it is worth what garbage is, and
// for its owner it is bound to its route and query (choices 22).
func TestCursorsAreTheirOwners(t *testing.T) {
	l := serveMatrix(t, 3)
	for _, path := range []string{"/v1/items?limit=1", "/v1/sites?limit=1", "/v1/results?limit=1"} {
		cursor := decode[page](t, l.get(path, l.token(whole))).Paging.NextCursor
		if cursor == "" {
			t.Fatalf("%s: no second page", path)
		}
		for _, account := range []contracts.AccountID{part, partSites, stranger, shrunk, unassigned, unscoped} {
			foreign, garbage := l.get(path+"&cursor="+cursor, l.token(account)), l.get(path+"&cursor=AAAA", l.token(account))
			foreign.wantProblem(t, 400, "MVP_VALIDATION_ERROR")
			if !bytes.Equal(foreign.body, garbage.body) {
				t.Errorf("%s: %s, garbage %s", path, foreign.body, garbage.body)
			}
		}
		if a := l.get(path+"&cursor="+cursor, l.token(whole)); a.StatusCode != 200 {
			t.Errorf("%s: its owner's: %d %s", path, a.StatusCode, a.body)
		}
	}
}
