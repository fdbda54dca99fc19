package store

import (
	"context"
	"sync/atomic"

	"preismon/contracts/fault"
)

// gate lets statements pass once the tables are those of this program. Tables
// of an older version may lack what a statement reads, or hold something else
// under the same name.
type gate struct {
	migrated func(context.Context) error // nil: they are
	open     atomic.Bool
}

// pass asks until it was once so: tables are not taken back to an older
// version under a program that runs.
func (g *gate) pass(ctx context.Context) error {
	if g.migrated == nil || g.open.Load() {
		return nil
	}
	err := g.migrated(ctx)
	switch {
	case err == nil:
		g.open.Store(true)
		return nil
	case exceptionCode(err) != 0, lost(err), over(ctx), ctx.Err() != nil:
		return err // it is not known how the tables are
	}
	return &fault.Error{
		Kind: fault.Unavailable, RetryAfter: retryAfter, Err: err,
		Msg: "The tables are not yet those of this version. Whoever runs the service has to run `preismon migrate`; then this node goes on by itself.",
	}
}
