package rest_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/rest"
)

// visible describes how a caller can name what a mandate has on one route.
type visible struct {
	public bool     // needs no token
	own    bool     // has tests of its own: token and logout
	alike  bool     // shows nothing of a mandate: the same to every caller
	names  []string // query strings, maybe empty, or bodies, with {item}, {site} and so on
	lists  string   // the kind whose values it shows if nothing is named
	single bool     // one record or file, without a limit
	order  bool     // shows orders, which stay when their pairs go
	files  bool     // shows files of an order, whose content is for callers that see all of it
	begins bool     // shows what arrives after its start: see TestFeedsShowWhatIsSeen
	dear   bool     // its statements take a hundred times as long to plan as to run
}

const allGroups = "includeExportFields=true&includeIdentity=true&includeOrderIds=true&includeCustomerData=true&includeCoverage=true"

var resultNames = []string{
	"itemId={item}", "site={site}", "orderId={order}", "ean={ean}", "pzn={pzn}", "asin={asin}&asinLocale={locale}", "merchant={merchant}", "brand={brand}", "manufacturer={maker}",
	"itemId={item}&site={site}&orderId={order}&" + allGroups, "itemId={item}&latestPerPair=true", "site={site}&latestObservationPerPair=true",
	"itemId={item}&capturedFrom=2026-01-01", "merchant={merchant}&latestPerPair=true",
}

// matrix lists every route. A route that is missing here fails the test: add
// how a caller can name a mandate's data there.
var matrix = map[string]visible{
	"GET /healthz":               {public: true},
	"GET /problems/{code}":       {public: true},
	"POST /v1/auth/token":        {own: true},
	"POST /v1/auth/logout":       {own: true},
	"GET /v1/sites":              {names: []string{"", "site={site}"}, lists: "site"},
	"GET /v1/items":              {names: []string{"", "itemId={item}", "ean={ean}", "pzn={pzn}", "asin={asin}&asinLocale={locale}"}, lists: "item"},
	"GET /v1/items/asin-locales": {names: []string{""}, lists: "locale", single: true},
	"GET /v1/orders": {names: []string{
		"", "orderId={order}", "alias={alias}", "orderId={order}&includeMonitoring=true&includeCoverage=true",
	}, lists: "order", order: true},
	"GET /v1/orders/{orderId}":                          {names: []string{""}, single: true, order: true},
	"GET /v1/orders/{orderId}/observation-quality":      {names: []string{"", "site={site}", "reasonCode=PRICE_OBSERVED"}},
	"GET /v1/orders/{orderId}/exports":                  {names: []string{"", "exportName={job}"}, order: true, files: true},
	"GET /v1/orders/{orderId}/exports/history":          {names: []string{"", "exportName={job}", "name={file}", "dateFrom=2026-01-01"}, order: true, files: true},
	"GET /v1/orders/{orderId}/exports/history/latest":   {names: []string{"", "exportName={job}", "name={file}"}, single: true, order: true, files: true},
	"GET /v1/orders/{orderId}/exports/history/download": {names: []string{"latest=true", "name={file}&latest=true"}, single: true, order: true, files: true},
	"GET /v1/orders/{orderId}/imports":                  {names: []string{"", "name={job}"}, order: true, files: true},
	"GET /v1/orders/{orderId}/imports/history":          {names: []string{"", "name={file}", "dateFrom=2026-01-01"}, order: true, files: true},
	"GET /v1/orders/{orderId}/imports/history/latest":   {names: []string{"", "name={file}"}, single: true, order: true, files: true},
	"GET /v1/orders/{orderId}/imports/history/download": {names: []string{"latest=true", "name={file}&latest=true"}, single: true, order: true, files: true},
	"GET /v1/results":                                   {names: resultNames},
	"GET /v1/results/stream":                            {names: []string{resultNames[0], resultNames[1], resultNames[2], resultNames[6], resultNames[9]}}, // the same read as pages
	"GET /v1/results/capabilities":                      {names: []string{""}, single: true, alike: true},
	"GET /ext/v1/statistics": {names: []string{
		"itemId={item}", "site={site}&by=site", "orderId={order}&by=merchant&bucket=day", "ean={ean}&by=brand", "pzn={pzn}&by=all", "asin={asin}&asinLocale={locale}",
		"brand={brand}", "orderId={order}&includeTrend=true&includeStanding=true&includeIdentity=true",
	}, dear: true},
	"GET /ext/v1/position": {names: []string{
		"itemId={item}", "site={site}", "orderId={order}", "ean={ean}", "pzn={pzn}", "asin={asin}&asinLocale={locale}",
	}, dear: true},
	"GET /ext/v1/movers": {names: []string{
		"itemId={item}&since=2026-01-01", "site={site}&since=2026-01-01", "orderId={order}&since=2026-01-01", "ean={ean}&since=2026-01-01",
		"pzn={pzn}&since=2026-01-01", "asin={asin}&asinLocale={locale}&since=2026-01-01",
		"itemId={item}&brand={brand}&since=2026-01-01", "itemId={item}&ownMerchant={merchant}&since=2026-01-01",
	}, dear: true},
	"GET /ext/v1/evidence": {names: []string{
		"itemId={item}&site={site}&capturedAt={captured}", "itemId={item}&site={site}&capturedAt={captured}&merchant={merchant}",
	}, single: true},
	"GET /ext/v1/sites/status": {names: []string{"", "site={site}", "orderId={order}"}, lists: "site", single: true},
	"GET /ext/v1/orders/status": {names: []string{
		"", "orderId={order}", "files=2", "orderId={order}&files=2",
	}, lists: "order", single: true, order: true},
	"GET /ext/v1/overview": {names: []string{"", "site={site}", "site={site}&ownMerchant={merchant}"}, lists: "site", single: true, dear: true},
	"GET /ext/v1/items/{itemId}/summary": {names: []string{
		"", "site={site}", "includeRows=true", "ownMerchant={merchant}", "includeRows=true&orderId={order}", "includeRows=true&merchant={merchant}",
	}, single: true, dear: true},
	"GET /ext/v1/explain": {names: []string{
		"path=/v1/results&itemId={item}", "path=/v1/results/stream&site={site}", "path=/ext/v1/statistics&orderId={order}", "path=/ext/v1/position&ean={ean}",
		"path=/v1/results&pzn={pzn}", "path=/ext/v1/statistics&asin={asin}&asinLocale={locale}", "path=/ext/v1/movers&site={site}&since=2026-01-01",
		"path=/ext/v1/windows&itemId={item}&capturedFrom=2026-01-01", "path=/ext/v1/changes&orderId={order}", "path=/ext/v1/evidence&itemId={item}&site={site}&capturedAt={captured}",
		"path=/ext/v1/alerts&ean={ean}&rule=PRICE_BELOW&price=99999999&currencyCode=EUR", "path=/ext/v1/items/{item}/summary", "path=/ext/v1/lookup&eans={ean}&asins={asin}:{locale}",
	}, single: true},
	"GET /ext/v1/windows": {names: []string{
		"itemId={item}&capturedFrom=2026-01-01", "site={site}&capturedFrom=2026-01-01", "orderId={order}&capturedFrom=2026-01-01", "ean={ean}&capturedFrom=2026-01-01",
		"pzn={pzn}&capturedFrom=2026-01-01", "asin={asin}&asinLocale={locale}&capturedFrom=2026-01-01", "merchant={merchant}&capturedFrom=2026-01-01",
		"manufacturer={maker}&capturedFrom=2026-01-01",
	}, single: true},
	"GET /ext/v1/changes": {names: []string{"itemId={item}", "site={site}", "orderId={order}", "ean={ean}", "pzn={pzn}", "asin={asin}&asinLocale={locale}"}, begins: true},
	"GET /ext/v1/alerts": {names: []string{
		"itemId={item}&rule=PRICE_BELOW&price=99999999&currencyCode=EUR", "site={site}&rule=PRICE_BELOW&price=99999999&currencyCode=EUR", "orderId={order}&rule=PRICE_BELOW&price=99999999&currencyCode=EUR", "ean={ean}&rule=PRICE_BELOW&price=99999999&currencyCode=EUR",
		"itemId={item}&rule=NO_OBSERVATION&silentFor=1h", "site={site}&rule=NO_OBSERVATION&silentFor=1h",
		"itemId={item}&rule=UNDERCUT&ownMerchant={merchant}",
	}, begins: true},
	"POST /ext/v1/lookup": {names: []string{
		`{"itemIds":["{item}"]}`, `{"eans":["{ean}"]}`, `{"pzns":["{pzn}"]}`, `{"asins":[{"asin":"{asin}","asinLocale":"{locale}"}]}`,
		`{"eans":["{ean}"],"itemIds":["{item}"],"pzns":["{pzn}"]}`,
	}, single: true},
}

// ask requests a route by a name: a query, or a body where it accepts one.
func (l *live) ask(route string, w pairIDs, name, token string, more ...string) answer {
	l.t.Helper()
	return l.do(l.asking(route, w, name, token, more...))
}

func (l *live) asking(route string, w pairIDs, name, token string, more ...string) *http.Request {
	l.t.Helper()
	method, path, _ := strings.Cut(route, " ")
	name = strings.ReplaceAll(name, "{captured}", l.now.Add(-time.Minute).Format(time.RFC3339)) // the newest row of serveMatrix
	if method == "POST" {
		_, body, _ := strings.Cut(w.fill("", name), "?")
		r := l.request(method, path, token, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		return r
	}
	return l.request(method, w.fill(path, name)+strings.Join(more, ""), token, nil)
}

// found counts the records of an answer.
func found(t *testing.T, a answer) int {
	t.Helper()
	switch {
	case a.StatusCode == 404:
		return 0
	case a.StatusCode == 503 && strings.HasPrefix(a.Request.URL.Path, "/ext/v1/") && bytes.Contains(a.body, []byte("still being filled in")):
		return 0 // a token is issued when the scope is applied
	case a.StatusCode != 200:
		t.Fatalf("%s: %d %s", a.Request.URL, a.StatusCode, a.body)
	case strings.HasSuffix(a.Request.URL.Path, "/stream"):
		return bytes.Count(a.body, []byte("\n"))
	case strings.Contains(a.Request.URL.RawQuery, "includeRows=true"):
		first, rows, _ := bytes.Cut(a.body, []byte("\n"))
		var summary struct{ Data []json.RawMessage }
		must.Do(t, json.Unmarshal(first, &summary))
		return len(summary.Data) + bytes.Count(rows, []byte("\n"))
	}
	if strings.HasSuffix(a.Request.URL.Path, "/explain") { // the pairs that it would read
		pairs := decode[explained](t, a).Pairs
		return int(*cmp.Or(pairs, new(uint64)))
	}
	if strings.HasSuffix(a.Request.URL.Path, "/windows") {
		windows := decode[windowList](t, a)
		return windows.rows()
	}
	if strings.HasSuffix(a.Request.URL.Path, "/overview") { // the pairs that it covers; the lists are there in any case
		var of struct {
			Query struct{ Movers, Sites struct{ Pairs int } }
		}
		must.Do(t, json.Unmarshal(a.body, &of))
		return of.Query.Movers.Pairs + of.Query.Sites.Pairs
	}
	if strings.HasSuffix(a.Request.URL.Path, "/lookup") {
		return bytes.Count(a.body, []byte(`"known":true,"seen":true`))
	}
	var list struct{ Data *[]map[string]any }
	if a.Header.Get("Content-Type") != "application/json" || json.Unmarshal(a.body, &list) != nil || list.Data == nil {
		return 1 // a record or a file
	}
	return len(*list.Data)
}

// shows reports whether an answer has what w holds.
func (v visible) shows(t *testing.T, name string, w pairIDs, a answer) bool {
	t.Helper()
	if v.lists != "" && !strings.Contains(name, "{") {
		return bytes.Contains(a.body, []byte(`"`+w[v.lists]+`"`))
	}
	return found(t, a) > 0
}

// matrixRoutes returns the routes that need a token.
func matrixRoutes() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for route, v := range matrix {
			if !v.public && !v.own && !yield(route) {
				return
			}
		}
	})
}

// pairedUp reports whether name n of a route is tried by outsider k: every
// combination in a full run, unless the route is dear, and otherwise each name
// and each outsider at least once.
func pairedUp(n, names, k, outsiders int, dear bool) bool {
	for j := n; j < max(names, outsiders); j += names {
		if j%outsiders == k {
			return true
		}
	}
	return !dear && effort.Often(0, 1) == 1
}

// outsiders are callers, each with what it may not see.
var outsiders = []struct {
	name    string
	account contracts.AccountID
	hidden  pairIDs
	sees    bool // the order, whose pairs are hidden
}{
	{"another mandate's", whole, theirs, false},
	{"the other way round", stranger, own, false},
	{"outside the account's orders", part, own, false},
	{"outside the account's sites", partSites, own, true}, // an order belongs to no site, nor do its files
	{"after a revoked grant", shrunk, lost, true},         // of pairs; the order still belongs to the mandate
	{"of an account with nothing", unassigned, own, false},
	{"of a mandate without a scope", unscoped, theirs, false},
}

// TestVisibilityMatrix requests from every route what the caller may not see,
// in every way it can be named, and compares the answer with that for something
// that does not exist: VIS-01, VIS-02, VIS-05, ERR-E2. All of it is requested
// again when the answers are remembered, and streams once more when their text
// is, too. None of these calls changes the tables: GEN-07b.
func TestVisibilityMatrix(t *testing.T) {
	t.Parallel()
	l := readMatrix(t)
	before := l.domain(t)
	for _, route := range rest.Routes() {
		if _, listed := matrix[route]; !listed {
			t.Errorf("%s is not in the matrix", route)
		}
	}
	for round := range 3 {
		was := l.service.Stats()
		for i, route := range matrixRoutes() {
			if stream := strings.HasSuffix(route, "/stream"); round == 0 || stream || round == 1 && i%effort.Often(2, 1) == 0 {
				l.tryRoute(t, i, route)
			}
		}
		now := l.service.Stats()
		if hits := now.Remembered.Hits - was.Remembered.Hits; round > 0 && hits == 0 {
			t.Errorf("round %d: no answer is remembered", round)
		}
		if round == 2 && now.Replayed == was.Replayed {
			t.Error("no text of a stream is remembered")
		}
		t.Logf("round %d: %d answers and %d rows were remembered", round, now.Remembered.Hits-was.Remembered.Hits, now.Replayed-was.Replayed)
	}
	l.unchanged(t, before)
}

// tryRoute requests from the route at a place of matrixRoutes what may be seen,
// and what may not.
func (l *live) tryRoute(t *testing.T, i int, route string) {
	t.Helper()
	v := matrix[route]
	_, path, _ := strings.Cut(route, " ")
	for n, name := range v.names {
		for h, holder := range []pairIDs{own, theirs} { // the request finds what may be seen
			if all := effort.Often(0, 1) == 1; (!all || v.dear) && h != n%2 || !all && v.dear && h > 0 {
				continue
			}
			account := []contracts.AccountID{whole, stranger}[h]
			limit := "&limit=1000"
			if v.single {
				limit = ""
			}
			a := l.ask(route, holder, name, l.token(account), limit)
			if !v.begins && !v.shows(t, name, holder, a) {
				t.Errorf("%s: %s does not find what the caller may see", route, name)
			}
			if strings.HasSuffix(path, "/download") && string(a.body) != contentOf(holder) {
				t.Errorf("%s: %s: %q", route, name, a.body)
			}
		}
		for k, o := range outsiders {
			if v.dear && k == 1 && effort.Often(0, 1) == 0 || !pairedUp(n, len(v.names), (k+i)%len(outsiders), len(outsiders), v.dear) {
				continue
			}
			what := fmt.Sprintf("%s: %s, %s", route, o.name, name)
			hidden := l.ask(route, o.hidden, name, l.token(o.account))
			switch {
			case v.alike:
				sameAnswer(t, what, o.hidden, hidden, l.get(path, l.token(whole)))
				continue
			case o.sees && strings.HasSuffix(path, "/download"): // VIS-05: what the file holds is hidden
				hidden.wantProblem(t, 403, "AUTH_FORBIDDEN")
				continue
			case o.sees && (v.order || strings.HasPrefix(path, "/v1/orders/")):
				ofSeenOrder(t, what, v, o.hidden, hidden)
				continue
			case v.shows(t, name, o.hidden, hidden):
				t.Errorf("%s: shows %.300s", what, hidden.body)
			}
			same := !strings.Contains(route+name, "{") // the same request as for nothing
			if every := effort.Often(5, 1); !same && (!v.dear || k%every == n%every) {
				sameAnswer(t, what, o.hidden, hidden, l.ask(route, nobodys, name, l.token(o.account)))
			}
		}
	}
}

// ofSeenOrder checks an answer about an order that its caller sees and whose
// pairs are hidden: the order and its files are there, and neither a pair nor
// its item, its site or their number.
func ofSeenOrder(t *testing.T, what string, v visible, w pairIDs, a answer) {
	t.Helper()
	if a.StatusCode != 200 || (found(t, a) > 0) != v.order {
		t.Errorf("%s: %d %.300s", what, a.StatusCode, a.body)
	}
	for _, kind := range []string{"item", "ean", "pzn", "asin", "merchant", "brand", "maker"} {
		if bytes.Contains(a.body, []byte(w[kind])) {
			t.Errorf("%s: %s shows in %.300s", what, kind, a.body)
		}
	}
	if v.files || !v.order {
		return
	}
	var list struct{ Data []json.RawMessage }
	if must.Do(t, json.Unmarshal(a.body, &list)); list.Data == nil {
		list.Data = []json.RawMessage{a.body}
	}
	for _, data := range list.Data {
		var order struct {
			OrderID        string
			Monitoring     *struct{ Sites []string }
			Coverage       *struct{ ConfiguredPairs, ObservedPairs int }
			Health         string
			QualitySummary map[string]any
		}
		if must.Do(t, json.Unmarshal(data, &order)); order.OrderID != w["order"] {
			continue
		}
		if strings.Contains(what, "{orderId}") && (order.Monitoring == nil || order.Coverage == nil || order.QualitySummary == nil) {
			t.Errorf("%s: %s", what, data)
		}
		if m := order.Monitoring; m != nil && len(m.Sites) != 0 {
			t.Errorf("%s: sites %v", what, m.Sites)
		}
		if c := order.Coverage; c != nil && (c.ConfiguredPairs != 0 || c.ObservedPairs != 0 || order.Health != "UNKNOWN") {
			t.Errorf("%s: %s", what, data)
		}
		for reason, n := range order.QualitySummary {
			if n != 0. && n != true {
				t.Errorf("%s: %s %v", what, reason, n)
			}
		}
	}
}

// sameAnswer compares everything in two answers that a caller can see.
func sameAnswer(t *testing.T, what string, asked pairIDs, hidden, none answer) {
	t.Helper()
	if hidden.StatusCode != none.StatusCode {
		t.Errorf("%s: status %d, for nothing %d", what, hidden.StatusCode, none.StatusCode)
	}
	if h, n := asked.hide(hidden.body), nobodys.hide(none.body); h != n {
		t.Errorf("%s:\n%s\nfor nothing\n%s", what, h, n)
	}
	equals.Is(t, "", gocmp.Diff(alike(none.Header), alike(hidden.Header))+gocmp.Diff(alike(none.Trailer), alike(hidden.Trailer)), "%s: headers differ from those for nothing", what)
}
