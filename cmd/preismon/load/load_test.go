// Package load puts query nodes, as processes, under load and under faults of
// the servers behind them: many clients of mixed kinds; a customer who reads
// much next to one who reads little; nodes that are restarted; and ClickHouse,
// NATS and the object store gone, slow, out of memory or cut off in the middle
// of an answer. An answer is either the truth or recognizable as incomplete.
//
// `go test` applies load for half a minute; -load.for requests a longer time, and
// -load.compared more remembered answers that are compared with new ones.
package load_test

import (
	"flag"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
)

var loadFor = flag.Duration("load.for", 25*time.Second, "how long 200 clients go on")

func TestMain(m *testing.M) { process.Main(m) }

// until waits for a condition, and returns how long that took.
func until(t testing.TB, limit time.Duration, what string, ok func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	if err := must.Until(limit, what, ok); err != nil {
		t.Error(err)
	}
	return time.Since(began)
}
