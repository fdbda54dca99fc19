package main

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The garbage collector's goal is never below what reads may hold: it rises and
// falls with what they do hold.
func TestMemoryGoalFollowsReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var held, limit, changes atomic.Int64
		ended := make(chan error, 1)
		go func() {
			ended <- followHeld(ctx, 128<<20, held.Load, func(n int64) { limit.Store(n); changes.Add(1) })
		}()
		for _, c := range []struct{ held, limit, changes int64 }{
			{0, 128 << 20, 1},
			{1 << 20, 128 << 20, 1},
			{256 << 20, 384 << 20, 2},
			{250 << 20, 384 << 20, 2},
			{100 << 20, 228 << 20, 3},
			{0, 128 << 20, 4},
		} {
			held.Store(c.held)
			time.Sleep(time.Second)
			synctest.Wait()
			if limit.Load() != c.limit || changes.Load() != c.changes {
				t.Errorf("held %d MiB: the limit is %d MiB after %d changes", c.held>>20, limit.Load()>>20, changes.Load())
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
