package query

import (
	"context"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// lookAgain is how long a stream goes on by what its caller saw when it was
// last looked at. It is far below the time for which the projector keeps the
// pairs of a version that was replaced (KeepScopes): a statement under a
// version whose pairs are gone finds no rows, and that is no error.
const lookAgain = 2 * time.Second

// lookout watches that the caller of a long stream still sees what it saw when
// the stream began. Each slice of a stream is a statement of its own, so that
// after a change the rest would have rows that the part before lacks, or lack
// rows that it has, and end as if it were whole.
type lookout struct {
	service *Service
	caller  Principal
	seen    Visibility
	looked  time.Time
}

// now and then looks again, and fails when the caller sees something else.
func (l *lookout) nowAndThen(ctx context.Context) error {
	if time.Since(l.looked) < lookAgain {
		return nil
	}
	return l.now(ctx)
}

// now looks at once. What was read before holds when it does not fail.
func (l *lookout) now(ctx context.Context) error {
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
	l.looked = began
	return nil
}

// holds tells whether rows that were read by what was seen before are those
// that are seen now: only a version that was not applied may be by now.
func (v Visibility) holds(before Visibility) bool {
	before.Applied = before.Applied || v.Applied
	return v.same(before)
}
