package projector_test

import (
	"context"
	"sync"
	"testing"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
	"preismon/projector/clickhouse"
)

// TestPoolAfterARestart: when all connections broke at the same time, as when
// the server was restarted, at most one statement fails and not one for each of
// them.
func TestPoolAfterARestart(t *testing.T) {
	t.Parallel() // it waits most of its time
	server := testserver.ClickHouse(t)
	x, through := proxy.Before(t, server.ProjectorDSN)
	cfg := must.Get(clickhouse.ParseDSN(through))(t)
	const size = 8
	pool := clickhouse.Open(cfg, size)
	t.Cleanup(func() { _ = pool.Close() })
	ask := func(sql string) error {
		return pool.Do(t.Context(), ch.Query{Body: sql, Result: new(proto.Results).Auto(), OnResult: func(context.Context, proto.Block) error { return nil }})
	}
	for range 3 {
		var all sync.WaitGroup
		for range size { // concurrently, so that each has its own connection
			all.Go(func() {
				if err := ask("SELECT sleep(0.2)"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		x.Close()
		failures := 0
		for range size {
			if ask("SELECT 1") != nil {
				failures++
			}
		}
		if failures > 1 {
			t.Errorf("%d of %d statements failed after the connections broke", failures, size)
		}
	}
}
