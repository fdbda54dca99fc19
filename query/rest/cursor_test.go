package rest_test

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
)

// walkedOn reads the first page of path with the parameters first, and returns
// the answer to its cursor with the parameters then.
func (s *surface) walkedOn(path, first, then string) answer {
	s.t.Helper()
	next := s.page(path, first).Paging.NextCursor
	if next == "" {
		s.t.Fatalf("%s?%s: no second page", path, first)
	}
	return s.get(path+"?"+then+"&cursor="+next, s.token(reader))
}

// TestCursorsBelongToWhatAQueryMeans: defaults written out, and other spellings
// of an instant, are the same query (choices 22 and 63, CUR-01a).
func TestCursorsBelongToWhatAQueryMeans(t *testing.T) {
	s := serve(t)
	day := s.store.rows[0].captured.UTC()
	date, from := day.Format(time.DateOnly), url.QueryEscape(day.Truncate(24*time.Hour).In(time.FixedZone("", 3600)).Format(time.RFC3339))
	to := day.Add(48 * time.Hour).Format(time.DateOnly)
	for _, c := range []struct{ path, first, then string }{
		{"/v1/results", "limit=2", "limit=3&sort=desc&timezone=UTC&latestPerPair=false&globalScope=false&includeIdentity=false"},
		{"/v1/results", "limit=2&sort=desc&timezone=UTC&includeCoverage=false", "limit=2"},
		{"/v1/results", "limit=2&itemId=11&capturedFrom=" + date, "limit=2&itemId=11&capturedFrom=" + date + "T00:00:00Z"},
		{"/v1/results", "limit=2&itemId=11&capturedFrom=" + date + "T00:00:00.000000Z", "limit=2&itemId=11&capturedFrom=" + from},
		{"/v1/results", "limit=2&itemId=11&capturedFrom=" + date + "&capturedTo=" + to, "itemId=11&capturedFrom=" + from + "&capturedTo=" + to + "T23:59:59.999Z"},
		{"/v1/results", "limit=2&site=shop-one&timezone=Europe/Berlin&sort=asc", "sort=asc&timezone=Europe%2FBerlin&site=shop-one"},
		{"/v1/sites", "limit=1", "limit=2"},
		{"/v1/items", "limit=1", "limit=1000"},
	} {
		s.walkedOn(c.path, c.first, c.then).is(t, 200)
	}
}

// TestAWindowMayBeWrittenOutOnALaterPage: the window that an answer echoes is
// the window of its walk, given or not.
func TestAWindowMayBeWrittenOutOnALaterPage(t *testing.T) {
	s := serve(t)
	first := s.page("/v1/results", "limit=2&itemId=11")
	out := url.Values{"limit": {"2"}, "itemId": {"11"}, "cursor": {first.Paging.NextCursor}}
	for _, bound := range []string{"capturedFrom", "capturedTo"} {
		out.Set(bound, first.Query[bound].(string))
	}
	second := s.page("/v1/results", out.Encode())
	third := s.page("/v1/results", "limit=2&itemId=11&cursor="+second.Paging.NextCursor)
	seen := map[any]bool{}
	for _, p := range []page{first, second, third} {
		for _, record := range p.Data {
			seen[record["capturedAt"]] = true
		}
		if p.Query["capturedFrom"] != first.Query["capturedFrom"] || p.Query["capturedTo"] != first.Query["capturedTo"] {
			t.Errorf("%v, then %v", first.Query, p.Query)
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d records of 6", len(seen))
	}
}

// TestOwnersLearnWhatDiffers: the owner of a cursor is told which parameters
// differ; other callers learn nothing (choices 63).
func TestOwnersLearnWhatDiffers(t *testing.T) {
	s, next := serve(t), ""
	date := s.store.rows[0].captured.UTC().Format(time.DateOnly)
	for _, c := range []struct{ path, first, then, differs string }{
		{"/v1/results", "limit=2", "site=shop-one", ": site differs."},
		{"/v1/results", "limit=2&site=shop-one&sort=asc", "limit=2&itemId=11", ": itemId, site and sort differ."},
		{"/v1/results", "limit=2", "timezone=Europe/Berlin&includeCoverage=true", ": includeCoverage and timezone differ."},
		{"/v1/results", "limit=2&itemId=11&capturedFrom=" + date, "itemId=11", ": capturedFrom differs."},
		{"/v1/results", "limit=2&itemId=11&capturedFrom=" + date, "itemId=11&capturedFrom=" + date + "&timezone=Asia/Tokyo", ": capturedFrom and timezone differ."},
		{"/v1/results", "limit=2&itemId=11", "itemId=11&capturedTo=" + date, ": capturedTo differs."},
		{"/v1/results", "limit=2", "isPrime=false", ": isPrime differs."},
		{"/v1/sites", "limit=1", "site=shop-one", ": site differs."},
		{"/v1/items", "limit=1", "itemId=12&limit=1", ": itemId differs."},
	} {
		p := s.walkedOn(c.path, c.first, c.then).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
		if !strings.Contains(p.Detail, c.differs) || !strings.Contains(p.Detail, "cursor") {
			t.Errorf("%s?%s, then %s: %q does not say %q", c.path, c.first, c.then, p.Detail, c.differs)
		}
	}
	s.store.allow(nowhere, contracts.Permissions()...)
	for _, path := range []string{"/v1/items?limit=1", "/v1/orders?limit=1", "/v1/results?limit=1", "/v1/sites?limit=1"} {
		next = decode[page](t, s.get(path, s.token(reader))).Paging.NextCursor
		foreign, garbage := s.get(path+"&cursor="+next, s.token(nowhere)), s.get(path+"&cursor=AAAA", s.token(nowhere))
		if foreign.wantProblem(t, 400, "MVP_VALIDATION_ERROR"); next == "" || !bytes.Equal(foreign.body, garbage.body) {
			t.Errorf("%s: another account is told %s, of garbage %s", path, foreign.body, garbage.body)
		}
	}
	s.clock.advance(31 * 24 * time.Hour)
	if old := s.get("/v1/sites?cursor="+next, s.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR"); !strings.Contains(old.Detail, "expired") {
		t.Errorf("its owner is told of an old one: %q", old.Detail)
	}
}

// TestCursorsOnTablesBehindThem: after a restore, a walk of observations waits
// until the tables hold again what it began with.
func TestCursorsOnTablesBehindThem(t *testing.T) {
	s := serve(t)
	since := url.QueryEscape(s.store.rows[25].captured.Format(time.RFC3339Nano))
	for _, path := range []string{
		"/v1/results?limit=1", "/ext/v1/statistics?orderId=5&limit=1",
		"/ext/v1/movers?limit=1&since=" + since, "/ext/v1/position?limit=1",
	} {
		next := decode[page](t, s.get(path, s.token(reader))).Paging.NextCursor
		if next == "" {
			t.Errorf("%s: no second page", path)
			continue
		}
		s.store.fallBehind(true)
		a := s.get(path+"&cursor="+next, s.token(reader))
		p := a.wantProblem(t, 503, "SERVICE_UNAVAILABLE")
		if a.Header.Get("Retry-After") != "1" || !strings.Contains(p.Detail, "behind the cursor") {
			t.Errorf("%s: after %q s, %q", path, a.Header.Get("Retry-After"), p.Detail)
		}
		s.store.fallBehind(false)
		s.get(path+"&cursor="+next, s.token(reader)).is(t, 200)
	}
}
