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
	"preismon/deploy/testserver"
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
			if c.rows == 0 && i%testserver.Often(7, 1) != 0 {
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
