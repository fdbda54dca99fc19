package query

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// atOnce runs the parts of an answer side by side, and gives the first error.
// A read that is explained ends with its first part: they run one after another.
func atOnce(ctx context.Context, parts ...func(context.Context) error) error {
	if explaining(ctx) != nil {
		for _, part := range parts {
			if err := part(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	g, gctx := errgroup.WithContext(ctx)
	for _, part := range parts {
		g.Go(func() error { return part(gctx) })
	}
	return g.Wait()
}
