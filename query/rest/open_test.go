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

	"preismon/contracts/openapi/check"
)

// What the specification leaves open is decided in the contract. The harness,
// which checks every answer of every test against the contract, verifies that
// the service follows it.

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

// The fields of records: closed lists, all of them required (OPEN-02), and the
// eight lean ones of a result (OPEN-03).
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
}

// The values of reason codes (OPEN-04) and of coverage states (OPEN-06), as a
// filter accepts them and as a result has them.
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
}

// Records have no states and no transitions (OPEN-05, OPEN-07).
func TestOpenStates(t *testing.T) {
	for name, s := range check.Document().Components.Schemas {
		for field := range s.Value.Properties {
			if strings.EqualFold(field, "state") || strings.EqualFold(field, "status") && name != "Problem" && name != "Health" {
				t.Errorf("%s has %s", name, field)
			}
		}
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
		if !strings.Contains(check.Document().Components.Parameters[name].Value.Description, "UTC") {
			t.Errorf("%s says no zone", name)
		}
	}
}

// Nothing is pushed (OPEN-15).
func TestOpenEvents(t *testing.T) {
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
}

// The statuses of the codes for which the specification names none (OPEN-16),
// and the codes of the statuses for which it names none (OPEN-17).
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
}

// codesOf returns the codes that an operation may answer with under a status.
func codesOf(op *openapi3.Operation, status int) (codes []string) {
	for _, part := range op.Responses.Status(status).Value.Content["application/problem+json"].Schema.Value.AllOf {
		if code := part.Value.Properties["code"]; code != nil && part.Ref == "" {
			codes = append(codes, enum(code.Value)...)
		}
	}
	return codes
}

// Unless configured otherwise, the request limits are those that the contract
// states (OPEN-18).
func TestOpenRateLimits(t *testing.T) {
	s := serve(t)
	if a := s.get("/v1/sites", s.token(reader)); a.Header.Get("X-RateLimit-Limit") != "600" {
		t.Errorf("reads: %v", a.Header)
	}
	if a := s.login("reader@example.com", "wrong"); a.Header.Get("X-RateLimit-Limit") != "10" {
		t.Errorf("logins: %v", a.Header)
	}
}

// Default and maximum of limit, except for results (OPEN-19).
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
}

// The contract states what was decided where the specification leaves it open.
func TestOpenSentences(t *testing.T) {
	for _, c := range []struct{ rules, sentence string }{
		{"OPEN-01", "Values in examples are made up; so is the data that a server shows when it was started for a demonstration."},
		{"OPEN-05, OPEN-07", "Records have no states and no transitions, other than a token's: valid until it expires or is revoked."},
		{"OPEN-15", "there are no events, webhooks or notifications"},
		{"OPEN-18", "an account has 600 requests in 60 seconds and 8 results reads"},
		{"OPEN-18", "a login and an address have 10 attempts to get a token in 60 seconds"},
		{"OPEN-18", "Requests without a valid token count for their address."},
		{"OPEN-20", "A request body may have 64 KiB."},
	} {
		if !strings.Contains(prose(), c.sentence) {
			t.Errorf("%s: the contract does not say %q", c.rules, c.sentence)
		}
	}
}

// Every operation that needs a token shows an example (OPEN-01).
func TestOpenSampleData(t *testing.T) {
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
