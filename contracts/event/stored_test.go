package event_test

import (
	"testing"

	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
)

// TestSame: what was applied is the same up to the lowest position at which the
// stream has since lost its tail.
func TestSame(t *testing.T) {
	in := event.Incarnation{Epoch: 30, Created: 10, Forks: []event.Fork{{Epoch: 20, After: 50}, {Epoch: 30, After: 80}}}
	for _, c := range []struct {
		epoch     uint32
		seq, want uint64
	}{
		{9, 40, 0}, // of a stream before it was recreated
		{10, 40, 40},
		{10, 60, 50},
		{10, 90, 50},
		{20, 60, 60},
		{20, 90, 80},
		{30, 60, 60},
		{30, 90, 90},
		{0, 0, 0},
		{10, 0, 0},
	} {
		equals.Is(t, c.want, in.Same(c.epoch, c.seq), "Same(%d, %d) =", c.epoch, c.seq)
	}
	if in.After() != 80 || (event.Incarnation{Epoch: 10, Created: 10}).After() != 0 {
		t.Error("After")
	}
}
