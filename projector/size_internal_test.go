package projector

import (
	"testing"
	"time"

	"preismon/deploy/testserver/equals"
)

// TestDaily: what a day adds is known after a day, from the events that arrived
// meanwhile and the rows per event, also when most rows are no longer kept.
func TestDaily(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		bytes, rows, events, written, came uint64
		within                             time.Duration
		want                               uint64
	}{
		{7000, 200, 100, 200, 100, 7 * day, 1000},
		{7000, 200, 100, 200, 50, 7 * day, 500},
		{7000, 200, 100, 200, 0, 7 * day, 0},
		{7000, 200, 100, 200, 100, day, 7000},
		{7000, 200, 100, 200, 100, day - time.Second, 0},
		{7000, 0, 0, 0, 0, 7 * day, 0},
		{7000, 20, 1000, 2000, 10, 7 * day, 1000}, // one row in a hundred is kept
		{7000, 0, 1000, 2000, 10, 7 * day, 0},     // none is kept: their size is unknown
	} {
		equals.Is(t, c.want, daily(c.bytes, c.rows, c.events, c.written, c.came, c.within), "%+v", c)
	}
}
