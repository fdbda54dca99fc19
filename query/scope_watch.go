package query

import (
	"context"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// recheckAfter is how long a stream relies on the last check of what its caller
// sees. It is far below the time for which the projector keeps the pairs of a
// replaced version (KeepScopes): a statement under a version whose pairs are
// gone finds no rows, and that is not an error.
const recheckAfter = 2 * time.Second

// scopeWatch checks that the caller of a long stream still sees what it saw
// when the stream began. Each slice of a stream is a statement of its own, so
// after a change the rest would have rows that the first part lacks, or lack
// rows that it has, and still end as if it were complete.
type scopeWatch struct {
	service *Service
	caller  Principal
	seen    Visibility
	checked time.Time
}

// whenDue checks again after a while, and fails if what the caller sees has
// changed.
func (l *scopeWatch) whenDue(ctx context.Context) error {
	if time.Since(l.checked) < recheckAfter {
		return nil
	}
	return l.now(ctx)
}

// now checks at once. If it does not fail, everything read before is valid.
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

// holds reports whether rows that were read by an earlier visibility are those
// visible now: the only change allowed is that its version has since been
// applied.
func (v Visibility) holds(before Visibility) bool {
	before.Applied = before.Applied || v.Applied
	return v.same(before)
}
