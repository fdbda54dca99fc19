package rest_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"preismon/contracts/openapi"
	"preismon/contracts/openapi/openapitest"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/rest"
)

// The routes are exactly the operations of the contract. POST /mcp is served by
// a separate surface, which is mounted alongside.
func TestRoutesAreTheContract(t *testing.T) {
	docs := must.Get(openapi.Documents(baseURL))(t)
	var documented []string
	for path, item := range openapitest.Paths() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+path)
		}
	}
	served := append(rest.Routes(docs...), "POST /mcp")
	slices.Sort(served)
	slices.Sort(documented)
	equals.Check(t, documented, served)
}

// publicPaths are the public documents and their media types.
var publicPaths = map[string]string{
	"/healthz":              "application/json", // PUB-01
	"/openapi/openapi.yaml": "application/yaml", // PUB-02, GEN-10a
	"/openapi/openapi.json": "application/json", // PUB-03, GEN-10a
	"/openapi/reads.yaml":   "application/yaml",
	"/openapi/files.yaml":   "application/yaml",
	"/openapi/agents.yaml":  "application/yaml",
	"/openapi/CHANGELOG.md": "text/plain; charset=utf-8", // PUB-04, GEN-10b, VER-04a
	"/openapi/postman/preismonitoring-rest-read.postman_collection.json": "application/json", // PUB-05a, GEN-10c
	"/openapi/ext.yaml":         "application/yaml",
	"/openapi/ext.json":         "application/json",
	"/openapi/EXT-CHANGELOG.md": "text/plain; charset=utf-8",
	"/llms.txt":                 "text/plain; charset=utf-8", // PUB-06, GEN-10d
	"/llms-full.txt":            "text/plain; charset=utf-8", // PUB-07, GEN-10e
}

// Public documents are for everyone, whatever the request says about its sender
// (PUB-00a, AUTH-07).
func TestPublicDocuments(t *testing.T) {
	s := serve(t)
	revoked := s.token(reader)
	s.logout(revoked)
	for path, media := range publicPaths {
		var first []byte
		for _, authorization := range []string{"", "Bearer garbage", "Bearer", "Basic cmVhZGVyOng=", "Digest x", "Bearer " + revoked, "Bearer " + s.token(reader)} {
			r := s.request("GET", path, "", nil)
			if authorization != "" {
				r.Header.Set("Authorization", authorization)
			}
			a := s.do(r)
			if a.StatusCode != 200 || a.Header.Get("Content-Type") != media || a.Header.Get("Cache-Control") != "no-store" || len(a.body) == 0 {
				t.Errorf("%s with %q: %d %v", path, authorization, a.StatusCode, a.Header)
			}
			if first == nil {
				first = a.body
			}
			if !bytes.Equal(a.body, first) {
				t.Errorf("%s with %q: another body", path, authorization)
			}
		}
	}
	doc := must.Get(openapi3.NewLoader().LoadFromData(s.get("/openapi/openapi.yaml", "").body))(t) // PUB-02
	must.Do(t, doc.Validate(t.Context(), openapi3.EnableSchemaPatternValidation()))
	if len(doc.Servers) != 1 || doc.Servers[0].URL != baseURL { // GEN-11
		t.Errorf("%+v", doc.Servers)
	}
	var fromJSON map[string]any
	must.Do(t, json.Unmarshal(s.get("/openapi/openapi.json", "").body, &fromJSON))
	info, _ := fromJSON["info"].(map[string]any)
	health := decode[map[string]string](t, s.get("/healthz", ""))
	if v := openapi.Version(); info["version"] != v || doc.Info.Version != v || health["contractVersion"] != v { // VER-01a, VER-01b
		t.Errorf("%v, %s, %v", info["version"], doc.Info.Version, health)
	}
}

// Public documents are outside the rate limits: they do not report them, are
// never refused, and do not count against them (PUB-00b, RATE-02b).
func TestPublicDocumentsAreNotLimited(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 3 })
	for path := range publicPaths {
		a := s.get(path, "")
		for name := range a.Header {
			if strings.Contains(strings.ToLower(name), "ratelimit") {
				t.Errorf("%s: %s", path, name)
			}
		}
		if a.StatusCode != 200 {
			t.Fatalf("%s: %d", path, a.StatusCode)
		}
	}
	equals.Is(t, "2", s.get("/v1/sites", "").Header.Get("X-RateLimit-Remaining"), "the documents counted left of 3")
}

// The build is the program's, the contract version the contract's; neither
// changes the answers, and what a client says about versions is ignored
// (VER-01c, HLTH-04).
func TestVersionsAreDiagnostic(t *testing.T) {
	var answers [][]byte
	for _, build := range []string{"v1.0.0", "v9.9.9-test"} {
		s := serve(t, func(set *settings) { set.rest.Build = build })
		health := map[string]string{"status": "ok", "contractVersion": openapi.Version(), "build": build} // HLTH-01, HLTH-02, HLTH-03
		equals.Check(t, health, decode[map[string]string](t, s.get("/healthz", "")))
		for _, version := range []string{"", "0.5", "99"} {
			r := s.request("GET", "/v1/sites", s.token(reader), nil)
			if version != "" {
				r.Header.Set("X-Contract-Version", version)
				r.Header.Set("Accept-Version", version)
				r.Header.Set("User-Agent", "client/"+version)
			}
			answers = append(answers, s.do(r).body)
		}
	}
	for _, a := range answers[1:] {
		if !bytes.Equal(a, answers[0]) {
			t.Errorf("%s\n%s", answers[0], a)
		}
	}
	op := openapitest.Document().Paths.Value("/healthz").Get
	if !strings.Contains(op.Description, "diagnostic") || !strings.Contains(openapitest.Document().Info.Description, "`GET /v1/results/capabilities`") {
		t.Errorf("%s", op.Description)
	}
}

// Each code has a page that says what to do, there are no other pages, and a
// problem's type names such a page.
func TestProblemPages(t *testing.T) {
	s := serve(t)
	for _, c := range openapitest.Document().Components.Schemas["ErrorCode"].Value.Enum {
		code := c.(string)
		a := s.get("/problems/"+strings.ReplaceAll(strings.ToLower(code), "_", "-"), "")
		if a.StatusCode != 200 || a.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(string(a.body), "<code>"+code+"</code>") {
			t.Errorf("%s: %d %s", code, a.StatusCode, a.body)
		}
		if _, remedy, _ := strings.Cut(string(a.body), "</code></p>\n<p>"); len(remedy) < 40 || strings.HasPrefix(remedy, "</p>") {
			t.Errorf("%s: no sentence says what to do: %s", code, a.body)
		}
	}
	for _, path := range []string{"/problems/none", "/problems/NOT_FOUND", "/problems/not_found", "/problems/Not-Found", "/problems/not-found/x", "/problems/"} {
		s.get(path, "").wantProblem(t, 404, "NOT_FOUND")
	}
	p := s.get("/v1/sites", "").wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	s.get(strings.TrimPrefix(p.Type, baseURL), "").is(t, 200)
}

// The steps that the texts for newcomers describe work as described.
func TestFirstSteps(t *testing.T) {
	s := serve(t)
	if a := s.get("/healthz", ""); a.StatusCode != 200 { // GEN-08a
		t.Fatalf("%d", a.StatusCode)
	}
	s.get("/v1/sites", "").wantProblem(t, 401, "AUTH_TOKEN_INVALID") // GEN-04
	login := decode[struct{ AccessToken, TokenType string }](t, s.login("reader@example.com", password))
	if login.TokenType != "Bearer" || login.AccessToken == "" { // GEN-08b, GEN-04
		t.Fatalf("%+v", login)
	}
	sites := decode[page](t, s.get("/v1/sites", login.AccessToken)) // GEN-08c
	if len(sites.Data) == 0 {
		t.Fatal("no sites")
	}
	results := decode[page](t, s.get("/v1/results?limit=10", login.AccessToken)) // GEN-08d
	if len(results.Data) != 10 {
		t.Errorf("%d results", len(results.Data))
	}
	now := time.Now().UTC()
	window := "capturedFrom=" + now.Add(-24*time.Hour).Format(time.RFC3339) + "&capturedTo=" + now.Format(time.RFC3339)
	for _, narrower := range []string{"itemId=11", "site=shop-one", "itemId=11&" + window} { // GEN-08d
		s.page("/v1/results", "limit=10&"+narrower)
	}
	rows := 0
	for _, key := range keys(sites, "site") { // GEN-G1, GEN-G2: one read a site, 24 hours
		for _, site := range keys(s.page("/v1/results", "site="+key+"&"+window), "site") {
			rows++
			if site != key {
				t.Errorf("a row of %s in the read of %s", site, key)
			}
		}
	}
	if whole := len(s.page("/v1/results", "").Data); rows != whole || rows == 0 {
		t.Errorf("%d rows site by site, %d at once", rows, whole)
	}
}

// Something that the caller may not see and something that does not exist yield
// the same empty page, and the documents say what that means (VIS-03).
func TestEmptyProvesNothing(t *testing.T) {
	s := serve(t)
	absent := s.get("/v1/results?ean=12345670", s.token(reader))
	p := decode[page](t, absent)
	if absent.StatusCode != 200 || len(p.Data) != 0 || p.Paging.NextCursor != "" {
		t.Errorf("%d %s", absent.StatusCode, absent.body)
	}
	for _, path := range []string{"/llms.txt", "/llms-full.txt", "/openapi/openapi.yaml"} {
		text := strings.Join(strings.Fields(string(s.get(path, "").body)), " ")
		if !strings.Contains(text, "does not prove that a product") {
			t.Errorf("%s does not say what an empty answer means", path)
		}
	}
	if !strings.Contains(prose(), "follow it as long as it is there and do not stop at a page with fewer records than `limit`") { // RES-11c
		t.Error("the contract does not say when a walk ends")
	}
}

// The names of the REST interface have exactly the fixed spelling, and another
// case is another name (GEN-01c, except for the names of MCP).
func TestNamesAreExact(t *testing.T) {
	s := serve(t)
	text := string(s.get("/openapi/openapi.yaml", "").body) + string(s.get("/llms-full.txt", "").body)
	for _, name := range strings.Fields(`
		/healthz /v1/auth/token /v1/auth/logout /v1/sites /v1/items /v1/items/asin-locales /v1/orders /v1/orders/{orderId}
		/v1/orders/{orderId}/observation-quality /v1/orders/{orderId}/exports /v1/orders/{orderId}/exports/history
		/v1/orders/{orderId}/exports/history/latest /v1/orders/{orderId}/exports/history/download /v1/orders/{orderId}/imports
		/v1/orders/{orderId}/imports/history /v1/orders/{orderId}/imports/history/latest /v1/orders/{orderId}/imports/history/download
		/v1/results /v1/results/stream /v1/results/capabilities /openapi/openapi.yaml /openapi/openapi.json /openapi/CHANGELOG.md
		/openapi/postman/preismonitoring-rest-read.postman_collection.json /llms.txt /llms-full.txt
		itemId ean pzn asin asinLocale site orderId alias globalScope brand manufacturer merchant isPrime isBuyBox coverageState capturedFrom
		capturedTo sort timezone latestPerPair latestObservationPerPair includeCoverage includeOrderIds includeCustomerData includeExportFields
		includeIdentity includeMonitoring reasonCode exportName latest limit cursor name
		status contractVersion build loginIdentifier password tokenType accessToken expiresIn revoked type title detail code actualBytes maxBytes
		capturedAt productRating customerReferencePrices referencePrice referencePriceMoney value scale amountMinor currencyCode appliesToSite
		referenceQuantity priceType nextCursor returned qualitySummary configuredObservations expectedProcessedByNow sourceCountsConsistent
		OrderObservationReasonCode PRODUCT_NOT_FOUND ACCESS_TEMPORARILY_RESTRICTED UNKNOWN scopeGuard
		MVP_VALIDATION_ERROR RESULTS_SCOPE_TOO_BROAD RESULTS_LATEST_PAIR_SCOPE_TOO_BROAD AUTH_SCHEME_NOT_ALLOWED ORDER_NOT_FOUND
		HISTORY_ARTIFACT_NOT_FOUND HISTORY_ARTIFACT_CONTENT_MISSING PAYLOAD_TOO_LARGE RESULTS_QUERY_TIMEOUT ITEM_SCOPE_TOO_BROAD
		HISTORY_SCOPE_TOO_BROAD ORDER_COVERAGE_SCOPE_TOO_BROAD ORDER_SCOPE_TOO_BROAD RESPONSE_TOO_LARGE ITEM_CATEGORY_NOT_AVAILABLE
		X-Request-Id X-RateLimit-Limit X-RateLimit-Remaining X-RateLimit-Reset X-Results-Scope Retry-After Content-Disposition
		RUST_API_RESULTS_SCAN_GUARD_MAX_SCOPE_PAIRS RUST_API_RESULTS_SCAN_GUARD_MAX_WINDOW_HOURS RUST_API_ARCHIVE_DOWNLOAD_MAX_BYTES`) {
		if !holdsName(text, name) {
			t.Errorf("%s is in no document", name)
		}
	}
	for _, path := range []string{"/Healthz", "/V1/sites", "/openapi/changelog.md", "/LLMS.txt", "/v1/results/Capabilities"} {
		s.get(path, s.token(reader)).wantProblem(t, 404, "NOT_FOUND")
	}
	for _, args := range []string{"ItemId=11", "EAN=4006381333931", "capturedfrom=2026-01-01", "SORT=asc"} {
		s.get("/v1/results?"+args, s.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	}
}

// holdsName reports whether a name is in a text, and not as a part of another
// name.
func holdsName(text, name string) bool {
	within := func(b string) bool { return b != "" && regexp.MustCompile(`[A-Za-z0-9_]`).MatchString(b) }
	for {
		before, after, found := strings.Cut(text, name)
		if !found || !within(before[max(len(before)-1, 0):]) && !within(after[:min(len(after), 1)]) {
			return found
		}
		text = after
	}
}

// Where there is nothing, a browser gets a page in its language; programs, and
// all requests below /v1, get a problem.
func TestNothingForPeople(t *testing.T) {
	s := serve(t)
	ask := func(path, accept, language string) answer {
		r := s.request("GET", path, "", nil)
		r.Header.Set("Accept", accept)
		r.Header.Set("Accept-Language", language)
		return s.do(r)
	}
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, c := range []struct{ path, language, want, style string }{
		{"/nothing", "en", "There is nothing here", `href="./docs/style.css"`},
		{"/a/b/c", "de-DE", "Hier ist nichts", `href="./../../docs/style.css"`},
	} {
		a := ask(c.path, browser, c.language)
		body := string(a.body)
		if a.StatusCode != 404 || a.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(body, c.want) || !strings.Contains(body, c.style) {
			t.Errorf("%s: %d %v %s", c.path, a.StatusCode, a.Header, body)
		}
		if vary := strings.Join(a.Header.Values("Vary"), ", "); !strings.Contains(vary, "Accept, Accept-Language") || !strings.Contains(a.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %v", c.path, a.Header)
		}
		ask(c.path, "*/*", c.language).wantProblem(t, 404, "NOT_FOUND")
	}
	ask("/v1/nothing", browser, "en").wantProblem(t, 404, "NOT_FOUND")
}
