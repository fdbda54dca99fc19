package embedded

import (
	"context"
	"fmt"
	"time"
)

// How often an ended server is restarted.
const (
	maxRestarts   = 5           // in a row
	longLife      = time.Minute // a server that lived this long resets the count
	firstPause    = 250 * time.Millisecond
	longestPause  = 2 * time.Second
	outputHistory = 4096 // bytes of the output that are logged
)

// Supervise restarts the server on its ports whenever it ends by itself, and
// reports each restart. It returns nil when ctx ends, and an error if the server
// ended several times in a row soon after its start, or did not start. Call it
// once, and call Stop only after it has returned.
func (c *ClickHouse) Supervise(ctx context.Context, restarted func()) error {
	began, restarts := time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.Done():
		}
		ended := time.Now()
		if ended.Sub(began) >= longLife {
			restarts = 0
		}
		why := c.process.Load().ended()
		c.cfg.Logger.Warn("ClickHouse ended and is started again", "end", why, "restarts", restarts, "output", tail(c.path(outputLog), outputHistory))
		for started := false; !started; {
			if restarts == maxRestarts {
				return fmt.Errorf("ClickHouse %s, after %d restarts; its log is in %s", why, restarts, c.path("logs"))
			}
			if !pause(ctx, restarts) {
				return nil
			}
			restarts++
			err := c.launch(ctx)
			switch {
			case ctx.Err() != nil && err != nil:
				return nil
			case err != nil:
				why = "did not start: " + err.Error()
				c.cfg.Logger.Error("ClickHouse did not start", "restarts", restarts, "error", err)
			default:
				started = true
			}
		}
		began = time.Now()
		c.cfg.Logger.Warn("ClickHouse is back", "restarts", restarts, "seconds", began.Sub(ended).Seconds())
		restarted()
	}
}

// pause waits before a restart, longer each time but not before the first;
// false: ctx ended.
func pause(ctx context.Context, restarts int) bool {
	if restarts == 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(min(firstPause<<(restarts-1), longestPause)):
		return true
	}
}
