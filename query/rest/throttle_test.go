package rest_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/equals"
)

// wantQuota checks that an answer reports its caller's quota (RATE-02a).
func wantQuota(t testing.TB, a answer) {
	t.Helper()
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if _, err := strconv.ParseInt(a.Header.Get(name), 10, 64); err != nil {
			t.Errorf("%s %s %d: %s is %q", a.Request.Method, a.Request.URL.Path, a.StatusCode, name, a.Header.Get(name))
		}
	}
}

func TestReadThrottle(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 3 })
	token := s.token(reader)
	for i, path := range []string{"/v1/sites", "/v1/results?limit=x", "/v1/results/stream"} { // RATE-01, of one account together
		a := s.get(path, token)
		if a.Header.Get("X-RateLimit-Limit") != "3" || a.Header.Get("X-RateLimit-Remaining") != strconv.Itoa(2-i) {
			t.Errorf("%s: %v", path, a.Header)
		}
	}
	s.get("/v1/sites", token).wantProblem(t, 429, "RATE_LIMIT_EXCEEDED")
	s.get("/v1/sites", s.token(narrow)).is(t, 200)
	for range 3 { // requests without an account count for the address
		s.get("/v1/sites", "garbage").wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	}
	s.get("/v1/sites", "garbage").wantProblem(t, 429, "RATE_LIMIT_EXCEEDED")
	s.get("/v1/nothing", "").wantProblem(t, 429, "RATE_LIMIT_EXCEEDED")
	s.clock.advance(time.Minute)
	if a := s.get("/v1/sites", token); a.StatusCode != 200 { // ERR-10
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

func TestHeavyReads(t *testing.T) {
	s := serve(t)
	token := s.token(reader)
	hold := make(chan struct{})
	entered := make(chan struct{}, 16)
	s.store.each = func(n int) error {
		if n == 0 {
			entered <- struct{}{}
			<-hold
		}
		return nil
	}
	done := make(chan int, 8)
	for i := range 8 {
		go func() {
			r, _ := http.NewRequest("GET", s.URL+readRoutes[2+i%2], nil)
			r.Header.Set("Authorization", "Bearer "+token)
			resp, err := s.Client().Do(r)
			if err != nil {
				done <- 0
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			done <- resp.StatusCode
		}()
	}
	for range 8 {
		<-entered
	}
	for _, path := range []string{"/v1/results", "/v1/results/stream"} {
		a := s.get(path, token)
		a.wantProblem(t, 429, "RATE_LIMIT_EXCEEDED")
		if a.Header.Get("Retry-After") != "1" || !strings.HasSuffix(a.Header.Get("RateLimit"), `"heavy";r=0`) {
			t.Errorf("Retry-After %q, RateLimit %q", a.Header.Get("Retry-After"), a.Header.Get("RateLimit"))
		}
	}
	s.get("/v1/sites", token).is(t, 200)
	close(hold)
	for range 8 {
		equals.Is(t, 200, <-done, "status")
	}
	s.get("/v1/results", token).is(t, 200)
}
