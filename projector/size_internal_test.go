package projector

import (
	"testing"
	"time"
)

// TestDaily: what a day adds is known after a day, from the share of the events
// that came meanwhile.
func TestDaily(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		bytes, last, first uint64
		within             time.Duration
		want               uint64
	}{
		{7000, 100, 0, 7 * day, 1000},
		{7000, 100, 50, 7 * day, 500},
		{7000, 100, 100, 7 * day, 0},
		{7000, 100, 0, day, 7000},
		{7000, 100, 0, day - time.Second, 0},
		{7000, 0, 0, 7 * day, 0},
	} {
		if got := daily(c.bytes, c.last, c.first, c.within); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
