// Package load puts query nodes, as processes, under load and under faults of
// what is behind them: many clients of mixed kinds, one customer who reads
// much beside one who reads little, nodes that are restarted, ClickHouse, NATS
// and the object store gone, slow, out of memory or cut in the middle of an
// answer. An answer is either the truth or says that it is none.
//
// `go test` loads for half a minute; -load.for asks for longer.
package load_test

import (
	"flag"
	"testing"
	"time"

	"preismon/deploy/testserver/process"
)

var loadFor = flag.Duration("load.for", 25*time.Second, "how long 200 clients go on")

func TestMain(m *testing.M) { process.Main(m) }

// until waits for a condition, and gives how long.
func until(t testing.TB, limit time.Duration, what string, ok func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	if err := process.Until(limit, what, ok); err != nil {
		t.Error(err)
	}
	return time.Since(began)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
