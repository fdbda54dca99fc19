package rest_test

import (
	"context"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/table/tabletest"
)

// media types of the forms of results
const (
	jsonMedia    = "application/json"
	ndjsonMedia  = "application/x-ndjson"
	csvMedia     = "text/csv"
	arrowMedia   = "application/vnd.apache.arrow.stream"
	parquetMedia = "application/vnd.apache.parquet"
)

var tables = []string{ndjsonMedia, csvMedia, arrowMedia, parquetMedia, arrowMedia + "; dictionaries=replaced; compression=lz4"}

func (s *surface) getAs(path, media string) answer {
	s.t.Helper()
	r := s.request("GET", path, s.token(reader), nil)
	r.Header.Set("Accept", media)
	return s.do(r)
}

// TestAccept: the form with the highest weight is sent (RFC 9110, section
// 12.5.1); a client that accepts none of them gets the form that existed before
// the others.
func TestAccept(t *testing.T) {
	s := serve(t)
	for _, c := range []struct{ accept, page, stream string }{
		{"", jsonMedia, ndjsonMedia},
		{"*/*", jsonMedia, ndjsonMedia},
		{"application/json", jsonMedia, ndjsonMedia},
		{"application/x-ndjson", ndjsonMedia, ndjsonMedia},
		{"text/csv", csvMedia, csvMedia},
		{"TEXT/CSV ; Q=0.5", csvMedia, csvMedia},
		{arrowMedia, arrowMedia, arrowMedia},
		{parquetMedia, parquetMedia, parquetMedia},
		{"text/*", csvMedia, csvMedia},
		{"application/*", jsonMedia, ndjsonMedia},
		{"application/*;q=0.5, text/csv;q=0.4", jsonMedia, ndjsonMedia},
		{"application/*;q=0.4, text/csv;q=0.5", csvMedia, csvMedia},
		{"application/json;q=0.2, application/x-ndjson;q=0.1, " + parquetMedia + ";q=0.3", parquetMedia, parquetMedia},
		{"*/*, application/json;q=0, application/x-ndjson;q=0", csvMedia, csvMedia}, // the more specific range counts
		{"text/csv;q=0, */*;q=0.1", jsonMedia, ndjsonMedia},
		{"text/csv;q=0.9, text/*;q=0.2, */*;q=0.5", csvMedia, csvMedia}, // in whatever position
		{"text/csv;header=present", csvMedia, csvMedia},
		{"text/csv;charset=UTF-8", csvMedia, csvMedia},
		{"text/csv;header=absent", jsonMedia, ndjsonMedia}, // another form
		{"application/x-ndjson; charset=utf-8", ndjsonMedia, ndjsonMedia},
		{"application/x-ndjson;charset=UTF-8;q=0.7, application/json;q=0.6", ndjsonMedia, ndjsonMedia},
		{"application/x-ndjson;charset=utf-16, text/csv;q=0.1", csvMedia, csvMedia},
		{"application/json;q=0, application/x-ndjson;q=0", csvMedia, csvMedia}, // none of the refused ones
		{"application/*;q=0", csvMedia, csvMedia},
		{"*/*;q=0", jsonMedia, ndjsonMedia}, // there is no other form
		{`text/csv;header=absent;q=1, text/csv;q=0.2, application/json;q=0.1, application/x-ndjson;q=0.1`, csvMedia, csvMedia},
		{`application/json;x="a,b", text/csv;q=0.5`, csvMedia, csvMedia}, // a comma within quotes separates nothing
		{"application/json, text/csv, " + arrowMedia + ", application/problem+json", jsonMedia, csvMedia},
		{"text/html, application/xhtml+xml, image/png", jsonMedia, ndjsonMedia}, // our forms are not mentioned: as before
		{"text/csv;q=2", jsonMedia, ndjsonMedia},
		{"text/csv;q=x, ;;, ,", jsonMedia, ndjsonMedia},
		{"csv", jsonMedia, ndjsonMedia},
	} {
		for path, want := range map[string]string{"/v1/results": c.page, "/v1/results/stream": c.stream} {
			a := s.getAs(path, c.accept)
			media, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
			if a.StatusCode != 200 || media != want {
				t.Errorf("%s, Accept: %s: %d %s, want %s", path, c.accept, a.StatusCode, media, want)
			}
			if !slices.Contains(strings.Split(strings.Join(a.Header.Values("Vary"), ", "), ", "), "Accept") {
				t.Errorf("%s: Vary %q", path, a.Header.Values("Vary"))
			}
		}
	}
	if got := s.getAs("/v1/results", csvMedia).Header.Get("Content-Type"); got != "text/csv; charset=utf-8; header=present" { // RFC 4180, section 3
		t.Error(got)
	}
	r := s.request("GET", "/v1/results", s.token(reader), nil) // several fields are one list
	r.Header["Accept"] = []string{"application/json;q=0.1", "text/csv;q=0.2"}
	if got := s.do(r).Header.Get("Content-Type"); !strings.HasPrefix(got, csvMedia) {
		t.Error(got)
	}
	if sites := s.getAs("/v1/sites", csvMedia); sites.Header.Get("Content-Type") != jsonMedia {
		t.Error(sites.Header)
	}
	for _, path := range []string{"/v1/results", "/v1/results/stream"} { // a problem is a problem in any form
		s.getAs(path+"?limit=0", parquetMedia).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	}
}

// odd has rows of every kind: without a price, without a merchant, without a
// flag, and with texts that formats have trouble with. A row is the same in
// every answer.
type odd struct{ *memory }

var texts = []string{"", "", "plain", "=cmd|' /C calc'!A0", "+1", "-1", "@x", "\ttab", "'s", "a,b;\"c\"\nd", "桜 ＝1", "\\\"", " ", "{\"a\":[1]}", "\u2028x", "null", "\x00"}

func (o odd) Results(ctx context.Context, v query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) error {
	defer func() { <-o.ended }() // no other reader waits for it
	return o.memory.Results(ctx, v, q, func(b *query.Block) error { return each(strange(b)) })
}

func (o odd) Feed(ctx context.Context, v query.Visibility, q *query.FeedQuery, each func(*query.Block) error) error {
	return o.memory.Feed(ctx, v, q, func(b *query.Block) error { return each(strange(b)) })
}

// strange gives the rows of a block other values.
func strange(b *query.Block) *query.Block {
	for _, d := range []*query.Dict{&b.Currency, &b.Merchant, &b.Manufacturer, &b.DeliveryText} {
		d.Values.Reset()
		d.Index = d.Index[:0]
	}
	b.Title.Reset()
	b.URL.Reset()
	for i := range b.Len {
		r := rand.New(rand.NewPCG(b.Seq[i], 7))
		text := func() string { return texts[r.IntN(len(texts))] }
		add := func(d *query.Dict, s string) { // rows with the same text share it
			at := 0
			for at < d.Values.Len() && string(d.Values.At(at)) != s {
				at++
			}
			if d.Index = append(d.Index, uint32(at)); at == d.Values.Len() {
				d.Values.Append(s)
			}
		}
		b.Outcome[i] = uint8(r.IntN(6))
		currency := []string{"EUR", "JPY", "KWD"}[r.IntN(3)]
		if r.IntN(3) == 0 {
			b.PriceMinor[i], currency = -1, ""
		} else {
			b.PriceMinor[i] = r.Int64N(1 << r.IntN(53))
			if r.IntN(2) == 0 {
				b.ShippingMinor[i] = r.Int64N(1000)
			}
		}
		add(&b.Currency, currency)
		add(&b.Merchant, text())
		add(&b.Manufacturer, text())
		add(&b.DeliveryText, text())
		b.Title.Append(text())
		b.URL.Append(text())
		b.IsPrime[i], b.IsBuyBox[i] = uint8(r.IntN(3)), uint8(r.IntN(3))
		b.RatingTenths[i] = []uint8{contracts.NoRating, 0, 37, 50}[r.IntN(4)]
	}
	return b
}

func (o odd) ReferencePrices(_ context.Context, _ query.Visibility, items []contracts.ItemID) (all []contracts.ReferencePrices, _ error) {
	for _, item := range items {
		if item == 14 {
			continue
		}
		prices := []contracts.ReferencePrice{{AmountMinor: 999, CurrencyCode: "EUR", PriceType: "=purchase", ReferenceQuantity: "1"}, {AmountMinor: 12345, CurrencyCode: "KWD"}}
		if item%2 == 0 {
			prices = append(prices, contracts.ReferencePrice{AmountMinor: 5, CurrencyCode: "EUR", AppliesToSite: "shop-one"})
		}
		all = append(all, contracts.ReferencePrices{MandateID: 1, ItemID: item, Prices: prices})
	}
	return all, nil
}

func (o odd) CustomerData(context.Context, query.Visibility, []contracts.ItemID) ([]contracts.CustomerData, error) {
	return []contracts.CustomerData{
		{MandateID: 1, ItemID: 11, Fields: map[string]string{"shelf": "A 4", "": "=1", "a\"b": ""}}, {MandateID: 1, ItemID: 13, Fields: map[string]string{}},
	}, nil
}

// serveOdd serves odd rows; some sites may show ratings and offer flags.
func serveOdd(t *testing.T) *surface {
	m := newMemory()
	m.sites[1].PriceComparisonMarket = true
	s := serve(t, func(set *settings) { set.store, set.throttle.Reads.Requests = odd{m}, 100_000 })
	s.store = m
	return s
}

// reread reads an answer back into records.
func (a answer) reread(t *testing.T, fields []string, zone *time.Location) []tabletest.Record {
	t.Helper()
	media, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	var records []tabletest.Record
	var err error
	switch media {
	case ndjsonMedia:
		records, err = tabletest.Lines(a.body)
	case csvMedia:
		records, err = tabletest.CSV(a.body, fields)
	case arrowMedia:
		records, err = tabletest.Arrow(a.body, zone)
	case parquetMedia:
		records, err = tabletest.Parquet(a.body, zone)
	default:
		t.Fatalf("%d %v: %s", a.StatusCode, a.Header, a.body)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%q", media, err, a.body)
	}
	return records
}

// TestFormsAreEqual: the same query returns the same rows in every form, page
// by page and as a stream; null and absent stay distinct; what JSON has around
// its rows is in headers (RES-K1, STR-00b, CUR-01c).
func TestFormsAreEqual(t *testing.T) {
	s := serveOdd(t)
	r := rand.New(rand.NewPCG(3, 4))
	met := kinds{}
	for round := range effort.Often(15, 40) {
		args, zoneName := url.Values{"limit": {strconv.Itoa(1 + r.IntN(60))}}, []string{"UTC", "Europe/Berlin", "America/St_Johns"}[r.IntN(3)]
		zone := must.Get(time.LoadLocation(zoneName))(t)
		args.Set("timezone", zoneName)
		args.Set("sort", []string{"asc", "desc"}[r.IntN(2)])
		include := groupsOf(31+21*round, args)
		if r.IntN(3) == 0 {
			args.Set("itemId", strconv.Itoa(11+r.IntN(4)))
		}
		if r.IntN(8) == 0 {
			args.Set("coverageState", "NO_RESULT") // no rows
		}
		args.Set("capturedTo", time.Now().UTC().Add(time.Hour).Format(time.RFC3339)) // the same window each time
		if !args.Has("itemId") {
			args.Set("site", s.site(r))
		}
		for range 3 { // pages of a walk
			path := "/v1/results?" + args.Encode()
			want := decode[page](t, s.get(path, s.token(reader)))
			for _, media := range tables {
				a := s.getAs(path, media)
				if diff := cmp.Diff(want.Data, a.reread(t, include.Fields(), zone)); diff != "" {
					t.Fatalf("%s as %s (-want +got): %s", path, media, diff)
				}
				s.wantAround(t, a, path, want)
			}
			met.see(want.Data, include.ExportFields)
			if args.Set("cursor", want.Paging.NextCursor); want.Paging.NextCursor == "" {
				break
			}
		}
		args.Del("cursor")
		path := "/v1/results/stream?" + args.Encode()
		want := must.Get(tabletest.Lines(s.get(path, s.token(reader)).body))(t)
		for _, media := range tables {
			a := s.getAs(path, media)
			if diff := cmp.Diff(want, a.reread(t, include.Fields(), zone)); diff != "" {
				t.Fatalf("%s as %s (-want +got): %s", path, media, diff)
			}
			if a.Trailer.Get("X-Results-Complete") != "true" || a.Trailer.Get("X-Results-Returned") != strconv.Itoa(len(want)) || a.Header.Get("X-Results-Scope") != "scoped" {
				t.Errorf("%s as %s: %v %v", path, media, a.Header, a.Trailer)
			}
		}
	}
	met.want(t, effort.Often(1, 20))
}

// groupsOf puts the groups of fields whose bits are set in n into a request: 32
// numbers one after another, or an odd number apart, are all there are.
func groupsOf(n int, args url.Values) (include query.Include) {
	for i, group := range []struct {
		name string
		on   *bool
	}{
		{"includeExportFields", &include.ExportFields},
		{"includeIdentity", &include.Identity},
		{"includeCoverage", &include.Coverage},
		{"includeOrderIds", &include.OrderIDs},
		{"includeCustomerData", &include.CustomerData},
	} {
		if *group.on = n>>i&1 == 1; *group.on {
			args.Set(group.name, "true")
		}
	}
	return include
}

// kinds counts the rows of each kind that a test has compared.
type kinds map[string]int

// see counts what tells rows of JSON apart.
func (k kinds) see(rows []tabletest.Record, exported bool) {
	for _, row := range rows {
		for _, name := range []string{"availability", "coverageState", "currencyCode"} {
			if text, ok := row[name].(string); ok {
				k[text]++
			}
		}
		if row["price"] == nil {
			k["null"]++
		}
		if _, ok := row["isPrime"]; exported && !ok {
			k["absent"]++
		}
	}
}

// want checks that rows of every outcome that JSON tells apart were met, of
// currencies of 0, 2 and 3 digits, with null and with an absent field.
func (k kinds) want(t *testing.T, least int) {
	t.Helper()
	for _, kind := range []string{"AVAILABLE", "UNAVAILABLE", "UNKNOWN", "PRICE_OBSERVED", "PRODUCT_NOT_FOUND", "EUR", "JPY", "KWD", "null", "absent"} {
		if k[kind] < least {
			t.Errorf("only %d rows of %s: %v", k[kind], kind, k)
		}
	}
}

func (s *surface) site(r *rand.Rand) string {
	return []string{"market-de", "shop-one", "shop-two"}[r.IntN(3)]
}

// wantAround checks that the headers of another form hold what a page of JSON
// has around its rows; the link leads to the next page.
func (s *surface) wantAround(t *testing.T, a answer, path string, want page) {
	t.Helper()
	if got := decode[map[string]any](t, answer{body: []byte(a.Header.Get("X-Results-Query"))}); !cmp.Equal(got, want.Query) {
		t.Errorf("%s: X-Results-Query %v", path, got)
	}
	if a.Header.Get("X-Results-Returned") != strconv.Itoa(len(want.Data)) {
		t.Errorf("%s: %v", path, a.Header)
	}
	next, link := a.Header.Get("X-Results-Next-Cursor"), a.Header.Get("Link")
	if (next == "") != (want.Paging.NextCursor == "") || (link == "") != (next == "") {
		t.Fatalf("%s: cursor %q, link %q", path, next, link)
	}
	if next == "" {
		return
	}
	target, rel, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">; ")
	onward := must.Get(url.Parse(target))(t)
	base := must.Get(url.Parse(path))(t)
	here, there := base.Query(), base.ResolveReference(onward).Query()
	if rel != `rel="next"` || there.Get("cursor") != next || base.ResolveReference(onward).Path != base.Path {
		t.Errorf("%s: Link %s", path, link)
	}
	here.Del("cursor")
	there.Del("cursor")
	if !cmp.Equal(here, there) {
		t.Errorf("%s: the link asks another question: %s", path, link)
	}
}
