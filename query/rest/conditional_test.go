package rest_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
)

// TestUnchangedRowsAreNotResent: the rows of a window that is over have a
// tag, which saves them as long as they are the same.
func TestUnchangedRowsAreNotResent(t *testing.T) {
	s := serve(t)
	s.store.accounts[reader].Visibility.Snapshot = 1
	var mu sync.Mutex
	var asked []string
	s.store.breakDown(func(method string) error {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, method)
		return nil
	})
	day := func(back int) string { return time.Now().UTC().AddDate(0, 0, -back).Format(time.DateOnly) }
	window := "/v1/results/stream?globalScope=true&capturedFrom=" + day(4) + "&capturedTo=" + day(2) // yesterday is not over in its first minutes
	ask := func(path string, header ...string) answer {
		t.Helper()
		mu.Lock()
		asked = nil
		mu.Unlock()
		r := s.request("GET", path, s.token(reader), nil)
		r.Header.Set("Accept-Encoding", "identity")
		for i := 0; i < len(header); i += 2 {
			r.Header.Add(header[i], header[i+1])
		}
		return s.do(r)
	}
	tags := map[string]bool{}
	for _, form := range [][]string{
		{},
		{"Accept", "text/csv"},
		{"Accept-Encoding", "gzip"},
		{"Accept-Encoding", "zstd"},
		{"Accept", "application/vnd.apache.arrow.stream"},
		{"Accept", "application/vnd.apache.parquet"},
	} {
		weak := len(form) > 0 && form[1] != "text/csv"
		first := ask(window, form...)
		tag := first.Header.Get("ETag")
		if first.StatusCode != http.StatusOK || strings.HasPrefix(tag, "W/") != weak || tag == "" || tags[tag] {
			t.Fatalf("%v: %d, %q", form, first.StatusCode, tag)
		}
		tags[tag] = true
		opaque := strings.TrimPrefix(tag, "W/")
		for _, given := range []string{tag, opaque, "W/" + opaque, `"other", ` + tag, `"other","more",` + tag + `, ""`, "*"} {
			again := ask(window, append(slices.Clone(form), "If-None-Match", given)...)
			if again.StatusCode != http.StatusNotModified || len(again.body) > 0 || again.Header.Get("ETag") != tag || again.Header.Get("Content-Type") != "" || len(again.Trailer) > 0 {
				t.Errorf("%v, %s: %d, %d bytes, %v %v", form, given, again.StatusCode, len(again.body), again.Header, again.Trailer)
			}
			if slices.Contains(asked, "Results") || slices.Contains(asked, "Feed") {
				t.Errorf("%v, %s: %v", form, given, asked)
			}
			wantQuota(t, again)
		}
		if two := ask(window, append(slices.Clone(form), "If-None-Match", `"other"`, "If-None-Match", tag)...); two.StatusCode != http.StatusNotModified {
			t.Errorf("%v: two fields: %d", form, two.StatusCode)
		}
	}
	tag := ask(window).Header.Get("ETag")
	for name, c := range map[string]struct {
		path   string
		header []string
	}{
		"another tag":        {window, []string{"If-None-Match", `"` + strings.Repeat("A", 38) + `"`}},
		"no tag":             {window, []string{"If-None-Match", "abc"}},
		"another form":       {window, []string{"If-None-Match", tag, "Accept", "text/csv"}},
		"another coding":     {window, []string{"If-None-Match", tag, "Accept-Encoding", "gzip"}},
		"another order":      {window + "&sort=asc", []string{"If-None-Match", tag}},
		"another zone":       {window + "&timezone=Europe/Berlin", []string{"If-None-Match", tag}},
		"other fields":       {window + "&includeIdentity=true", []string{"If-None-Match", tag}},
		"another window":     {strings.Replace(window, day(4), day(3), 1), []string{"If-None-Match", tag}},
		"a token of changes": {window, []string{"If-None-Match", tag, "Prefer", "changes-token"}},
	} {
		same := c.path == window && len(c.header) == 2 // the tag that the client should have sent
		if other := ask(c.path, c.header...); other.StatusCode != http.StatusOK || (other.Header.Get("ETag") == tag) != same {
			t.Errorf("%s: %d, %s", name, other.StatusCode, other.Header.Get("ETag"))
		}
	}
	for _, path := range []string{ // what has no tag, because it changes by itself
		"/v1/results/stream?site=shop-one",
		"/v1/results/stream?site=shop-one&capturedFrom=" + day(3) + "&capturedTo=" + day(0),
		window + "&includeCoverage=true",
		"/v1/results/stream?site=shop-one&latestPerPair=true&capturedFrom=" + day(4) + "&capturedTo=" + day(2),
	} {
		if a := ask(path, "If-None-Match", "*"); a.StatusCode != http.StatusOK || a.Header.Get("ETag") != "" {
			t.Errorf("%s: %d, %s", path, a.StatusCode, a.Header.Get("ETag"))
		}
	}

	// Rows arrive at shop-one.
	of := func(site string) string {
		return window[:len("/v1/results/stream?")] + "site=" + site + window[len("/v1/results/stream?globalScope=true"):]
	}
	one, two := ask(of("shop-one")).Header.Get("ETag"), ask(of("shop-two")).Header.Get("ETag")
	s.store.arrive(3)
	if a := ask(of("shop-one"), "If-None-Match", one); a.StatusCode != http.StatusNotModified || !slices.Contains(asked, "Feed") {
		t.Errorf("rows of another time arrived: %d, %v", a.StatusCode, asked)
	}
	s.store.arriveLate(3, 48*time.Hour)
	if a := ask(of("shop-two"), "If-None-Match", two); a.StatusCode != http.StatusNotModified || a.Header.Get("ETag") != two || !slices.Contains(asked, "Feed") {
		t.Errorf("rows of another site arrived: %d, %s, %v", a.StatusCode, a.Header.Get("ETag"), asked)
	}
	changed := ask(of("shop-one"), "If-None-Match", one)
	if changed.StatusCode != http.StatusOK || changed.Header.Get("ETag") == one {
		t.Errorf("late rows: %d, %s", changed.StatusCode, changed.Header.Get("ETag"))
	}
	two = changed.Header.Get("ETag")
	s.store.rebuild()
	if a := ask(of("shop-one"), "If-None-Match", two); a.StatusCode != http.StatusOK || a.Header.Get("ETag") == two {
		t.Errorf("rebuilt: %d", a.StatusCode)
	}
	r := s.request("GET", window, "", nil)
	r.Header.Set("If-None-Match", "*")
	s.do(r).is(t, http.StatusUnauthorized)
}

// TestStreamsInAnyCoding: a stream arrives whole, whatever it is compressed by,
// what is remembered of it with its live end.
func TestStreamsInAnyCoding(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		s := serve(t, func(set *settings) { set.http2 = h2 })
		s.store.accounts[reader].Visibility.Snapshot = 1
		s.store.arrive(5) // now
		for _, args := range []string{
			"site=shop-one",
			"coverageState=NO_RESULT",
			"globalScope=true&capturedFrom=" + time.Now().Add(-50*time.Hour).UTC().Format(time.RFC3339) + "&capturedTo=" + time.Now().UTC().Format(time.RFC3339) + "&sort=asc&includeIdentity=true",
		} {
			var want []byte
			for round := range 4 {
				for _, coding := range codings {
					r := s.request("GET", "/v1/results/stream?"+args, s.token(reader), nil)
					r.Header.Set("Accept-Encoding", coding)
					resp := must.Get(s.raw().Do(r))(t)
					got := must.Get(io.ReadAll(decoded(t, resp)))(t)
					must.Get(io.Copy(io.Discard, resp.Body))(t) // up to the trailers
					must.Do(t, resp.Body.Close())
					if want == nil {
						want = got
					}
					rows := bytes.Count(want, []byte("\n"))
					if !bytes.Equal(got, want) || (rows == 0) != (args == "coverageState=NO_RESULT") {
						t.Errorf("%s, %s, round %d: %d bytes of %d", args, coding, round, len(got), len(want))
					}
					if resp.Trailer.Get("X-Results-Complete") != "true" || resp.Trailer.Get("X-Results-Returned") != strconv.Itoa(rows) {
						t.Errorf("%s, %s, round %d: trailer %v", args, coding, round, resp.Trailer)
					}
					if h := resp.Header; h.Get("Content-Encoding") != strings.TrimPrefix(coding, "identity") || !strings.Contains(strings.Join(h.Values("Vary"), ","), "Accept-Encoding") || h2 != (resp.ProtoMajor == 2) {
						t.Errorf("%s, %s: HTTP/%d, %v", args, coding, resp.ProtoMajor, h)
					}
				}
			}
		}
		if n := s.service.Stats().Replayed; n < 100 {
			t.Errorf("%d rows were remembered", n)
		}
	}
}
