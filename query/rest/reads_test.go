package rest_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/equals"
)

type page struct {
	Data   []map[string]any
	Paging struct {
		Limit, Returned int
		NextCursor      string
	}
	Query    map[string]any
	Progress feedProgress
}

func (s *surface) page(path string, args ...string) page {
	s.t.Helper()
	a := s.get(path+"?"+strings.Join(args, "&"), s.token(reader)).want(s.t, 200)
	wantQuota(s.t, a)
	p := decode[page](s.t, a)
	if p.Paging.Returned != len(p.Data) {
		s.t.Errorf("returned %d, but %d records", p.Paging.Returned, len(p.Data))
	}
	return p
}

func keys(p page, field string) (all []string) {
	for _, record := range p.Data {
		all = append(all, fmt.Sprint(record[field]))
	}
	return all
}

func TestSites(t *testing.T) { // SITE-01, OPEN-08
	s := serve(t)
	want := `{"data":[{"site":"market-de","name":"Market <Germany> & more","siteType":"marketplace","countryCode":"DE","currencyCode":"EUR","canonicalCountryMarket":true},` +
		`{"site":"shop-one","name":"Shop One","siteType":"shop","countryCode":"DE","currencyCode":"EUR","canonicalCountryMarket":false},` +
		`{"site":"shop-two","name":"Shop Two","siteType":"shop","countryCode":"JP","currencyCode":"JPY","canonicalCountryMarket":false}],` +
		`"paging":{"limit":100,"returned":3},"query":{}}`
	if got := string(s.get("/v1/sites", s.token(reader)).body); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	one := s.page("/v1/sites", "limit=1")
	if diff := cmp.Diff([]string{"market-de"}, keys(one, "site")); diff != "" || one.Paging.NextCursor == "" {
		t.Error(diff, one.Paging)
	}
	next := s.page("/v1/sites", "limit=2", "cursor="+one.Paging.NextCursor)
	if diff := cmp.Diff([]string{"shop-one", "shop-two"}, keys(next, "site")); diff != "" || next.Paging.NextCursor != "" {
		t.Error(diff, next.Paging)
	}
	for _, record := range s.page("/v1/sites").Data { // SITE-K1
		key := record["site"].(string)
		equals.Check(t, map[string]any{"site": key}, s.page("/v1/sites", "site="+key).Query)
		s.page("/v1/orders/5/observation-quality", "site="+key)
		rows := s.page("/v1/results", "site="+key)
		if got := slices.Compact(keys(rows, "site")); len(got) != 1 || got[0] != key {
			t.Errorf("results of %s are of %v", key, got)
		}
	}
	if p := s.page("/v1/sites", "site=shop-nine"); len(p.Data) != 0 { // unknown is no error
		t.Errorf("%+v", p)
	}
}

func TestItems(t *testing.T) { // ITEM-00a, GEN-06
	s := serve(t)
	for args, want := range map[string][]string{
		"":                              {"11", "12", "13", "14"},
		"itemId=12":                     {"12"},
		"ean=4006381333931":             {"11"},
		"pzn=01234562":                  {"12"},
		"asin=B000000001&asinLocale=de": {"13"},
		"asinLocale=co.uk":              {"14"},
		"itemId=11&pzn=01234562":        nil,
		"itemId=18446744073709551615":   nil,
		"ean=12345678":                  nil,
	} {
		equals.Checkf(t, want, keys(s.page("/v1/items", args), "itemId"), "%s", args)
	}
	var walk []string // ITEM-00b
	for cursor := "limit=1"; ; {
		p := s.page("/v1/items", cursor)
		walk = append(walk, keys(p, "itemId")...)
		if p.Paging.NextCursor == "" {
			break
		}
		cursor = "limit=1&cursor=" + url.QueryEscape(p.Paging.NextCursor)
	}
	equals.Check(t, []string{"11", "12", "13", "14"}, walk)
	got := s.page("/v1/items", "itemId=12").Data[0]
	want := map[string]any{
		"itemId": "12", "ean": nil, "pzn": "01234562", "asin": nil, "asinLocale": nil, "name": "Tablets", "brand": nil, "manufacturer": "Maker",
	}
	equals.Check(t, want, got)
	s.get("/v1/items?asin=B000000001", s.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
}

func TestResults(t *testing.T) { // RES-00
	s := serve(t)
	p := s.page("/v1/results", "limit=3", "timezone=Europe/Berlin", "sort=asc")
	if len(p.Data) != 3 || p.Paging.NextCursor == "" || p.Query["scope"] != "scoped" || p.Query["sort"] != "asc" { // RES-Q1
		t.Fatalf("%+v", p)
	}
	for args, want := range map[string]int{ // RES-P03a, RES-P03b, GEN-06
		"": 50, "itemId=11": 13, "ean=4006381333931": 13, "pzn=01234562": 13, "asin=B000000001&asinLocale=de": 12, "asin=B000000001&asinLocale=co.uk": 12, "site=shop-two": 16,
		"itemId=11&site=shop-two": 4, "coverageState=NO_RESULT": 0,
	} {
		equals.Is(t, want, len(s.page("/v1/results", args).Data), "%s rows", args)
	}
	day := time.Now().UTC().AddDate(0, 0, -2).Format(time.DateOnly)
	for _, selector := range []string{"itemId=11", "pzn=01234562", "ean=4006381333931", "asin=B000000001&asinLocale=de", "orderId=5", "site=shop-one"} {
		s.page("/v1/results", "capturedFrom="+day, selector) // RES-03a
	}
	for _, window := range []string{"capturedFrom=" + day, "capturedTo=" + day, "capturedFrom=" + day + "&capturedTo=" + day + "&brand=x"} { // RES-03b, ERR-01d
		s.get("/v1/results?"+window, s.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	}
	global := "globalScope=true&capturedFrom=" + day + "&capturedTo=" + time.Now().UTC().Format(time.DateOnly)
	if p := s.page("/v1/results", global); p.Query["scope"] != "global" || len(p.Data) != 50 { // RES-P04, RES-04d
		t.Errorf("%+v", p.Query)
	}
	s.get("/v1/results?globalScope=true", s.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")                                                  // RES-04a, ERR-01c
	s.get("/v1/results?site=shop-one&"+global, s.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")                                             // RES-04b, ERR-01c
	s.get("/v1/results?globalScope=true&capturedFrom=2026-01-01&capturedTo=2026-01-08", s.token(reader)).wantProblem(t, 400, "RESULTS_SCOPE_TOO_BROAD") // RES-04c, ERR-02a
	if p := s.page("/v1/results", "limit=10000"); len(p.Data) != 50 {                                                                                   // RES-P01
		t.Errorf("%d rows", len(p.Data))
	}
	first := s.page("/v1/results", "limit=30")
	rest := s.page("/v1/results", "limit=30", "cursor="+first.Paging.NextCursor) // RES-P02
	if len(rest.Data) != 20 || rest.Paging.NextCursor != "" {
		t.Errorf("%d rows, %+v", len(rest.Data), rest.Paging)
	}
}

// Whatever is wrong with a parameter, the answer names it (ERR-01a, choices 21
// to 23).
func TestParametersAreStrict(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 10_000 })
	token, routes := s.token(reader), slices.Clone(readRoutes)
	for _, direction := range []string{"exports", "imports"} {
		for _, route := range []string{"", "/history", "/history/latest", "/history/download"} {
			routes = append(routes, "/v1/orders/5/"+direction+route)
		}
	}
	for _, c := range []struct {
		routes string // by their letter
		query  string
		names  string
	}{
		{"sirtoq", "limit=abc", "limit"},
		{"sirtoq", "limit=0", "limit"},
		{"sirtoq", "limit=-1", "limit"}, // RES-P01
		{"sirtoq", "limit=1.5", "limit"},
		{"sirtoq", "limit=+5", "limit"},
		{"sirtoq", "limit=05", "limit"},
		{"sirtoq", "limit=-0", "limit"},
		{"sirtoq", "limit=", "limit"},
		{"sirtoq", "limit=1e3", "limit"},
		{"sioq", "limit=1001", "limit"},
		{"rt", "limit=10001", "limit"},
		{"sirtoq", "limit=99999999999999999999", "limit"},
		{"sirtoq", "limit=1&limit=1", "limit"},
		{"sirtoq", "cursor=garbage", "cursor"},
		{"sirtoq", "cursor=", "cursor"},
		{"sirtoq", "cursor=" + strings.Repeat("a", 5000), "cursor"}, // RES-P02
		{"sirtaodq", "unknown=1", "unknown"},
		{"sirtaodq", "unknown", "unknown"},
		{"sirtaodq", "Limit=1", "Limit"},
		{"sirtaodq", "=1", `""`},
		{"rt", "category=x", "category"}, // RES-13
		{"io", "site=shop-one", "site"},
		{"ad", "limit=1", "limit"},
		{"ad", "cursor=x", "cursor"}, // LOC-01a
		{"d", "includeCoverage=true", "includeCoverage"},
		{"o", "orderId=x", "orderId"},
		{"o", "alias=", "alias"},
		{"o", "alias=a%0Ab", "alias"},
		{"o", "includeMonitoring=maybe", "includeMonitoring"}, // ORD-00a
		{"o", "includeCoverage=1", "includeCoverage"},
		{"o", "includeMonitoring=true&includeMonitoring=true", "includeMonitoring"},
		{"o", "reasonCode=UNKNOWN", "reasonCode"},
		{"q", "reasonCode=NOPE", "reasonCode"}, // QUAL-00a
		{"q", "reasonCode=unknown", "reasonCode"},
		{"q", "reasonCode=", "reasonCode"},
		{"q", "orderId=5", "orderId"},
		{"s", "itemId=1", "itemId"},
		{"sirtoq", "limit=1;cursor=x", "semicolon"},
		{"sirtoq", "limit=%zz", "percent"},
		{"sirtoq", "limit=%", "percent"},
		{"srtq", "site=Shop%20One", "site"},
		{"srt", "site=%00", "site"},
		{"srt", "site=", "site"},
		{"srt", "site=%ff", "site"},
		{"irt", "itemId=0", "itemId"},
		{"irt", "itemId=-1", "itemId"},
		{"irt", "itemId=007", "itemId"},
		{"irt", "itemId=x", "itemId"},
		{"irt", "itemId=18446744073709551616", "itemId"},
		{"irt", "itemId=1&itemId=2", "itemId"},
		{"irt", "ean=1234567", "ean"},
		{"irt", "ean=123456789012345", "ean"},
		{"irt", "ean=4006381-3339", "ean"},
		{"irt", "pzn=1234567", "pzn"},
		{"irt", "asin=b000000001&asinLocale=de", "asin"},
		{"irt", "asin=B000000001&asinLocale=DE", "asinLocale"},
		{"irt", "asin=B000000001", "asinLocale"}, // choices 24
		{"rt", "asinLocale=de", "asin"},
		{"rt", "orderId=abc", "orderId"},
		{"rt", "globalScope=x", "globalScope"},
		{"rt", "globalScope=1", "globalScope"}, // RES-P04
		{"rt", "isPrime=TRUE", "isPrime"},
		{"rt", "isBuyBox=yes", "isBuyBox"},
		{"rt", "latestPerPair=maybe", "latestPerPair"},
		{"rt", "includeIdentity=maybe", "includeIdentity"},
		{"rt", "includeCoverage=", "includeCoverage"}, // RES-P13
		{"rt", "coverageState=GOOD", "coverageState"},
		{"rt", "sort=foo", "sort"}, // RES-P09
		{"rt", "timezone=Mars/X", "timezone"},
		{"rt", "timezone=%2B02:00", "timezone"},
		{"rt", "timezone=Local", "timezone"}, // RES-P10
		{"rt", "itemId=1&capturedFrom=2026-13-01", "capturedFrom"},
		{"rt", "itemId=1&capturedTo=yesterday", "capturedTo"}, // RES-P08a
		{"rt", "itemId=1&capturedFrom=2026-01-01T00:00:00", "capturedFrom"},
		{"rt", "itemId=1&capturedFrom=2026-02-02&capturedTo=2026-02-01", "capturedFrom"},
		{"rt", "itemId=1&capturedFrom=2999-01-01", "capturedFrom lies in the future."},
		{"rt", "itemId=1&capturedFrom=2999-01-02&capturedTo=2999-01-01", "capturedFrom lies after capturedTo."},
		{"rt", "itemId=1&capturedFrom=2026-11-20T5:00:00Z", "capturedFrom"},
		{"rt", "itemId=1&capturedFrom=0001-01-01T00:00:00Z", "capturedFrom"},
		{"rt", "itemId=1&capturedTo=0001-01-01T01:00:00%2B01:00", "capturedTo"},
		{"rt", "globalScope=true&capturedFrom=0001-01-01T00:00:00Z&capturedTo=0001-01-01T00:00:00Z", "capturedFrom"}, // RES-04c, LIM-10
		{"rt", "latestPerPair=true&latestObservationPerPair=true", "latestPerPair"},
		{"rt", "brand=" + strings.Repeat("x", 257), "brand"},
		{"rt", "merchant=a%0Ab", "merchant"},
		{"LJHK", "limit=0", "limit"},
		{"LJHK", "limit=1001", "limit"},
		{"LJHK", "limit=x", "limit"},
		{"PMDN", "limit=1", "limit"},
		{"PMDN", "cursor=x", "cursor"},
		{"LJHK", "cursor=x", "cursor"},
		{"LJHKPMDN", "unknown=1", "unknown"},
		{"LJHKPMDN", "site=a.example", "site"},
		{"LJHKPMDN", "orderId=101", "orderId"},
		{"LJHK", "latest=true", "latest"},
		{"PMDN", "latest=1", "latest"},
		{"PMDN", "latest=", "latest"},
		{"PMDN", "latest=true&latest=true", "latest"},
		{"PM", "latest=false", "latest"},
		{"LJ", "dateFrom=2026-03-01", "dateFrom"},
		{"HKPMDN", "dateFrom=2026-13-01", "dateFrom"},
		{"HKPMDN", "dateFrom=yesterday", "dateFrom"},
		{"HKPMDN", "dateTo=2026-03-01T10:00:00", "dateTo"},
		{"HKPMDN", "dateTo=0001-01-01T00:00:00Z", "dateTo"},
		{"HKPMDN", "dateTo=", "dateTo"},
		{"HKPMDN", "dateTo=2026-03-01&dateTo=2026-03-02", "dateTo"},
		{"HKPMDN", "dateFrom=2026-03-02&dateTo=2026-03-01", "dateFrom"},
		{"HKPMDN", "dateFrom=2026-03-02T00:00:00.001Z&dateTo=2026-03-02T00:00:00Z", "dateFrom"},
		{"JKMN", "exportName=x", "exportName"}, // IMP-02
		{"HKPMDN", "name=", "name"},
		{"HKPMDN", "name=a%0Ab", "name"},
		{"HKPMDN", "name=" + strings.Repeat("x", 257), "name"},
		{"L", "name=x", "name"},
		{"L", "exportName=", "exportName"},
	} {
		for i, route := range routes {
			if !strings.Contains(c.routes, string("sirtaodqLHPDJKMN"[i])) {
				continue
			}
			a := s.get(route+"?"+c.query, token)
			p := a.wantProblem(t, 400, "MVP_VALIDATION_ERROR")
			if !strings.Contains(p.Detail, c.names) {
				t.Errorf("%s?%s: detail does not name %s: %s", route, c.query, c.names, p.Detail)
			}
			if begun := a.Header.Get("Trailer") + a.Header.Get("X-Results-Scope"); begun != "" { // of a stream, before any line
				t.Errorf("%s?%s: %s", route, c.query, begun)
			}
			if len(p.Detail) > 1000 {
				t.Errorf("%s: a detail of %d bytes", c.query, len(p.Detail))
			}
		}
	}
	p := s.get("/v1/items?limit=x&itemId=y&z=1", token).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	for _, name := range []string{"limit", "itemId", "z"} {
		if !strings.Contains(p.Detail, name) {
			t.Errorf("not all faults at once: %s", p.Detail)
		}
	}
}
