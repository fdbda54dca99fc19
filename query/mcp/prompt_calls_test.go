package mcp_test

import (
	"testing"
	"time"
)

// A task whose subject the caller does not see gives back what it was admitted
// for.
func TestTasksGiveBack(t *testing.T) {
	agents := newAgents(t, newMarket())
	for range 2 {
		agents.agent(oneOrder).task("check-price-availability", map[string]string{"orderId": "8"})
		agents.agent(oneOrder).task("analyze-buybox", map[string]string{"orderId": "8"})
	}
	end := time.Now().Add(10 * time.Second) // the last POST ends its own read just after its answer
	for {
		left := agents.service.Admission().Stats()
		if left.Reads == 0 && left.Accounts == 0 && left.Held == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not given back: %+v", left)
		}
		time.Sleep(time.Millisecond)
	}
}
