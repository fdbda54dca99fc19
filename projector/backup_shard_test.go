package projector_test

import (
	"context"
	"testing"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"preismon/contracts/event"
	"preismon/deploy/embedded"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/projector/backup"
	"preismon/projector/clickhouse"
	"preismon/projector/schema"
)

// TestBackupOfShard: the tables over all shards read those of the restored
// database.
func TestBackupOfShard(t *testing.T) {
	const database = "preismon_test_shard"
	shard := testserver.Shards(t, 1)[0]
	pool := func(database string) *clickhouse.Pool {
		t.Helper()
		c := must.Get(clickhouse.ParseDSN(shard.DSN(embedded.AdminUser, database)))(t)
		pool := clickhouse.Open(c, 1)
		t.Cleanup(func() { _ = pool.Close() })
		return pool
	}
	admin := pool("default")
	exec := func(statement string) {
		t.Helper()
		must.Do(t, admin.Do(t.Context(), ch.Query{Body: statement}))
	}
	exec("CREATE DATABASE " + database)
	must.Do(t, schema.Migrate(t.Context(), shard.DSN(embedded.AdminUser, database), schema.Options{Cluster: testserver.Cluster(1), Unreplicated: true}))
	exec("INSERT INTO " + database + ".checkpoints (stream, epoch, seq) VALUES ('" + event.StreamObservations + "', 1, 7)")
	place := backup.Location{Name: database}
	must.Get(backup.Take(t.Context(), admin, database, place))(t)
	must.Do(t, backup.Restore(t.Context(), admin, backup.RestoreRequest{Database: database, From: place, Replace: true}))
	for _, table := range schema.OverShards() {
		var n proto.ColUInt64
		err := admin.Do(t.Context(), ch.Query{
			Body: "SELECT count() AS n FROM " + database + "." + table, Result: proto.Results{{Name: "n", Data: &n}},
			OnResult: func(context.Context, proto.Block) error { return nil },
		})
		if err != nil {
			t.Errorf("%s: %v", table, err)
		}
	}
}
