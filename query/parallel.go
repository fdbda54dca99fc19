package query

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// inParallel runs the parts of an answer in parallel, and returns the first error.
// A panic of a part is raised again in the caller, where it can be recovered, with
// its stack. A read that is explained ends with its first part, so its parts run
// one after another.
func inParallel(ctx context.Context, parts ...func(context.Context) error) error {
	if explaining(ctx) != nil {
		for _, part := range parts {
			if err := part(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	var panicked atomic.Pointer[string]
	g, gctx := errgroup.WithContext(ctx)
	for _, part := range parts {
		g.Go(func() error {
			defer func() {
				if p := recover(); p != nil {
					panicked.Store(new(fmt.Sprintf("%v\n%s", p, debug.Stack())))
				}
			}()
			return part(gctx)
		})
	}
	err := g.Wait()
	if p := panicked.Load(); p != nil {
		panic(*p)
	}
	return err
}
