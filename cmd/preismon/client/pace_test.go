package client_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/cmd/preismon/client"
	"preismon/deploy/testserver/must"
)

// unchecked returns a client for a server that breaks the contract.
func unchecked(t *testing.T, at string) *client.Client {
	t.Helper()
	c := must.Get(client.New(client.Config{URL: at, Token: "t", Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}))(t)
	return c
}

// always refuses each request with a code, and asks to wait for a minute.
func always(code string) func(http.ResponseWriter, int) bool {
	return func(w http.ResponseWriter, _ int) bool {
		w.Header().Set("Retry-After", "60")
		problem(w, code)
		return true
	}
}

// TestWaits: the client waits out temporary refusals for as long as they say
// (RATE-03, ERR-10), and does not retry others.
func TestWaits(t *testing.T) {
	t.Parallel()
	q := url.Values{"site": {"a"}}
	for name, c := range map[string]struct {
		before func(w http.ResponseWriter, n int) bool
		waits  []time.Duration
		asked  int
		err    string
	}{
		"429, seconds": {
			before: func(w http.ResponseWriter, n int) bool {
				if n > 1 {
					return false
				}
				w.Header().Set("X-RateLimit-Remaining", "0") // the client must obey Retry-After instead
				w.Header().Set("Retry-After", strconv.Itoa(7+n))
				problem(w, "RATE_LIMIT_EXCEEDED")
				return true
			},
			waits: []time.Duration{7 * time.Second, 8 * time.Second}, asked: 3,
		},
		"503": {
			before: func(w http.ResponseWriter, n int) bool {
				if n == 0 {
					w.Header().Set("Retry-After", "2")
					problem(w, "SERVICE_UNAVAILABLE")
				}
				return n == 0
			},
			waits: []time.Duration{2 * time.Second}, asked: 2,
		},
		"a limit that never ends": {
			before: always("RATE_LIMIT_EXCEEDED"),
			waits:  slicesOf(10, time.Minute), asked: 11, err: "RATE_LIMIT_EXCEEDED",
		},
		"a server that comes back after a while": {
			before: func(w http.ResponseWriter, n int) bool {
				if n < 20 {
					w.Header().Set("Retry-After", "1")
					problem(w, "SERVICE_UNAVAILABLE")
				}
				return n < 20
			},
			waits: slicesOf(20, time.Second), asked: 21,
		},
		"a server that does not come back": {
			before: always("SERVICE_UNAVAILABLE"),
			waits:  slicesOf(10, time.Minute), asked: 11, err: "SERVICE_UNAVAILABLE",
		},
		"used up": {
			before: func(w http.ResponseWriter, n int) bool {
				if n == 0 {
					w.Header().Set("X-RateLimit-Remaining", "0")
					w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Unix()+31, 10))
				}
				return false
			},
			waits: []time.Duration{31 * time.Second}, asked: 2,
		},
		"no token any more": {
			before: func(w http.ResponseWriter, n int) bool { problem(w, "AUTH_TOKEN_INVALID"); return true },
			asked:  1, err: "AUTH_TOKEN_INVALID",
		},
		"their fault": {
			before: func(w http.ResponseWriter, n int) bool { problem(w, "INTERNAL_ERROR"); return true },
			asked:  1, err: "INTERNAL_ERROR, request r1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, most := 20, int64(10)
			if name == "used up" {
				rows, most = 10_001, 0 // two pages
			}
			s := &shop{t: t, rows: tied(rows, time.Second, "a")}
			n := -1
			s.before = func(w http.ResponseWriter, _ *http.Request) bool { n++; return c.before(w, n) }
			cl, waits := s.client(s.serve().URL)
			_, err := read(t, cl, client.Results{Params: q, Most: most})
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			near := cmp.Comparer(func(a, b time.Duration) bool { return (a - b).Abs() <= time.Second })
			if diff := cmp.Diff(append([]time.Duration{}, c.waits...), *waits, near); diff != "" || len(s.asked) != c.asked {
				t.Errorf("%d requests, want %d; waits %s", len(s.asked), c.asked, diff)
			}
		})
	}
}

func slicesOf(n int, d time.Duration) (all []time.Duration) {
	for range n {
		all = append(all, d)
	}
	return all
}

// TestProxies: an answer that does not come from a preismon server is reported
// as such, and a gateway that fails for a moment is retried.
func TestProxies(t *testing.T) {
	t.Parallel()
	s := &shop{t: t, rows: tied(5, time.Second, "a")}
	n := 0
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		if n++; n < 4 {
			http.Error(w, "<h1>Bad gateway</h1>", http.StatusBadGateway)
		}
		return n < 4
	}
	url := s.serve().URL
	if got, err := read(t, unchecked(t, url), client.Results{}); err != nil || len(got) != 5 {
		t.Errorf("%d rows, %v", len(got), err)
	}
	s.before = func(w http.ResponseWriter, _ *http.Request) bool { http.NotFound(w, nil); return true }
	if _, err := read(t, unchecked(t, url), client.Results{}); err == nil || !strings.Contains(err.Error(), "404 Not Found") || !strings.Contains(err.Error(), "address of a preismon server") {
		t.Error(err)
	}
	if _, err := client.New(client.Config{URL: "shop.example"}); err == nil || !strings.Contains(err.Error(), "https://HOST") {
		t.Error(err)
	}
}

// TestNobodyThere: a server that never answered is not retried for long; one
// that did may be restarting.
func TestNobodyThere(t *testing.T) {
	there := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !there {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			_ = conn.Close()
			return
		}
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(server.Close)
	for name, answered := range map[string]bool{"never": false, "before": true} {
		var waited time.Duration
		c := must.Get(client.New(client.Config{URL: server.URL, Token: "t", Wait: func(_ context.Context, d time.Duration) error { waited += d; return nil }}))(t)
		if there = true; answered {
			must.Get(c.Capabilities(t.Context()))(t)
		}
		there = false
		_, err := c.Capabilities(t.Context())
		if most := 4 * time.Second; err == nil || (waited > most) != answered {
			t.Errorf("%s: waited %v, %v", name, waited, err)
		}
	}
}
