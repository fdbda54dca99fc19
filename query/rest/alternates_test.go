package rest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestAlternates: a read that is refused as too broad has requests in its Link
// fields that are accepted and that together return what was requested; the
// same way on the stream and for HEAD, and never more than fits a header.
func TestAlternates(t *testing.T) {
	l := limitsWorld.Get(t).of(t)
	form := regexp.MustCompile(`^<(\?[^>]+)>; rel="alternate"; title="(\d+) of (\d+)"$`)
	links := func(account contracts.AccountID, path, args, code string) (all []string, of string) {
		t.Helper()
		a := l.plain(path+"?"+args, l.token(account))
		a.wantProblem(t, 400, code)
		size := 0
		for i, link := range a.Header.Values("Link") {
			m := form.FindStringSubmatch(link)
			if m == nil || m[2] != fmt.Sprint(i+1) {
				t.Fatalf("%s: link %d is %s", args, i+1, link)
			}
			size += len(link)
			all, of = append(all, m[1]), m[3]
		}
		if len(all) > 20 || size > 3<<10 {
			t.Errorf("%s: %d links, %d bytes", args, len(all), size)
		}
		return all, of
	}
	const form3339 = "2006-01-02T15:04:05.000Z"
	long := "globalScope=true&capturedFrom=" + l.now.Add(-169*time.Hour).Format(form3339) + "&capturedTo=" + l.now.Format(form3339)
	for _, c := range []struct {
		account         contracts.AccountID
		args, code      string
		given, of, rows int
	}{
		{pairs1001, "latestPerPair=true&sort=asc&limit=7", query.CodeLatestPairTooBroad, 3, 3, 0},
		{tooMany, "latestPerPair=true", query.CodeLatestPairTooBroad, 1, 1, 0}, // all offers of the captures
		{product250k1, "latestObservationPerPair=true", query.CodeScopeTooBroad, 20, 53, 0},
		{manyRows, long + "&limit=10000", query.CodeScopeTooBroad, -1, -1, 10_001},
	} {
		got, of := links(c.account, "/v1/results", c.args, c.code)
		told := decode[explained](t, l.plain("/ext/v1/explain?path="+url.QueryEscape("/v1/results")+"&"+c.args, l.token(c.account))).Narrower
		if fmt.Sprint(len(told)) != of || !slices.EqualFunc(told[:len(got)], got, func(narrower, link string) bool { return narrower == "/v1/results"+link }) {
			t.Errorf("%s: explained by %d of %s narrower requests: %v", c.args, len(told), of, told)
		}
		if c.given >= 0 && (len(got) != c.given || of != fmt.Sprint(c.of)) || len(got) == 0 {
			t.Errorf("%s: %d links of %s, want %d of %d", c.args, len(got), of, c.given, c.of)
		}
		rows, seen := 0, map[string]bool{}
		for i, link := range got {
			if seen[link] || strings.Contains(c.args, "limit=") != strings.Contains(link, "limit=") {
				t.Errorf("%s: %s", c.args, link)
			}
			seen[link] = true
			if c.rows == 0 && i%effort.Often(7, 1) != 0 {
				continue
			}
			page := l.plain("/v1/results"+link, l.token(c.account))
			if page.StatusCode != 200 {
				t.Errorf("%s: following %s gives %d %s", c.args, link, page.StatusCode, page.body)
				continue
			}
			rows += len(decode[struct{ Data []any }](t, page).Data)
		}
		if c.rows > 0 && rows != c.rows {
			t.Errorf("%s: %d rows by the links, want %d", c.args, rows, c.rows)
		}
		if stream, _ := links(c.account, "/v1/results/stream", c.args, c.code); strings.Join(stream, " ") != strings.Join(got, " ") {
			t.Errorf("%s: the stream offers %v", c.args, stream)
		}
		req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodHead, l.URL+"/v1/results?"+c.args, nil))(t)
		req.Header.Set("Authorization", "Bearer "+l.token(c.account))
		resp := must.Get(http.DefaultClient.Do(req))(t)
		_ = resp.Body.Close()
		if head := resp.Header.Values("Link"); len(head) != len(got) || !strings.HasPrefix(head[0], "<"+got[0]+">") {
			t.Errorf("%s: HEAD offers %v", c.args, head)
		}
	}
	for _, args := range []string{"limit=0", "capturedFrom=" + url.QueryEscape("x"), "colour=red"} {
		if a := l.plain("/v1/results?"+args, l.token(pairs1001)); a.StatusCode != 400 || a.Header.Get("Link") != "" {
			t.Errorf("%s: %d %v", args, a.StatusCode, a.Header["Link"])
		}
	}
}

// TestNarrowerRecords: movers, statistics and positions that are too broad are
// explained with narrower reads of the same path and with the same other
// parameters, each of which is accepted, and which together cover all pairs.
func TestNarrowerRecords(t *testing.T) {
	l := limitsWorld.Get(t).of(t)
	s := l.node(t, l.db.QueryDSN, func(set *settings) { set.query.ScanGuardMaxPairs = 500 })
	at := func(hours int) string { return l.now.Add(time.Duration(-hours) * time.Hour).Format(time.RFC3339) }
	for _, c := range []struct {
		account contracts.AccountID
		read    string
		more    string // after the selectors of each narrower read, in alphabetical order
		parts   int
	}{
		{pairs1001, "movers?kind=PRICE_DOWN&limit=7&ownMerchant=M&since=" + at(20), "since", 3},
		{pairs1001, "movers?orderId=7&since=" + at(20), "since", 2},
		{pairs1001, "movers?since=" + at(200), "since", 3}, // without a site, too long as well
		{product250k1, "movers?since=" + at(20) + "&until=" + at(2), "since until", 53},
		{pairs1001, "statistics", "capturedFrom capturedTo", 3},
		{pairs1001, "statistics?by=site&bucket=day&limit=9&timezone=Europe/Berlin&globalScope=true&capturedFrom=" + at(200) + "&capturedTo=" + at(2), "bucket by", 3},
		{product250k1, "statistics?by=merchant", "by", 53},
		{pairs1001, "position?offers=all&ownMerchant=M&limit=9", "offers ownMerchant limit", 3},
		{pairs1001, "position?amount=totalPrice&orderId=7", "amount orderId", 2},
		{pairs1001, "position?ownSite=site0.example", "", 0}, // it needs that site, and there are too many products
		{pairs1001, "statistics?itemId=1&bucket=hour&capturedFrom=2026-01-01", "", 0},
	} {
		path, args, _ := strings.Cut(c.read, "?")
		path = "/ext/v1/" + path
		explain := func(path, args string) explained {
			return decode[explained](t, s.get("/ext/v1/explain?path="+url.QueryEscape(path)+"&"+args, s.token(c.account)))
		}
		told := explain(path, args)
		if told.Accepted || len(told.Narrower) != c.parts {
			t.Errorf("%s: accepted %v, with %d narrower reads, want %d: %v", c.read, told.Accepted, len(told.Narrower), c.parts, told.Narrower)
			continue
		}
		whole, pairs := must.Get(url.ParseQuery(args))(t), uint64(0)
		for i, narrower := range told.Narrower {
			to, with, _ := strings.Cut(narrower, "?")
			given := must.Get(url.ParseQuery(with))(t)
			for name := range whole {
				if name != "globalScope" && !strings.HasPrefix(name, "captured") && given.Get(name) != whole.Get(name) {
					t.Errorf("%s: %s is missing in %s", c.read, name, narrower)
				}
			}
			for name := range strings.FieldsSeq(c.more) {
				if given.Get(name) == "" {
					t.Errorf("%s: %s is missing in %s", c.read, name, narrower)
				}
			}
			one := explain(to, with)
			if to != path || !one.Accepted || one.Pairs == nil {
				t.Fatalf("%s: %s is %+v", c.read, narrower, one)
			}
			pairs += *one.Pairs
			if i%effort.Often(20, 1) == 0 {
				s.get(narrower, s.token(c.account)).is(t, 200)
			}
		}
		if c.parts > 0 && told.Pairs != nil && pairs != *told.Pairs || c.parts > 0 && pairs < 1_000 {
			t.Errorf("%s: its narrower reads cover %d pairs, it covers %v", c.read, pairs, told.Pairs)
		}
	}
}
