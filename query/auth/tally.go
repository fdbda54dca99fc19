package auth

import (
	"sync/atomic"

	"preismon/contracts/fault"
)

// LoginStats counts attempts to log in by their result, on every surface:
// refused are wrong ones, throttled are those that came too often, failed are
// those that could not be checked.
type LoginStats struct{ Accepted, Refused, Throttled, Failed uint64 }

// LoginStats returns the counters.
func (a *Authority) LoginStats() LoginStats {
	c := &a.logins
	return LoginStats{c[0].Load(), c[1].Load(), c[2].Load(), c[3].Load()}
}

func (a *Authority) countLogin(err error) {
	at := 3
	switch kind := fault.KindOf(err); {
	case err == nil:
		at = 0
	case kind == fault.Unauthenticated, kind == fault.Invalid:
		at = 1
	case kind == fault.RateLimited:
		at = 2
	}
	a.logins[at].Add(1)
}

// Decisions counts what a Throttle decided by one of its limits.
type Decisions struct{ Allowed, Refused uint64 }

// ThrottleStats counts what a Throttle has decided since it was created.
type ThrottleStats struct {
	ByLimit map[string]Decisions // by name: reads, anonymous, login, address, heavy
	Heavy   int64                // heavy reads running on this node
	Alone   bool                 // this node counts without the others
}

// tally counts decisions.
type tally struct{ allowed, refused atomic.Uint64 }

func (t *tally) add(allowed bool) {
	if allowed {
		t.allowed.Add(1)
		return
	}
	t.refused.Add(1)
}

// tallied is a counter whose decisions are counted.
type tallied struct {
	counter
	tally *tally
}

func (c tallied) take(key string) (Quota, error) {
	q, err := c.counter.take(key)
	c.tally.add(err == nil)
	return q, err
}

// tally returns the tally of a limit.
func (t *Throttle) tally(limit string) *tally {
	if t.tallies == nil {
		t.tallies = map[string]*tally{}
	}
	if t.tallies[limit] == nil {
		t.tallies[limit] = new(tally)
	}
	return t.tallies[limit]
}

// Stats returns the counters.
func (t *Throttle) Stats() ThrottleStats {
	s := ThrottleStats{ByLimit: map[string]Decisions{}, Heavy: t.running.Load(), Alone: t.bucket == nil || !t.bucket.reached()}
	for limit, tally := range t.tallies {
		s.ByLimit[limit] = Decisions{tally.allowed.Load(), tally.refused.Load()}
	}
	return s
}
