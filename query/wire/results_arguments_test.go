package wire_test

import (
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/wire"
)

// request draws any valid request.
func request(t *rapid.T) query.ResultsRequest {
	text := func(name, form string) string {
		if rapid.Bool().Draw(t, name+"?") {
			return ""
		}
		return norm.NFC.String(rapid.StringMatching(form).Draw(t, name)) // as in each decoded request
	}
	id := func(name string) uint64 { return rapid.Uint64().Draw(t, name) }
	flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
	choice := func(name string) *bool {
		return rapid.SampledFrom([]*bool{nil, new(bool), func() *bool { yes := true; return &yes }()}).Draw(t, name)
	}
	const words = `[^\p{C}]{1,60}`
	r := query.ResultsRequest{
		Cursor: text("cursor", `[A-Za-z0-9_-]{1,200}`), OrderID: contracts.OrderID(id("orderId")), ItemID: contracts.ItemID(id("itemId")),
		PZN: text("pzn", `[0-9]{8}`), EAN: text("ean", `[0-9]{8,14}`), ASINLocale: text("asinLocale", `[a-z]{2}`), ASIN: text("asin", `[A-Z0-9]{10}`),
		Site: contracts.SiteKey(text("site", `[a-z0-9][a-z0-9._-]{0,20}`)), GlobalScope: flag("globalScope"),
		Filters: query.Filters{
			Brand: text("brand", words), Manufacturer: text("manufacturer", words), Merchant: text("merchant", words),
			IsPrime: choice("isPrime"), IsBuyBox: choice("isBuyBox"), CoverageState: text("coverageState", `[A-Z_]{1,20}`),
		},
		CapturedFrom: text("capturedFrom", `20[0-9]{2}-01-01T00:00:00Z`), CapturedTo: text("capturedTo", `20[0-9]{2}-01-01`),
		Sort: text("sort", `asc|desc`), Timezone: text("timezone", `UTC|Europe/Berlin`),
		LatestPerPair: flag("latestPerPair"), LatestObservationPerPair: flag("latestObservationPerPair"),
		Include: query.Include{
			Coverage: flag("coverage"), OrderIDs: flag("orderIds"), CustomerData: flag("customerData"), ExportFields: flag("exportFields"), Identity: flag("identity"),
		},
	}
	if flag("limited") {
		limit := rapid.IntRange(1, 10_000).Draw(t, "limit")
		r.Limit = &limit
	}
	return r
}

// Arguments written for a request decode to that request (choices 52).
func TestArgumentsOfResultsAreTheInverseOfTheirDecoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := request(t)
		object := must.Get(wire.Marshal(wire.ResultsArguments(want)))(t)
		got, err := wire.DecodeResults(wire.FromArguments(object))
		if err != nil {
			t.Fatalf("%s: %v", object, err)
		}
		equals.Checkf(t, want, got, "%s", object)
	})
}

// An operation lists its parameters without a request.
func TestParametersOfAnOperation(t *testing.T) {
	for name, c := range map[string]struct {
		op   wire.Operation
		want []string
	}{
		"sites":   {wire.Sites, []string{"limit", "cursor", "site"}},
		"order":   {wire.Order, []string{"orderId"}},
		"locales": {wire.ASINLocales, nil},
		"imports": {wire.History(query.Imports), []string{"orderId", "dateFrom", "dateTo", "name", "limit", "cursor"}},
		"items":   {wire.SearchItems, []string{"limit", "cursor", "itemId", "ean", "pzn", "asin", "asinLocale", "name", "category", "discoverCategories"}},
	} {
		equals.Slices(t, c.want, c.op.Parameters(), "%s", name)
	}
}

// A number is what JSON Schema says it is: 5.0 is an integer, "5" a string.
func TestIntegersInArguments(t *testing.T) {
	for object, want := range map[string]int{`{"limit":5}`: 5, `{"limit":5.0}`: 5, `{"limit":5.00,"itemId":11.0}`: 5} {
		got, err := wire.DecodeResults(wire.FromArguments([]byte(object)))
		if err != nil || got.Limit == nil || *got.Limit != want || object == `{"limit":5.00,"itemId":11.0}` && got.ItemID != 11 {
			t.Errorf("%s: %+v, %v", object, got, err)
		}
	}
	for object, want := range map[string]string{
		`{"limit":"5"}`: `limit: "5" is a text. Send the number 5.`, `{"limit":5.5}`: `limit: "5.5" is not an integer.`,
		`{"limit":"5","site":"X","nope":1}`: `limit: "5" is a text. Send the number 5. site: "X" is not a site key. "nope": unknown parameter.`,
	} {
		if _, err := wire.DecodeResults(wire.FromArguments([]byte(object))); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", object, err, want)
		}
	}
	if got, err := wire.DecodeResults(wire.FromQuery("limit=5")); err != nil || *got.Limit != 5 {
		t.Errorf("a query string is all texts: %v", err)
	}
}
