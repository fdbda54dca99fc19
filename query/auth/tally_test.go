package auth_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/query/auth"
)

// TestThrottleStats counts each decision by the limit that made it, and the
// running heavy reads.
func TestThrottleStats(t *testing.T) {
	t.Parallel()
	cfg := auth.ThrottleDefaults()
	cfg.Reads.Requests, cfg.Attempts.Requests, cfg.HeavyAtOnce = 2, 1, 1
	throttle, err := auth.NewThrottle(cfg, time.Now)
	must(t, err)
	for range 3 {
		_, _ = throttle.Read(7)
	}
	_, _ = throttle.Anonymous("10.0.0.1")
	_, _ = throttle.Attempt("10.0.0.1", "a@example.com")
	_, _ = throttle.Attempt("10.0.0.1", "a@example.com") // the address decides
	_, _ = throttle.Attempt("10.0.0.2", "a@example.com") // here the login decides
	release, err := throttle.Heavy(contracts.AccountID(7))
	must(t, err)
	if _, err := throttle.Heavy(7); err == nil {
		t.Fatal("two heavy reads at once")
	}
	want := auth.ThrottleStats{Heavy: 1, Alone: true, ByLimit: map[string]auth.Decisions{
		"reads": {Allowed: 2, Refused: 1}, "anonymous": {Allowed: 1}, "address": {Allowed: 2, Refused: 1}, "login": {Allowed: 1, Refused: 1},
		"heavy": {Allowed: 1, Refused: 1},
	}}
	if d := cmp.Diff(want, throttle.Stats()); d != "" {
		t.Error(d)
	}
	release()
	release()
	if n := throttle.Stats().Heavy; n != 0 {
		t.Errorf("%d heavy reads run", n)
	}
}
