package main

import (
	"context"
	"time"
)

const (
	memoryLook = 250 * time.Millisecond
	memoryStep = 16 << 20 // a change below it is not worth stopping the program for
)

// followReads keeps the limit from which garbage is collected at once above what
// reads hold, by the goal: a limit that what is in use exceeds has it collected
// all the time, and one for the most that reads may hold lets garbage grow to
// that when they hold nothing.
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
