package query

import (
	"context"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// recheckAfter is how long a stream goes on by what its caller saw when that
// was last checked. It is far below the time for which the projector keeps the
// pairs of a version that was replaced (KeepScopes): a statement under a
// version whose pairs are gone finds no rows, and that is no error.
const recheckAfter = 2 * time.Second

// scopeWatch checks that the caller of a long stream still sees what it saw when
// the stream began. Each slice of a stream is a statement of its own, so that
// after a change the rest would have rows that the part before lacks, or lack
// rows that it has, and end as if it were whole.
type scopeWatch struct {
	service *Service
	caller  Principal
	seen    Visibility
	checked time.Time
}

// whenDue checks again after a while, and fails when the caller sees something
// else.
func (l *scopeWatch) whenDue(ctx context.Context) error {
	if time.Since(l.checked) < recheckAfter {
		return nil
	}
	return l.now(ctx)
}

// now checks at once. What was read before holds when it does not fail.
func (l *scopeWatch) now(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.service.cfg.HardBudget)
	defer cancel()
	began := time.Now()
	a, err := l.service.access(ctx, l.caller, contracts.ReadResults)
	if err != nil {
		return err
	}
	if !a.Visibility.holds(l.seen) {
		return &fault.Error{
			Kind: fault.Unavailable, RetryAfter: time.Second,
			Msg: "What this account sees changed while its rows were read. Ask again.",
		}
	}
	l.checked = began
	return nil
}

// holds tells whether rows that were read by what was seen before are those
// that are seen now: only a version that was not applied may be by now.
func (v Visibility) holds(before Visibility) bool {
	before.Applied = before.Applied || v.Applied
	return v.same(before)
}
