package rest_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/equals"
)

type explained struct {
	Request                                       string
	Accepted                                      bool
	Problem                                       *problem
	Window                                        *struct{ CapturedFrom, CapturedTo *string }
	Sealed                                        *bool
	Pairs, RowsAtMost, ScannedAtMost, BytesAtMost *uint64
	ContentType                                   *string
	Narrower                                      []string
}

func (s *surface) explain(path, query string) explained {
	s.t.Helper()
	a := s.get("/ext/v1/explain?path="+url.QueryEscape(path)+"&"+query, s.token(reader)).want(s.t, 200)
	return decode[explained](s.t, a)
}

// An explained read is accepted or refused as the read itself is, with the same
// problem, on every path that can be explained: explaining takes the same steps
// as the read.
func TestExplainedAsRead(t *testing.T) {
	s := serve(t, func(set *settings) {
		set.throttle.Reads.Requests, set.query.ScanGuardMaxPairs = 1_000_000, 1_000
	})
	begun := s.changes("site=shop-one").Progress.Token
	refused, accepted := 0, 0
	for _, path := range domainRoutes() {
		path = strings.ReplaceAll(path, "{orderId}", "5")
		if path == "/ext/v1/explain" || strings.HasSuffix(path, "/download") {
			continue
		}
		for _, query := range []string{
			"", "nonsense=1", "limit=0", "limit=1&limit=2", "site=shop-one", "site=none", "itemId=x", "latestPerPair=true", "sort=up",
			"capturedFrom=2026-03-01", "site=shop-one&capturedFrom=2026-03-02&capturedTo=2026-03-01", "globalScope=true", "timezone=Nowhere",
			"globalScope=true&capturedFrom=2026-03-01&capturedTo=2026-03-30", "cursor=x", "since=x", "by=none", "bucket=hour&capturedFrom=2020-01-01&site=shop-one",
			"since=" + begun,
		} {
			read := s.get(path+"?"+query, s.token(reader))
			told := s.explain(path, query)
			if told.Accepted != (read.StatusCode == 200) {
				t.Errorf("%s?%s: %d %s, explained %+v", path, query, read.StatusCode, read.body, told)
				continue
			}
			if told.Accepted {
				accepted++
				if told.RowsAtMost != nil && !strings.HasPrefix(path, "/v1/results") {
					if of := decode[struct{ Data []json.RawMessage }](t, read); uint64(len(of.Data)) > *told.RowsAtMost {
						t.Errorf("%s?%s: %d records, at most %d", path, query, len(of.Data), *told.RowsAtMost)
					}
				}
				if told.BytesAtMost != nil && *told.BytesAtMost < uint64(len(read.body)) {
					t.Errorf("%s?%s: %d bytes, at most %d", path, query, len(read.body), *told.BytesAtMost)
				}
				continue
			}
			refused++
			if p := decode[problem](t, read); *told.Problem != p {
				t.Errorf("%s?%s: %+v, explained %+v", path, query, p, *told.Problem)
			}
		}
	}
	if told := s.explain("/ext/v1/overview", ""); told.RowsAtMost == nil || *told.RowsAtMost != 9 {
		t.Errorf("the overview, of nine lists, is explained as %+v", told)
	}
	for _, read := range []string{"overview?", "movers?site=shop-one&since=2026-03-01", "items/11/summary?"} { // each of several reads
		path, query, _ := strings.Cut("/ext/v1/"+read, "?")
		if told := s.explain(path, query); !told.Accepted || told.ScannedAtMost != nil {
			t.Errorf("%s is explained as %+v", read, told)
		}
	}
	if refused < 100 || accepted < 30 {
		t.Errorf("%d refused, %d accepted", refused, accepted)
	}
}

// A read is sealed if its window had ended before it, on every path with
// windows.
func TestExplainedSeals(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 1_000 })
	for _, c := range []struct {
		path, query string
		want        any // nil: a read without a window
	}{
		{"/v1/results", "site=shop-one&capturedFrom=2026-02-01&capturedTo=2026-02-02", true},
		{"/v1/results", "site=shop-one&capturedTo=2026-02-02T00:00:00Z", true},
		{"/v1/results", "site=shop-one&capturedFrom=2026-02-01", false},
		{"/v1/results", "site=shop-one&capturedFrom=2026-02-01&capturedTo=2099-01-01", false},
		{"/v1/results", "site=shop-one", false},
		{"/v1/results", "site=shop-one&latestPerPair=true", false},
		{"/v1/results/stream", "site=shop-one&capturedFrom=2026-02-01&capturedTo=2026-02-02", true},
		{"/ext/v1/changes", "site=shop-one&capturedFrom=2026-02-01&capturedTo=2026-02-02", true},
		{"/ext/v1/changes", "site=shop-one", false},
		{"/ext/v1/windows", "site=shop-one&capturedFrom=2026-02-01&capturedTo=2026-02-02", true},
		{"/ext/v1/windows", "site=shop-one&capturedFrom=2026-02-01", false},
		{"/ext/v1/statistics", "site=shop-one&capturedFrom=2026-02-01&capturedTo=2026-02-02", true},
		{"/ext/v1/movers", "site=shop-one&since=2026-02-01&until=2026-02-02", true},
		{"/ext/v1/movers", "site=shop-one&since=2026-02-01&until=2099-01-01", false},
		{"/ext/v1/movers", "site=shop-one&since=2026-02-01", false},
		{"/ext/v1/position", "site=shop-one", false},
		{"/ext/v1/items/11/summary", "capturedFrom=2026-02-01&capturedTo=2026-02-02", true},
		{"/ext/v1/items/11/summary", "", false},
		{"/ext/v1/overview", "", false},
		{"/v1/sites", "", nil},
	} {
		told := s.explain(c.path, c.query)
		var got any
		if told.Sealed != nil {
			got = *told.Sealed
		}
		if !told.Accepted || got != c.want || (told.Window == nil) != (c.want == nil) {
			t.Errorf("%s?%s: sealed %v, want %v; %+v", c.path, c.query, got, c.want, told)
		}
	}
}

// Faults that are not in the explained request get the usual answer of the
// path, and explaining counts as one request.
func TestExplainedOnce(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 100 })
	at := "/ext/v1/explain?path="
	first := s.get(at+"/v1/results", s.token(reader))
	wantQuota(t, first)
	second := s.get(at+"/v1/results", s.token(reader))
	if a, b := first.Header.Get("X-RateLimit-Remaining"), second.Header.Get("X-RateLimit-Remaining"); a != "99" || b != "98" {
		t.Errorf("remaining %s, then %s", a, b)
	}
	for _, path := range []string{"", "/", "/v1/none", "/healthz", "/mcp", "/v1/auth/token", "/ext/v1/explain", "/v1/results%3Fsite=a", "/v1/results&path=/v1/sites", "%zz"} {
		if p := s.get(at+path, s.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR"); !strings.HasPrefix(p.Detail, "path: ") {
			t.Errorf("%s: %s", path, p.Detail)
		}
		s.get(at+path, "").wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	}
	s.get(at+"/v1/results", s.token(narrow)).wantProblem(t, 403, "AUTH_FORBIDDEN")
	s.get(at+"/v1/sites", s.token(disabled)).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	// A tail and a wait are explained immediately.
	for _, query := range []string{"follow=true", "wait=25s", "site=shop-one&follow=true"} {
		if told := s.explain("/ext/v1/changes", query); !told.Accepted {
			t.Errorf("%s: %+v", query, told)
		}
	}
	if n := s.service.Stats(); n.Tails != 0 || n.FeedRows != 0 || n.PageRows != 0 {
		t.Errorf("%+v", n)
	}
}

// TestExplainedRemembered: a stream is explained as before once its text is
// remembered, and whether or not the client has it.
func TestExplainedRememberedStream(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 1_000 })
	s.store.accounts[reader].Visibility.Snapshot = 1
	before := func(d time.Duration) string { return time.Now().UTC().Add(-d).Format(time.RFC3339) }
	const path = "/v1/results/stream"
	window := "globalScope=true&capturedFrom=" + before(50*time.Hour) + "&capturedTo=" + before(time.Hour)
	first := s.explain(path, window)
	var tag string
	for range 3 {
		tag = s.get(path+"?"+window, s.token(reader)).Header.Get("ETag")
	}
	if s.service.Stats().Replayed == 0 || tag == "" {
		t.Fatal("nothing is remembered")
	}
	equals.Checkf(t, first, s.explain(path, window), "after it was remembered")
	r := s.request("GET", "/ext/v1/explain?path="+path+"&"+window, s.token(reader), nil)
	r.Header.Set("If-None-Match", tag)
	s.do(r).is(t, 200)
}
