package auth_test

import (
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// TestThrottleStats counts each decision by the limit that made it, and the
// running heavy reads.
func TestThrottleStats(t *testing.T) {
	t.Parallel()
	cfg := auth.ThrottleDefaults()
	cfg.Reads.Requests, cfg.Attempts.Requests, cfg.HeavyAtOnce = 2, 1, 1
	throttle := must.Get(auth.NewThrottle(cfg, time.Now))(t)
	for range 3 {
		_, _ = throttle.Read(7)
	}
	_, _ = throttle.Anonymous("10.0.0.1")
	_, _ = throttle.Attempt("10.0.0.1", "a@example.com")
	_, _ = throttle.Attempt("10.0.0.1", "a@example.com") // the address decides
	_, _ = throttle.Attempt("10.0.0.2", "a@example.com") // here the login decides
	release := must.Get(throttle.Heavy(contracts.AccountID(7)))(t)
	if _, err := throttle.Heavy(7); err == nil {
		t.Fatal("two heavy reads at once")
	}
	want := auth.ThrottleStats{Heavy: 1, Alone: true, ByLimit: map[string]auth.Decisions{
		"reads": {Allowed: 2, Refused: 1}, "anonymous": {Allowed: 1}, "address": {Allowed: 2, Refused: 1}, "login": {Allowed: 1, Refused: 1},
		"heavy": {Allowed: 1, Refused: 1},
	}}
	equals.Check(t, want, throttle.Stats())
	release()
	release()
	equals.Is(t, 0, throttle.Stats().Heavy, "heavy reads run")
}
