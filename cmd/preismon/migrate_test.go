package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/projector/schema"
	"preismon/query/auth"
)

// TestMigrateIntoCluster: tables were created without a cluster. A node of
// several shards names the tables that are missing and the command to run; the
// command creates them and reports it, and the node finds them by itself.
// Tables of a newer version do not harm nodes, whether they are running or
// starting.
func TestMigrateIntoCluster(t *testing.T) {
	t.Parallel()
	shard := testserver.Shards(t, 1)[0]
	admin := shard.DSN(embedded.AdminUser, "")
	migrate := func(want string, more ...string) {
		t.Helper()
		if out, errs, code := inProcess(t, append([]string{"migrate", "--clickhouse-dsn", admin}, more...)...); code != 0 || !strings.HasSuffix(out, want) {
			t.Fatalf("migrate %v: exit code %d: %s%s", more, code, out, errs)
		}
	}
	migrate(".\n")
	key := filepath.Join(t.TempDir(), "token.pem")
	must.Do(t, auth.EnsureKey(key))
	args := []string{
		"query", "--shards", "2", "--nats-url", testserver.NATS(t), "--clickhouse-dsn", shard.DSN(embedded.QueryUser, ""), "--token-key", key,
		"--cursor-key", strings.Repeat("cursor key ", 4), "--base-url", "https://prices.example.com", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
	}
	node := startRole(t, args...)
	tables := strings.Join(schema.OverShards(), ", ")
	must.Eventually(t, time.Minute, "the node says what to run", func() bool {
		said := node.check("schema")
		return !node.Ready() && strings.Contains(said, "("+tables+"); run `preismon migrate --clickhouse-cluster NAME`")
	})
	if _, errs, code := inProcess(t, "migrate", "--clickhouse-dsn", admin, "--clickhouse-cluster", testserver.Cluster(1)); code != exitFailed ||
		!strings.Contains(errs, "take a new database") {
		t.Errorf("replicas of plain tables: exit code %d: %s", code, errs)
	}
	migrate("The tables over all shards are there: "+tables+".\n", "--clickhouse-cluster", testserver.Cluster(1), "--unreplicated")
	must.Eventually(t, time.Minute, "the node finds them", func() bool { return node.check("schema") == "ok" })
	for _, q := range []string{"ALTER TABLE orders ADD COLUMN later String", "INSERT INTO schema_migrations (version, name, sha256) VALUES (9999, 'later', '')"} {
		must.Get(database(t, admin).Exec(q))(t)
	}
	for _, n := range []*role{node, startRole(t, args...)} {
		must.Eventually(t, time.Minute, "the node is ready on newer tables", n.Ready)
	}
}
