package main

import (
	"context"
	"time"
)

const (
	memoryLook = 250 * time.Millisecond
	memoryStep = 16 << 20 // a smaller change is not worth the pause
)

// followReads keeps the memory limit, from which on garbage is collected at
// once, above what reads hold, by the goal. A limit below what is in use would
// cause constant collection, and one sized for the most that reads may hold
// would let garbage grow to that when they hold nothing.
func followReads(ctx context.Context, goal int64, held func() int64, limit func(int64)) error {
	tick := time.NewTicker(memoryLook)
	defer tick.Stop()
	for is := int64(0); ; {
		if want := goal + held(); is == 0 || want >= is+memoryStep || want <= is-memoryStep {
			limit(want)
			is = want
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
