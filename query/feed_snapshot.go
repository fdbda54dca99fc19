package query

import (
	"context"
	"time"

	"preismon/contracts/fault"
)

// farFuture is after every capture: a snapshot that a feed continues from has
// no upper bound of its own, because captures may be dated ahead of this clock.
var farFuture = time.Date(2299, 1, 1, 0, 0, 0, 0, time.UTC)

// streamToken makes a stream read everything that the feed will not return, and
// returns a function that seals the token after the last row. That function
// fails if what the caller sees has changed by then.
func (s *Service) streamToken(ctx context.Context, p Principal, plan *resultsPlan, r ResultsRequest, a *Access) (func(context.Context) error, error) {
	if r.Cursor != "" {
		return nil, invalid("cursor: a stream that begins at a cursor is not a snapshot to follow changes from. Leave out the cursor or the header Prefer.")
	}
	if err := feedable(r); err != nil {
		return nil, err
	}
	if err := settled(a.Visibility); err != nil {
		return nil, err
	}
	plan.endless = true
	w := plan.query.Window
	if !plan.given.To {
		w.To = time.Time{}
	}
	state := stateOf(r, w)
	state.At, state.Generation = positionAfter(a.Watermark), a.Generation
	var err error
	if state.Scope, err = s.feedScope(ctx, a.Visibility, plan.query.Selectors); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		now, err := s.authorize(ctx, p)
		if err != nil {
			return err
		}
		scope, err := s.feedScope(ctx, now.Visibility, state.Rows.selectors())
		switch {
		case err != nil:
			return err
		case scope != state.Scope || now.Generation != state.Generation:
			return &fault.Error{Kind: fault.Unavailable, RetryAfter: time.Second, Msg: "What this account sees changed while its rows were read. Ask again."}
		}
		*r.ChangesToken, err = s.seal.sealCursor(s.feedBinding(p, false), state)
		return err
	}, nil
}
