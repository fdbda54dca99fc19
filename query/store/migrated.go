package store

import (
	"context"
	"sync/atomic"

	"preismon/contracts/fault"
)

// gate lets statements pass once the tables match this program. Tables of an
// older version may lack what a statement reads, or hold something different
// under the same name.
type gate struct {
	migrated func(context.Context) error // nil: they match
	open     atomic.Bool
}

// pass calls migrated until it first succeeds: tables are not taken back to an
// older version while a program runs.
func (g *gate) pass(ctx context.Context) error {
	if g.migrated == nil || g.open.Load() {
		return nil
	}
	err := g.migrated(ctx)
	switch {
	case err == nil:
		g.open.Store(true)
		return nil
	case exceptionCode(err) != 0, connectionLost(err), ended(ctx), ctx.Err() != nil:
		return err // the state of the tables is not known
	}
	return &fault.Error{
		Kind: fault.Unavailable, RetryAfter: retryAfter, Err: err,
		Msg: "The tables are not yet those of this version. The operator has to run `preismon migrate`; then this node continues by itself.",
	}
}
