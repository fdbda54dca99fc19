package rest_test

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver"
	"preismon/query"
)

// Accounts of TestLimitsAtTheirEdges, each in the mandate of the same number.
const (
	manyRows     contracts.AccountID = 1 // 10,001 rows of an item at one site
	pairs1000    contracts.AccountID = 2
	pairs1001    contracts.AccountID = 3
	product250k  contracts.AccountID = 4 // 500 items and 500 sites
	product250k1 contracts.AccountID = 5 // 4,717 items and 53 sites: 250,001 candidates
	tooMany      contracts.AccountID = 6 // 2,000 items at one site
)

// limitsWorld is read-only.
var limitsWorld = testserver.Shared[*live]{Make: serveLimits}

func serveLimits(t testing.TB) *live {
	l := serveLive(t)
	l.mark()
	const order = "[toUInt64(7)] AS orders"
	l.exec("INSERT INTO items SELECT number + 1, if(number = 0, '4006381333931', ''), if(number = 0, '01234562', ''), if(number = 0, 'B000000001', ''), if(number = 0, 'de', ''), 'x', '', '', 1 FROM numbers(5000)")
	l.exec("INSERT INTO sites SELECT concat('site', toString(number), '.example'), 'x', 'shop', 'DE', 'EUR', '', false, false, 1 FROM numbers(600)")
	site := func(n string) string { return "concat('site', toString(" + n + "), '.example')" }
	for account, pairs := range map[contracts.AccountID]string{
		manyRows:     "SELECT toUInt64(1) AS item, 'site0.example' AS site, " + order,
		pairs1000:    "SELECT toUInt64(number % 500 + 1) AS item, " + site("intDiv(number, 500)") + " AS site, " + order + " FROM numbers(1000)",
		pairs1001:    "SELECT toUInt64(number % 500 + 1) AS item, " + site("intDiv(number, 500)") + " AS site, if(number < 1000, [toUInt64(7)], [toUInt64(8)]) AS orders FROM numbers(1001)",
		product250k:  "SELECT toUInt64(number + 1) AS item, " + site("number") + " AS site, " + order + " FROM numbers(500)",
		tooMany:      "SELECT toUInt64(number + 1) AS item, 'site0.example' AS site, " + order + " FROM numbers(2000)",
		product250k1: "SELECT toUInt64(number + 1) AS item, " + site("number % 53") + " AS site, " + order + " FROM numbers(4717)",
	} {
		l.account(account, uint64(account), "", "")
		l.scope(uint64(account), 1, pairs)
	}
	// A row each 7 s: all of the last 20 hours; the oldest is 10,001 steps ago.
	l.observe(uint64(manyRows), l.row("numbers(10001)", map[string]string{
		"site": "'site0.example'", "seq": "number + 1", "captured_at": fmt.Sprintf("fromUnixTimestamp64Milli(%d - (number + 1) * 7000, 'UTC')", l.now.UnixMilli()),
	}))
	return l
}

// The limits of results at their exact edges, on the page and on the stream:
// LIM-01, LIM-08, LIM-09, LIM-10, RES-04c, RES-07a, RES-07b, RES-08, ERR-02a,
// ERR-02c, ERR-03, RES-14a.
func TestLimitsAtTheirEdges(t *testing.T) {
	l := limitsWorld.Get(t).of(t)
	ask := func(account contracts.AccountID, args string) (page, stream answer) {
		t.Helper()
		return l.plain("/v1/results?"+args, l.token(account)), l.plain("/v1/results/stream?"+args, l.token(account))
	}
	accepted := func(account contracts.AccountID, args string) {
		t.Helper()
		page, stream := ask(account, args)
		if page.StatusCode != 200 || stream.StatusCode != 200 || stream.Trailer.Get("X-Results-Complete") != "true" {
			t.Errorf("%s: page %d, stream %d: %.300s", args, page.StatusCode, stream.StatusCode, page.body)
		}
	}
	refused := func(account contracts.AccountID, args, code string) {
		t.Helper()
		page, stream := ask(account, args)
		p := page.wantProblem(t, 400, code)
		if !bytes.Equal(page.body, stream.body) || stream.StatusCode != 400 {
			t.Errorf("%s: the stream answers otherwise: %s", args, stream.body)
		}
		if code == query.CodeLatestPairTooBroad {
			for _, selector := range []string{"itemId", "orderId", "site", "pzn", "ean", "asin"} { // RES-07b
				if !strings.Contains(p.Detail, selector) {
					t.Errorf("the detail does not name %s: %s", selector, p.Detail)
				}
			}
		}
	}

	full := decode[page](t, l.plain("/v1/results?limit=10000", l.token(manyRows)))
	if len(full.Data) != 10_000 || full.Paging.NextCursor == "" {
		t.Fatalf("%d rows, cursor %q", len(full.Data), full.Paging.NextCursor)
	}
	last := decode[page](t, l.plain("/v1/results?limit=10000&cursor="+full.Paging.NextCursor, l.token(manyRows)))
	if len(last.Data) != 1 || last.Paging.NextCursor != "" {
		t.Errorf("%d rows, cursor %q", len(last.Data), last.Paging.NextCursor)
	}
	refused(manyRows, "limit=10001", query.CodeValidation)

	accepted(pairs1000, "latestPerPair=true")
	refused(pairs1001, "latestPerPair=true", query.CodeLatestPairTooBroad)
	for _, selector := range []string{"itemId=1", "orderId=7", "site=site0.example", "pzn=01234562", "ean=4006381333931", "asin=B000000001&asinLocale=de"} { // RES-07b
		accepted(pairs1001, "latestPerPair=true&"+selector)
	}
	// A site that would fit is named if the caller may add one; parameters that
	// were given are not advised.
	for args, want := range map[string]string{"": "itemId, orderId, site, pzn, ean or asin. What fits, for example: site site0.example: 500 pairs.", "&orderId=8": ""} {
		if want == "" {
			accepted(pairs1001, "latestPerPair=true"+args)
		} else if p := l.plain("/v1/results?latestPerPair=true"+args, l.token(pairs1001)).wantProblem(t, 400, query.CodeLatestPairTooBroad); !strings.HasSuffix(p.Detail, want) {
			t.Errorf("%s: %s", args, p.Detail)
		}
	}
	if p := l.plain("/v1/results?latestPerPair=true&orderId=7", l.token(tooMany)).wantProblem(t, 400, query.CodeLatestPairTooBroad); strings.Contains(p.Detail, "orderId") || !strings.Contains(p.Detail, "Narrow with itemId, site, pzn, ean or asin.") {
		t.Errorf("with orderId it says %s", p.Detail)
	}
	if p := l.plain("/v1/results?latestPerPair=true&site=site0.example", l.token(tooMany)).wantProblem(t, 400, query.CodeLatestPairTooBroad); strings.Contains(p.Detail, "site,") || strings.Contains(p.Detail, "What fits") {
		t.Errorf("with a site it says %s", p.Detail)
	}
	accepted(product250k, "latestObservationPerPair=true")
	refused(product250k1, "latestObservationPerPair=true", query.CodeScopeTooBroad)
	accepted(product250k1, "latestObservationPerPair=true&site=site0.example")

	window := func(length time.Duration) string {
		const form = "2006-01-02T15:04:05.000Z"
		return "globalScope=true&capturedFrom=" + l.now.Add(-length).Format(form) + "&capturedTo=" + l.now.Format(form)
	}
	accepted(manyRows, window(168*time.Hour)+"&limit=10")
	refused(manyRows, window(168*time.Hour+time.Millisecond), query.CodeScopeTooBroad)
	// Seven days in Berlin are 169 h over the change in October, 167 h in
	// March.
	refused(manyRows, "globalScope=true&timezone=Europe/Berlin&capturedFrom=2026-10-20&capturedTo=2026-10-26", query.CodeScopeTooBroad)
	accepted(manyRows, "globalScope=true&timezone=Europe/Berlin&capturedFrom=2026-03-24&capturedTo=2026-03-30")
	accepted(manyRows, "globalScope=true&timezone=UTC&capturedFrom=2026-10-20&capturedTo=2026-10-26")

	// Refused requests read no observations at all.
	time.Sleep(10 * time.Millisecond) // the log's times have microseconds of another clock
	since := time.Now()
	for account, args := range map[contracts.AccountID]string{
		manyRows: "limit=10001", pairs1001: "latestPerPair=true", product250k1: "latestObservationPerPair=true", product250k: window(168*time.Hour + time.Millisecond),
	} {
		if page, stream := ask(account, args); page.StatusCode != 400 || stream.StatusCode != 400 {
			t.Errorf("%s: %d, %d", args, page.StatusCode, stream.StatusCode)
		}
	}
	onRows, refusalRows := l.statements(since)
	if onRows != 0 {
		t.Errorf("refusals ran %d statements on observations", onRows)
	}
	time.Sleep(10 * time.Millisecond)
	since = time.Now()
	l.plain("/v1/results?limit=10000", l.token(manyRows))
	onRows, pageRows := l.statements(since)
	if onRows == 0 || pageRows < 10_000 {
		t.Fatalf("the cost of a page is not seen: %d statements, %d rows", onRows, pageRows)
	}
	t.Logf("a page of 10,000 reads %d rows, eight refusals %d", pageRows, refusalRows)
	if refusalRows/8 >= 3*pageRows { // to find what to offer instead, it looks a few times through its scope of up to 4,717 pairs
		t.Errorf("a refusal reads %d rows, a page %d", refusalRows/8, pageRows)
	}
}

// A read without bounds looks back 168 hours for a product and 24 hours for
// anything else, to the millisecond; explicit bounds are used unchanged:
// RES-05a, RES-05b, RES-06, LIM-11.
func TestDefaultWindows(t *testing.T) {
	t.Parallel()
	l := serveLive(t)
	l.mark()
	l.account(1, 1, "", "")
	l.exec("INSERT INTO items VALUES (1, '4006381333931', '01234562', 'B000000001', 'de', 'x', '', '', 1)")
	l.exec("INSERT INTO sites VALUES ('shop.example', 'x', 'shop', 'DE', 'EUR', '', false, false, 1)")
	l.scope(1, 1, "SELECT toUInt64(1) AS item, 'shop.example' AS site, [toUInt64(7)] AS orders")
	// The clock of the service stands still, so that the edges do too.
	frozen := l.now
	l.clock.freeze(frozen)
	seq := 0
	for _, age := range []time.Duration{
		0, 24 * time.Hour, 24*time.Hour + time.Millisecond, 168 * time.Hour, 168*time.Hour + time.Millisecond, 700 * time.Hour,
	} {
		seq++
		l.observe(1, l.row("numbers(1)", map[string]string{"captured_at": l.at(-age), "seq": fmt.Sprintf("toUInt64(%d)", seq)}))
	}
	l.observe(1, l.row("numbers(1)", map[string]string{"captured_at": l.at(time.Millisecond), "seq": "toUInt64(99)"})) // from a crawler whose clock is fast
	day := func(age time.Duration) string { return url.QueryEscape(frozen.Add(-age).Format(time.RFC3339)) }
	for args, want := range map[string]int{
		"itemId=1": 4, "ean=4006381333931": 4, "pzn=01234562": 4, "asin=B000000001&asinLocale=de": 4, "itemId=1&site=shop.example": 4, // RES-05a
		"": 2, "site=shop.example": 2, "orderId=7": 2, // RES-06
		"itemId=1&capturedFrom=" + day(720*time.Hour): 6, "itemId=1&capturedTo=" + day(24*time.Hour): 5, // RES-05b
		"itemId=1&capturedTo=" + day(-time.Hour): 7, "site=shop.example&capturedFrom=" + day(168*time.Hour): 4,
		"latestPerPair=true": 1, "itemId=1&latestObservationPerPair=true": 1, // choices 28
	} {
		p := decode[page](t, l.get("/v1/results?"+args, l.token(1)))
		if len(p.Data) != want {
			t.Errorf("%s: %d rows, want %d", args, len(p.Data), want)
		}
		if a := l.get("/v1/results/stream?"+args, l.token(1)); a.Trailer.Get("X-Results-Returned") != fmt.Sprint(want) {
			t.Errorf("%s: the stream has %s rows, want %d", args, a.Trailer.Get("X-Results-Returned"), want)
		}
		if want == 4 && !strings.HasPrefix(args, "site") {
			if p.Query["capturedFrom"] != frozen.Add(-168*time.Hour).Format("2006-01-02T15:04:05.000Z") || p.Query["capturedTo"] != frozen.Format("2006-01-02T15:04:05.000Z") {
				t.Errorf("%s: echoes %v", args, p.Query)
			}
		}
	}
}

// The scan guard refuses what is too broad in pairs and hours together, or in
// the one of them that is set, before any scan; it is off by default; and a
// refused request is accepted when it is narrowed: RES-09a, RES-09b, RES-10a to
// RES-10e, ERR-02b.
func TestScanGuard(t *testing.T) {
	l := limitsWorld.Get(t).of(t)
	short, long := l.now.Add(-time.Hour).Format(time.RFC3339), l.now.Add(-40*time.Hour).Format(time.RFC3339)
	narrow, broad := "orderId=8&", "orderId=7&"
	foreign := decode[page](t, l.get("/v1/results?limit=1", l.token(manyRows))).Paging.NextCursor
	if foreign == "" {
		t.Fatal("no cursor")
	}
	for _, c := range []struct {
		pairs, hours int
		refuses      []string // of the four below
	}{
		{0, 0, nil}, // RES-09b
		{10, 24, []string{broad + "capturedFrom=" + long}},
		{10, 0, []string{broad + "capturedFrom=" + long, broad + "capturedFrom=" + short}},
		{0, 24, []string{broad + "capturedFrom=" + long, narrow + "capturedFrom=" + long}},
	} {
		s := l.node(t, l.db.QueryDSN, func(set *settings) { set.query.ScanGuardMaxPairs, set.query.ScanGuardMaxHours = c.pairs, c.hours })
		for _, scope := range []string{narrow, broad} {
			for _, from := range []string{short, long} {
				args := scope + "capturedFrom=" + from
				want := 200
				for _, r := range c.refuses {
					if r == args {
						want = 400
					}
				}
				time.Sleep(5 * time.Millisecond)
				since := time.Now()
				page, stream := s.get("/v1/results?"+args, s.token(pairs1001)), s.get("/v1/results/stream?"+args, s.token(pairs1001))
				follow := s.request("GET", "/v1/results/stream?"+args, s.token(pairs1001), nil)
				follow.Header.Set("Prefer", "changes-token")
				followed := s.do(follow)
				if page.StatusCode != want || stream.StatusCode != want || followed.StatusCode != want {
					t.Errorf("guard %d, %d: %s: page %d, stream %d, with a changes token %d, want %d",
						c.pairs, c.hours, args, page.StatusCode, stream.StatusCode, followed.StatusCode, want)
				}
				if want == 200 {
					continue
				}
				p := page.wantProblem(t, 400, query.CodeScopeTooBroad)
				what := map[[2]bool]string{{true, true}: "scope or window", {true, false}: "scope", {false, true}: "window"}[[2]bool{c.pairs > 0, c.hours > 0}]
				if !strings.Contains(p.Detail, "narrower "+what+".") { // RES-10b
					t.Errorf("no recovery in %q", p.Detail)
				}
				if page.Header.Get("Location") != "" { // RES-10e
					t.Errorf("%v", page.Header)
				}
				for _, more := range []string{"?sort=asc&", "?limit=1&", "/stream?coverageState=NO_RESULT&"} { // RES-10a
					s.get("/v1/results"+more+args, s.token(pairs1001)).wantProblem(t, 400, query.CodeScopeTooBroad)
				}
				s.get("/v1/results?"+args+"&cursor="+foreign, s.token(pairs1001)).is(t, 400)
				if onRows, _ := l.statements(since); onRows != 0 {
					t.Errorf("%s: a refusal ran %d statements on observations", args, onRows)
				}
			}
		}
	}
	// RES-10c, RES-10d: the recoveries that the contract names.
	s := l.surface
	from := func(age time.Duration) string {
		return "capturedFrom=" + l.now.Add(-age).Format(time.RFC3339) + "&capturedTo=" + l.now.Format(time.RFC3339)
	}
	s.get("/v1/results?globalScope=true&"+from(200*time.Hour), s.token(manyRows)).wantProblem(t, 400, query.CodeScopeTooBroad)
	s.get("/v1/results?limit=5&globalScope=true&"+from(168*time.Hour), s.token(manyRows)).is(t, 200)
	s.get("/v1/results?globalScope=true&site=site0.example&"+from(time.Hour), s.token(manyRows)).wantProblem(t, 400, query.CodeValidation)
	s.get("/v1/results?site=site0.example&"+from(time.Hour), s.token(manyRows)).is(t, 200)
}

// A response, and a line of a stream, may have as many bytes as allowed and not
// one more; a refused one is refused in full, before its first byte: LIM-02a,
// ERR-17a, ERR-17b, RES-14b, choices 41. The 64 MiB are in the capabilities.
func TestResponsesToTheByte(t *testing.T) {
	const args = "?itemId=11&site=shop-two&includeExportFields=true"
	s := serve(t)
	page, stream := s.get("/v1/results"+args, s.token(reader)), s.get("/v1/results/stream"+args, s.token(reader))
	line := bytes.IndexByte(stream.body, '\n') + 1 // all have the same length
	for over, status := range []int{200, 400} {
		s := serve(t, func(set *settings) { set.rest.MaxResponseBytes = len(page.body) - over })
		if a := s.get("/v1/results"+args, s.token(reader)); a.StatusCode != status {
			t.Errorf("a page, %d bytes too large: %d %s", over, a.StatusCode, a.body)
		} else if over > 0 {
			a.wantProblem(t, status, query.CodeResponseTooLarge)
		}
		if a := s.get("/v1/results/stream"+args, s.token(reader)); a.Trailer.Get("X-Results-Complete") != "true" { // its lines are smaller
			t.Errorf("stream: %d %v", a.StatusCode, a.Trailer)
		}
		s = serve(t, func(set *settings) { set.query.MaxResponseBytes = line - over })
		a := s.get("/v1/results/stream"+args, s.token(reader))
		if a.StatusCode != status || (a.Trailer.Get("X-Results-Complete") == "true") != (over == 0) {
			t.Errorf("a line, %d bytes too large: %d %v", over, a.StatusCode, a.Trailer)
		} else if over > 0 {
			a.wantProblem(t, status, query.CodeResponseTooLarge)
		}
	}
}
