package rest_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"preismon/contracts/openapi/openapitest"
	"preismon/deploy/testserver/equals"
)

// What the specification leaves open is decided in the contract. The harness,
// which checks every answer of every test against the contract, verifies that
// the service follows it.

func schemaNamed(name string) *openapi3.Schema {
	return openapitest.Document().Components.Schemas[name].Value
}

func prose() string {
	return strings.Join(strings.Fields(openapitest.Document().Info.Description), " ")
}

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
		equals.Checkf(t, strings.Fields(want), s.Required, "%s", name)
		if s.AdditionalProperties.Has == nil || *s.AdditionalProperties.Has {
			t.Errorf("%s takes further fields", name)
		}
	}
}

// Default and maximum of limit, except for results (OPEN-19).
func TestOpenLimits(t *testing.T) {
	for path, item := range openapitest.Paths() {
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
	for path, item := range openapitest.Paths() {
		if item.Get == nil || item.Get.Security != nil {
			continue
		}
		content := item.Get.Responses.Status(200).Value.Content["application/json"]
		if content != nil && content.Example == nil {
			t.Errorf("%s shows no example", path)
		}
	}
}
