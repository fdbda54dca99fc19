package ingest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestExpect: a stream is reopened if messages wait and none is delivered; a
// quiet one is left alone, even for a day.
func TestExpect(t *testing.T) {
	for name, c := range map[string]struct {
		waiting   uint64
		delivered bool
		want      error
	}{
		"quiet":         {0, false, nil},
		"not delivered": {3, false, errNothing},
		"delivered":     {3, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				delivered := expect(c.waiting, cancel)
				defer delivered()
				time.Sleep(firstWait / 2)
				if c.delivered {
					delivered()
				}
				time.Sleep(24 * time.Hour)
				if err := context.Cause(ctx); !errors.Is(err, c.want) {
					t.Errorf("ended with %v, want %v", err, c.want)
				}
			})
		})
	}
}
