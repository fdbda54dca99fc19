package testserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"preismon/deploy/embedded"
)

// Shard is a ClickHouse server in its own process that is one shard of a
// cluster, with the empty database of preismon.
type Shard struct {
	*embedded.ClickHouse
	cfg embedded.ClickHouseConfig
}

// Cluster returns the name of the cluster whose shards are the first k servers;
// with k = n, all of them.
func Cluster(k int) string { return fmt.Sprintf("shards_%d", k) }

// Shards starts n embedded servers, each with a share of the processors, which
// know each other as the shards of a cluster without replicas. They end with the
// test.
func Shards(tb testing.TB, n int) []*Shard {
	tb.Helper()
	dir, err := base()
	if err != nil {
		tb.Fatal(err)
	}
	ports, err := embedded.FreePorts(n)
	if err != nil {
		tb.Fatal(err)
	}
	var clusters strings.Builder
	secret := rand.Text()
	for k := 1; k <= n; k++ {
		fmt.Fprintf(&clusters, "<%s><secret>%s</secret>", Cluster(k), secret)
		for _, port := range ports[:k] {
			fmt.Fprintf(&clusters, "<shard><replica><host>127.0.0.1</host><port>%d</port></replica></shard>", port)
		}
		fmt.Fprintf(&clusters, "</%s>", Cluster(k))
	}
	shards := make([]*Shard, n)
	for i := range shards {
		s := &Shard{cfg: embedded.ClickHouseConfig{
			Dir: filepath.Join(dir, unique("shard_")), TCPPort: ports[i], NoProgram: true, Grace: serverGrace, Logger: logger(), LogLevel: "warning",
			Settings:    map[string]string{"max_threads": "2"},
			ExtraConfig: []string{"<remote_servers>" + clusters.String() + "</remote_servers>"}, MemoryLimit: 2 << 30, GrantAlso: databasePrefix + "*",
		}}
		s.Start(tb)
		cleanup(tb, "stop a shard", func(ctx context.Context) error { return s.Stop(ctx) })
		shards[i] = s
	}
	return shards
}

// Start starts a stopped or killed shard again, in its folder and on its port.
func (s *Shard) Start(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), fetchLimit)
	defer cancel()
	started, err := embedded.StartClickHouse(ctx, s.cfg)
	if err != nil {
		tb.Fatalf("start a shard: %v", err)
	}
	s.ClickHouse = started
}
