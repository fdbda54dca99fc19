package rest_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/deploy/testserver"
	"preismon/query/auth"
)

// countingNode is a surface that counts together with others on one NATS.
func countingNode(t *testing.T, address string, limits auth.ThrottleConfig, change ...func(*settings)) *surface {
	t.Helper()
	nc, err := nats.Connect(address)
	must(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	must(t, err)
	cfg := auth.SharedDefaults()
	cfg.Wait = 30 * time.Second
	throttle, err := auth.NewSharedThrottle(limits, cfg, js, slog.New(slog.DiscardHandler), time.Now)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- throttle.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	for probe, start := 0, time.Now(); ; probe++ { // until it writes to the bucket
		if time.Since(start) > 30*time.Second {
			t.Fatal("the node does not count with the others")
		}
		stream, err := js.Stream(t.Context(), "KV_"+cfg.Bucket)
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		before := stream.CachedInfo().State.LastSeq
		_, err = throttle.Attempt(fmt.Sprintf("probe %d of %p", probe, throttle), "")
		must(t, err)
		after, err := stream.Info(t.Context())
		must(t, err)
		if after.State.LastSeq > before {
			break
		}
	}
	return serve(t, append(change, func(set *settings) { set.counters = throttle })...)
}

// A client that knows nothing but the headers of its last answer, and is sent
// to one of two nodes in turns, never sees a 429: by the X- headers, and by the
// IETF fields. RATE-01, RATE-02a.
func TestHeadersKeepClientsFromBeingRefused(t *testing.T) {
	t.Parallel() // it mostly waits
	address := testserver.NATS(t)
	limits := auth.ThrottleDefaults()
	limits.Reads = auth.Rate{Requests: 40, Per: 2 * time.Second}
	one := countingNode(t, address, limits)
	two := countingNode(t, address, limits, func(set *settings) { set.key = one.key })
	wait := map[string]func(h http.Header) time.Duration{ // before the next request
		"X-": func(h http.Header) time.Duration {
			if left, err := strconv.Atoi(h.Get("X-RateLimit-Remaining")); err != nil || left > 0 {
				return 0
			}
			reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
			must(t, err)
			return time.Until(time.Unix(reset, 0))
		},
		"IETF": func(h http.Header) time.Duration {
			var left, seconds int
			_, err := fmt.Sscanf(h.Get("RateLimit"), `"reads";r=%d;t=%d`, &left, &seconds)
			must(t, err)
			if left > 0 {
				return 0
			}
			return time.Duration(seconds) * time.Second
		},
	}
	for name, next := range wait {
		token := one.token(reader)
		if name == "IETF" {
			token = one.token(narrow)
		}
		clients := []*http.Client{one.raw(), two.raw()}
		served, waits := 0, 0
		for start := time.Now(); time.Since(start) < 5*time.Second; served++ {
			node := []*surface{one, two}[served%2]
			resp, err := clients[served%2].Do(node.request("GET", "/v1/sites", token, nil))
			must(t, err)
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode != 200 {
				t.Fatalf("%s: request %d: %d %v", name, served, resp.StatusCode, resp.Header)
			}
			if d := next(resp.Header); d > 0 {
				waits++
				time.Sleep(d)
			}
		}
		t.Logf("%s: %d requests, %d waits", name, served, waits)
		if waits < 2 || served < 60 {
			t.Errorf("%s: %d requests and %d waits do not prove much", name, served, waits)
		}
	}
	// Who does not obey is refused on both nodes alike.
	token := one.token(reader)
	for range 200 {
		one.plain("/v1/sites", token)
	}
	for _, node := range []*surface{one, two} {
		refused := false
		for range 45 { // a window may have begun meanwhile
			refused = refused || node.plain("/v1/sites", token).StatusCode == 429
		}
		if !refused {
			t.Error("a node has a limit of its own")
		}
	}
}
