package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"preismon/contracts/fault"
	"preismon/contracts/openapi/check"
)

// What the specification leaves open is decided in the contract, and the
// service does what was decided. Every answer below is also held against the
// contract by the harness.

func schemaNamed(name string) *openapi3.Schema {
	return check.Document().Components.Schemas[name].Value
}

func enum(s *openapi3.Schema) (values []string) {
	for _, v := range s.Enum {
		values = append(values, fmt.Sprint(v))
	}
	return values
}

func readOperation(path string) *openapi3.Operation { return check.Document().Paths.Value(path).Get }

func prose() string { return strings.Join(strings.Fields(check.Document().Info.Description), " ") }

// The fields of records: closed lists, all of them required (OPEN-02), and
// the eight lean ones of a result (OPEN-03).
func TestOpenFields(t *testing.T) {
	for name, want := range map[string]string{
		"Site":               "site name siteType countryCode currencyCode canonicalCountryMarket",
		"Item":               "itemId ean pzn asin asinLocale name brand manufacturer",
		"Order":              "orderId alias name active createdAt",
		"OrderDetail":        "orderId alias name active createdAt monitoring coverage health qualitySummary",
		"ExportHistoryEntry": "name exportName filename contentType sizeBytes archivedAt",
		"ImportHistoryEntry": "name filename contentType sizeBytes archivedAt",
		"Result":             "itemId site capturedAt availability price priceMoney currencyCode merchant",
	} {
		s := schemaNamed(name)
		if diff := cmp.Diff(strings.Fields(want), s.Required); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if s.AdditionalProperties.Has == nil || *s.AdditionalProperties.Has {
			t.Errorf("%s takes further fields", name)
		}
	}
	s := serve(t)
	for path, name := range map[string]string{"/v1/sites": "Site", "/v1/items": "Item", "/v1/results": "Result"} {
		record := s.page(path, "limit=1").Data[0]
		for field := range record {
			if !slices.Contains(schemaNamed(name).Required, field) {
				t.Errorf("%s has %s", path, field)
			}
		}
		if len(record) != len(schemaNamed(name).Required) {
			t.Errorf("%s: %v", path, record)
		}
	}
}

// The values of reason codes (OPEN-04) and of coverage states (OPEN-06), as
// a filter takes them and as a result has them.
func TestOpenValues(t *testing.T) {
	want := strings.Fields(`PRICE_OBSERVED PRODUCT_UNAVAILABLE PRODUCT_NOT_FOUND ACCESS_TEMPORARILY_RESTRICTED SITE_TEMPORARILY_UNAVAILABLE PENDING OVERDUE UNKNOWN`)
	if diff := cmp.Diff(want, enum(schemaNamed("OrderObservationReasonCode"))); diff != "" {
		t.Error(diff)
	}
	states := strings.Fields("PRICE_OBSERVED UNAVAILABLE PRODUCT_NOT_FOUND NO_RESULT UNKNOWN")
	filter := readOperation("/v1/results").Parameters.GetByInAndName("query", "coverageState").Schema
	field := schemaNamed("Result").Properties["coverageState"]
	for what, s := range map[string]*openapi3.SchemaRef{"filter": filter, "field": field} {
		if diff := cmp.Diff(states, enum(s.Value)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	s := serve(t)
	for _, state := range states {
		if a := s.get("/v1/results?coverageState="+state, s.token(reader)); a.StatusCode != 200 {
			t.Errorf("%s: %d", state, a.StatusCode)
		}
	}
	s.get("/v1/results?coverageState=PENDING", s.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	if got := s.page("/v1/results", "includeCoverage=true").Data[0]["coverageState"]; got != "PRICE_OBSERVED" {
		t.Errorf("%v", got)
	}
}

// Records have no states and no transitions but a token's two (OPEN-05,
// OPEN-07), and the one transition happens.
func TestOpenStates(t *testing.T) {
	if !strings.Contains(prose(), "Records have no states and no transitions, other than a token's: valid until it expires or is revoked.") {
		t.Error("the contract does not say so")
	}
	for name, s := range check.Document().Components.Schemas {
		for field := range s.Value.Properties {
			if strings.EqualFold(field, "state") || strings.EqualFold(field, "status") && name != "Problem" && name != "Health" {
				t.Errorf("%s has %s", name, field)
			}
		}
	}
	s := serve(t)
	token := s.token(reader)
	before, out, after := s.get("/v1/sites", token), s.logout(token), s.get("/v1/sites", token)
	if before.StatusCode != 200 || out.StatusCode != 200 || after.StatusCode != 401 {
		t.Errorf("%d %d %d", before.StatusCode, out.StatusCode, after.StatusCode)
	}
}

// Every list has the same shape: data, paging with limit and returned and
// nextCursor while there is more, and query (OPEN-08).
func TestOpenListShape(t *testing.T) {
	for _, name := range []string{
		"SitePage", "ItemPage", "AsinLocalePage", "OrderPage", "ObservationQualityPage", "ExportPage", "ExportHistoryPage", "ImportPage",
		"ImportHistoryPage", "ResultPage",
	} {
		if diff := cmp.Diff([]string{"data", "paging", "query"}, schemaNamed(name).Required); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff([]string{"limit", "returned"}, schemaNamed(name).Properties["paging"].Value.Required); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if p := schemaNamed("Paging").Properties["nextCursor"]; p == nil || !p.Value.Type.Is("string") {
		t.Error("paging has no nextCursor")
	}
	s := serve(t)
	for _, path := range []string{"/v1/sites", "/v1/items", "/v1/results"} {
		some := decode[map[string]map[string]any](t, answer{body: withoutData(t, s.get(path+"?limit=1", s.token(reader)).body)})
		all := decode[map[string]map[string]any](t, answer{body: withoutData(t, s.get(path+"?limit=100", s.token(reader)).body)})
		if len(some) != 2 || some["query"] == nil || len(some["paging"]) != 3 || some["paging"]["nextCursor"] == "" || some["paging"]["limit"] != 1.0 || some["paging"]["returned"] != 1.0 {
			t.Errorf("%s: %v", path, some)
		}
		if len(all["paging"]) != 2 || all["paging"]["limit"] != 100.0 {
			t.Errorf("%s: %v", path, all)
		}
	}
}

func withoutData(t *testing.T, body []byte) []byte {
	t.Helper()
	data, rest, ok := strings.Cut(string(body), `],"paging"`)
	if !ok || !strings.HasPrefix(data, `{"data":[`) {
		t.Fatalf("%s", body)
	}
	return []byte(`{"paging"` + rest)
}

// One pair of date bounds, shared by all six operations on histories
// (OPEN-09).
func TestOpenDateBounds(t *testing.T) {
	operations := 0
	for path, item := range check.Paths() {
		if !strings.Contains(path, "/history") {
			continue
		}
		operations++
		for _, name := range []string{"dateFrom", "dateTo"} {
			i := slices.IndexFunc(item.Get.Parameters, func(p *openapi3.ParameterRef) bool { return p.Value.Name == name })
			if i < 0 || item.Get.Parameters[i].Ref != "#/components/parameters/"+name {
				t.Errorf("%s does not share %s", path, name)
			}
		}
	}
	if operations != 6 {
		t.Errorf("%d operations", operations)
	}
	for _, name := range []string{"dateFrom", "dateTo"} {
		p := check.Document().Components.Parameters[name].Value
		for value, right := range map[string]bool{
			"2026-03-01": true, "2026-03-01T12:00:00Z": true, "2026-03-01T12:00:00.5+01:00": true,
			"01.03.2026": false, "2026-03-01T12:00:00": false, "20260301": false, "2026-03": false,
		} {
			if err := p.Schema.Value.VisitJSON(value); (err == nil) != right {
				t.Errorf("%s %s: %v", name, value, err)
			}
		}
		if !strings.Contains(p.Description, "UTC") {
			t.Errorf("%s says no zone", name)
		}
	}
}

// Nothing is pushed (OPEN-15).
func TestOpenEvents(t *testing.T) {
	if !strings.Contains(prose(), "there are no events, webhooks or notifications") {
		t.Error("the contract does not say so")
	}
	doc := check.Document()
	if len(doc.Webhooks) != 0 {
		t.Errorf("%d webhooks", len(doc.Webhooks))
	}
	for path, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			if len(op.Callbacks) != 0 {
				t.Errorf("%s calls back", path)
			}
		}
		for _, word := range []string{"webhook", "event", "subscri", "notif"} {
			if strings.Contains(strings.ToLower(path), word) {
				t.Errorf("%s", path)
			}
		}
	}
	s := serve(t)
	for _, path := range []string{"/v1/events", "/v1/webhooks", "/v1/notifications"} {
		s.get(path, s.token(reader)).wantProblem(t, 404, "NOT_FOUND")
	}
	r := s.request("GET", "/v1/sites", s.token(reader), nil) // not even to who asks for it
	r.Header.Set("Accept", "text/event-stream")
	if a := s.do(r); a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v", a.Header)
	}
}

// The statuses of the codes that the specification gives none (OPEN-16), and
// the codes of the statuses that it gives none (OPEN-17).
func TestOpenCodes(t *testing.T) {
	described := schemaNamed("ErrorCode").Description
	for code, where := range map[string][]string{ // OPEN-16
		"ITEM_SCOPE_TOO_BROAD":           {"/v1/items", "/v1/items/asin-locales"},
		"HISTORY_SCOPE_TOO_BROAD":        {"/v1/orders/{orderId}/exports/history", "/v1/orders/{orderId}/imports/history/latest"},
		"ORDER_COVERAGE_SCOPE_TOO_BROAD": {"/v1/orders", "/v1/orders/{orderId}"},
		"ORDER_SCOPE_TOO_BROAD":          {"/v1/orders/{orderId}/exports"},
		"RESPONSE_TOO_LARGE":             {"/v1/sites", "/v1/results", "/v1/results/stream"},
	} {
		if !strings.Contains(described, "- `"+code+"` (400):") {
			t.Errorf("%s has no status", code)
		}
		for _, path := range where {
			if !slices.Contains(codesOf(readOperation(path), http.StatusBadRequest), code) {
				t.Errorf("%s does not list %s under 400", path, code)
			}
		}
	}
	s := serve(t, func(set *settings) { set.rest.MaxResponseBytes = 200 })
	s.get("/v1/sites", s.token(reader)).wantProblem(t, 400, "RESPONSE_TOO_LARGE")

	for status, want := range map[int][]string{ // OPEN-17
		403: {"AUTH_FORBIDDEN"}, 429: {"RATE_LIMIT_EXCEEDED"}, 500: {"INTERNAL_ERROR"},
	} {
		for _, path := range []string{"/v1/sites", "/v1/orders", "/v1/results", "/v1/orders/{orderId}/imports/history/download"} {
			if diff := cmp.Diff(want, codesOf(readOperation(path), status)); diff != "" {
				t.Errorf("%s %d: %s", path, status, diff)
			}
		}
	}
	logout := check.Document().Paths.Value("/v1/auth/logout").Post
	if diff := cmp.Diff([]string{"LOGOUT_REVOCATION_FAILED", "INTERNAL_ERROR"}, codesOf(logout, 500)); diff != "" {
		t.Error(diff)
	}
	s = serve(t, func(set *settings) { set.throttle.Reads.Requests = 2 })
	s.get("/v1/results", s.token(narrow)).wantProblem(t, 403, "AUTH_FORBIDDEN")
	s.store.breakDown(func(string) error { return errBroken })
	s.get("/v1/sites", s.token(reader)).wantProblem(t, 500, "INTERNAL_ERROR")
	s.get("/v1/sites", s.token(narrow)).wantProblem(t, 500, "INTERNAL_ERROR")
	s.get("/v1/sites", s.token(narrow)).wantProblem(t, 429, "RATE_LIMIT_EXCEEDED")
	s.revoked.breakDown(fault.New(fault.Unavailable, "", "away"), nil)
	s.logout(s.token(reader)).wantProblem(t, 500, "LOGOUT_REVOCATION_FAILED")
}

// codesOf lists the codes that an operation may answer with under a status.
func codesOf(op *openapi3.Operation, status int) (codes []string) {
	for _, part := range op.Responses.Status(status).Value.Content["application/problem+json"].Schema.Value.AllOf {
		if code := part.Value.Properties["code"]; code != nil && part.Ref == "" {
			codes = append(codes, enum(code.Value)...)
		}
	}
	return codes
}

// The numbers of the rate limits, whom they count, and that they are so where
// nothing else is configured (OPEN-18).
func TestOpenRateLimits(t *testing.T) {
	for _, words := range []string{
		"an account has 600 requests in 60 seconds and 8 results reads",
		"a login and an address have 10 attempts to get a token in 60 seconds",
		"Requests without a valid token count for their address.",
	} {
		if !strings.Contains(prose(), words) {
			t.Errorf("the contract does not say %q", words)
		}
	}
	s := serve(t)
	header := func(a answer, name string) int {
		n, err := strconv.Atoi(a.Header.Get(name))
		must(t, err)
		return n
	}
	read := s.get("/v1/sites", s.token(reader))
	if limit, left := header(read, "X-RateLimit-Limit"), header(read, "X-RateLimit-Remaining"); limit != 600 || left != 599 {
		t.Errorf("reads: %d of %d", left, limit)
	}
	if ends := header(read, "X-RateLimit-Reset") - int(s.clock.now().Unix()); ends < 0 || ends > 61 {
		t.Errorf("the window ends in %d s", ends)
	}
	login := s.login("reader@example.com", "wrong")
	if limit := header(login, "X-RateLimit-Limit"); limit != 10 {
		t.Errorf("logins: %d", limit)
	}
	other := s.get("/v1/sites", s.token(narrow)) // counted for itself
	if left := header(other, "X-RateLimit-Remaining"); left != 599 {
		t.Errorf("another account has %d left", left)
	}
}

// Default and maximum of limit, but for results (OPEN-19).
func TestOpenLimits(t *testing.T) {
	for path, item := range check.Paths() {
		p := (*openapi3.Parameter)(nil)
		if item.Get != nil {
			p = item.Get.Parameters.GetByInAndName("query", "limit")
		}
		if p == nil || !strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/v1/results") {
			continue
		}
		value := func(n int) any {
			if p.Schema.Value.Type.Is("string") {
				return strconv.Itoa(n)
			}
			return float64(n)
		}
		for n, right := range map[int]bool{1: true, 100: true, 999: true, 1000: true, 0: false, 1001: false, 10_000: false, -1: false} {
			if err := p.Schema.Value.VisitJSON(value(n)); (err == nil) != right {
				t.Errorf("%s: limit %d: %v", path, n, err)
			}
		}
		if fmt.Sprint(p.Schema.Value.Default) != "100" {
			t.Errorf("%s: default %v", path, p.Schema.Value.Default)
		}
	}
	s := serve(t)
	for _, path := range []string{"/v1/sites", "/v1/items"} {
		if p := s.page(path); p.Paging.Limit != 100 {
			t.Errorf("%s: default %d", path, p.Paging.Limit)
		}
		if p := s.page(path, "limit=1000"); p.Paging.Limit != 1000 {
			t.Errorf("%s: %d", path, p.Paging.Limit)
		}
		s.get(path+"?limit=1001", s.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	}
}

// The size of a request body (OPEN-20).
func TestOpenBodySize(t *testing.T) {
	if !strings.Contains(prose(), "A request body may have 64 KiB.") {
		t.Error("the contract does not say so")
	}
	s := serve(t)
	p := s.postLogin(`{"loginIdentifier":"`+strings.Repeat("x", 64<<10)+`","password":"x"}`).wantProblem(t, 413, "PAYLOAD_TOO_LARGE")
	if p.MaxBytes == nil || *p.MaxBytes != 64<<10 {
		t.Errorf("%+v", p)
	}
	example := check.Document().Components.Responses["PayloadTooLarge"].Value.Content["application/problem+json"].Example.(map[string]any)
	if fmt.Sprint(example["maxBytes"]) != strconv.Itoa(64<<10) {
		t.Errorf("the example says %v", example["maxBytes"])
	}
}

// The data of examples and of demonstrations is made up, and the contract
// says so (OPEN-01).
func TestOpenSampleData(t *testing.T) {
	if !strings.Contains(prose(), "Values in examples are made up; so is the data that a server shows when it was started for a demonstration.") {
		t.Error("the contract does not say so")
	}
	for path, item := range check.Paths() {
		if item.Get == nil || item.Get.Security != nil {
			continue
		}
		content := item.Get.Responses.Status(200).Value.Content["application/json"]
		if content != nil && content.Example == nil {
			t.Errorf("%s shows no example", path)
		}
	}
}
