package clientdoc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/oauth/clientdoc"
)

var discard = log.New(io.Discard, "", 0)

func TestFetch(t *testing.T) {
	w := newWorld(t)
	var seen *http.Request
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		seen = r
		rw.Header().Set("Content-Type", "application/client-metadata+json; charset=utf-8")
		fmt.Fprint(rw, w.document(w.id("/oauth/client.json?v=1"), object{"client_name": " Ex\u202eample\n\u200bClient ", "logo_uri": w.id("/logo"), "jwks_uri": w.id("/jwks"), "policy_uri": w.id("/policy"), "client_uri": w.id("/"), "CLIENT_NAME": "other"}))
	})
	got := must.Get(w.fetcher().Fetch(t.Context(), w.id("/oauth/client.json?v=1")))(t)
	want := clientdoc.Document{
		ClientID: w.id("/oauth/client.json?v=1"), Host: strings.TrimPrefix(w.id(""), "https://"),
		Name: "Example Client", RedirectURIs: []string{"http://127.0.0.1/cb", "https://client.example.com/cb"},
	}
	equals.Check(t, want, got)
	w.wantHits(1) // nothing else in the document is fetched
	if seen.Method != "GET" || seen.URL.RequestURI() != "/oauth/client.json?v=1" || seen.Header.Get("Accept") != "application/json" || seen.Header.Get("Accept-Encoding") != "" || seen.Header.Get("Authorization")+seen.Header.Get("Cookie") != "" {
		t.Errorf("%+v", seen)
	}
}

// Responses that are not documents.
func TestAnswers(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		status int
		header http.Header
		want   fault.Kind
	}{
		"moved":          {302, http.Header{"Location": {w.id("/elsewhere.json")}}, fault.Invalid},
		"moved for good": {308, http.Header{"Location": {"https://169.254.169.254/x"}}, fault.Invalid},
		"missing":        {404, nil, fault.Invalid},
		"created":        {201, nil, fault.Invalid},
		"not modified":   {304, nil, fault.Invalid},
		"broken":         {500, nil, fault.Unavailable},
		"too often":      {429, nil, fault.Unavailable},
		"HTML":           {200, http.Header{"Content-Type": {"text/html"}}, fault.Invalid},
		"text":           {200, http.Header{"Content-Type": {"text/json"}}, fault.Invalid},
		"no type":        {200, http.Header{"Content-Type": {""}}, fault.Invalid},
		"packed":         {200, http.Header{"Content-Encoding": {"gzip"}}, fault.Invalid},
		"long header":    {200, http.Header{"X-Long": {strings.Repeat("a", 32<<10)}}, fault.Unavailable},
	} {
		w.hits.Store(0)
		w.answer(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			for k, v := range c.header {
				rw.Header()[k] = v
			}
			rw.WriteHeader(c.status)
			if c.status != 304 {
				fmt.Fprint(rw, w.document("https://"+r.Host+r.URL.Path, nil))
			}
		})
		_, err := w.fetcher().Fetch(t.Context(), w.id("/client.json"))
		wantFault(t, name, err, c.want)
		w.wantHits(1)
	}
}

// A host that is slow, in the head or in the body, costs no more than the
// timeout.
func TestTimeout(t *testing.T) {
	w := newWorld(t)
	short := func(c *clientdoc.Config, _ *clientdoc.Deps) { c.Timeout = 150 * time.Millisecond }
	for _, head := range []bool{false, true} {
		w.answer(func(rw http.ResponseWriter, r *http.Request) {
			if rw.Header().Set("Content-Type", "application/json"); head {
				fmt.Fprint(rw, "{")
				rw.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		})
		start := time.Now()
		_, err := w.fetcher(short).Fetch(t.Context(), w.id("/client.json"))
		wantFault(t, fmt.Sprint(head), err, fault.Unavailable)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s", took)
		}
	}
}

// How long documents and failures are remembered, by the clock of the test.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		control, age string
		keeps        time.Duration
	}{
		{"", "", time.Minute},
		{"max-age=3600", "", time.Hour},
		{"public, Max-Age=3600", "600", 50 * time.Minute},
		{`max-age="3600"`, "", time.Hour},
		{"max-age=1", "", time.Minute},
		{"max-age=3600", "99999999999999999999999", time.Minute},
		{"no-store", "", time.Minute},
		{"max-age=3600, no-cache", "", time.Minute},
		{"max-age=31536000", "", 24 * time.Hour},
		{"max-age=99999999999999999999999", "", 24 * time.Hour},
		{"max-age=-5", "", time.Minute},
		{"s-maxage=3600, xmax-age=3600", "", time.Minute},
	} {
		w := newWorld(t)
		w.serve(func(h http.Header) {
			h["Cache-Control"] = strings.SplitAfter(c.control, ",")
			h.Set("Age", c.age)
		})
		f := w.fetcher()
		for _, step := range []struct {
			pass time.Duration
			hits int32
		}{{0, 1}, {c.keeps - time.Second, 1}, {2 * time.Second, 2}} {
			w.pass(step.pass)
			_, err := f.Fetch(t.Context(), w.id("/client.json"))
			if must.Do(t, err); w.hits.Load() != step.hits {
				t.Errorf("%q, age %q: %d requests, not %d", c.control, c.age, w.hits.Load(), step.hits)
			}
		}
	}
}

func TestFailuresAreRemembered(t *testing.T) {
	w := newWorld(t)
	w.answer(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Cache-Control", "max-age=86400")
		http.Error(rw, "", 404)
	})
	f := w.fetcher()
	for range 3 {
		_, err := f.Fetch(t.Context(), w.id("/client.json"))
		wantFault(t, "missing", err, fault.Invalid)
	}
	w.wantHits(1)
	w.serve(nil)
	w.pass(59 * time.Second)
	_, err := f.Fetch(t.Context(), w.id("/client.json"))
	wantFault(t, "still", err, fault.Invalid)
	w.pass(2 * time.Second)
	must.Get(f.Fetch(t.Context(), w.id("/client.json")))(t)
	w.wantHits(2)
}

// The memory is bounded, and changing a returned document does not change it.
func TestMemoryIsBounded(t *testing.T) {
	w := newWorld(t)
	f := w.fetcher(func(c *clientdoc.Config, _ *clientdoc.Deps) { c.Entries = 2 })
	for _, path := range []string{"/a", "/b", "/a", "/c", "/a", "/b"} { // c evicts b, the least recently used
		doc, err := f.Fetch(t.Context(), w.id(path))
		if must.Do(t, err); doc.RedirectURIs[0] != "http://127.0.0.1/cb" {
			t.Errorf("%v", doc.RedirectURIs)
		}
		doc.RedirectURIs[0] = "https://evil.example/"
	}
	w.wantHits(4)
}

// Requests to one domain are limited, whatever its hosts are called.
func TestDomainsAreLimited(t *testing.T) {
	w := newWorld(t)
	f := w.fetcher(func(c *clientdoc.Config, _ *clientdoc.Deps) { c.PerMinute = 3 })
	for i, name := range []string{host, "other.example.com", host} {
		must.Get(f.Fetch(t.Context(), w.at(name, fmt.Sprintf("/%d", i))))(t)
	}
	_, err := f.Fetch(t.Context(), w.at("other.example.com", "/x"))
	wantFault(t, "fourth", err, fault.RateLimited)
	var limit *fault.Error
	if !errors.As(err, &limit) || limit.RetryAfter <= 0 || limit.RetryAfter > time.Minute {
		t.Errorf("%+v", limit)
	}
	for _, id := range []string{w.at("client.example.org", "/x"), w.id("/0")} { // another domain; one that is remembered
		must.Get(f.Fetch(t.Context(), id))(t)
	}
	w.pass(time.Minute)
	must.Get(f.Fetch(t.Context(), w.at("other.example.com", "/x")))(t) // the refusal was not remembered
	w.wantHits(5)
}

// Concurrent fetches of one id are one fetch, and a caller that leaves does not
// end it.
func TestFetchesAreJoined(t *testing.T) {
	w := newWorld(t)
	arrived, open := make(chan struct{}, 10), make(chan struct{})
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-open
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprint(rw, w.document("https://"+r.Host+r.URL.Path, nil))
	})
	f := w.fetcher()
	leaving, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := f.Fetch(leaving, w.id("/client.json"))
		left <- err
	}()
	<-arrived
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := f.Fetch(t.Context(), w.id("/client.json")); err != nil {
				t.Error(err)
			}
		})
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(open)
	all.Wait()
	w.wantHits(1)
}

// A limited number of fetches run at once, and waiting for one's turn is
// bounded.
func TestAtOnce(t *testing.T) {
	w := newWorld(t)
	arrived, open := make(chan struct{}), make(chan struct{})
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			arrived <- struct{}{}
			<-open
		}
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprint(rw, w.document("https://"+r.Host+r.URL.Path, nil))
	})
	f := w.fetcher(func(c *clientdoc.Config, _ *clientdoc.Deps) { c.AtOnce, c.Timeout = 1, 500*time.Millisecond })
	slow := make(chan error)
	go func() {
		_, err := f.Fetch(t.Context(), w.id("/slow"))
		slow <- err
	}()
	<-arrived
	brief, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := f.Fetch(brief, w.id("/other"))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	w.wantHits(1)
	close(open)
	must.Do(t, <-slow)
	must.Get(f.Fetch(t.Context(), w.id("/third")))(t)
}

func TestConfig(t *testing.T) {
	must.Do(t, clientdoc.Defaults().Validate())
	if _, err := clientdoc.New(clientdoc.Config{MaxAge: 48 * time.Hour}, clientdoc.Deps{}); err == nil || len(strings.Split(err.Error(), "\n")) < 8 && strings.Count(err.Error(), ":") < 8 {
		t.Errorf("%v", err)
	}
	if d := clientdoc.Defaults(); d.Timeout != 3*time.Second || d.MaxBytes != 5120 || d.MaxAge != 24*time.Hour || d.RefusedFor != time.Minute || !slices.Equal(d.Ports, []uint16{443}) {
		t.Errorf("%+v", d)
	}
}

func wantFault(t *testing.T, what string, err error, kind fault.Kind) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != kind || f.Msg == "" || kind == fault.Invalid && f.Code != clientdoc.CodeInvalidClient || kind == fault.Unavailable && f.RetryAfter == 0 {
		t.Errorf("%.100q: %v (%v), not %s", what, err, fault.KindOf(err), kind)
	}
}
