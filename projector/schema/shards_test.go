package schema_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/projector/schema"
)

// inCluster are the options of the only shard of a cluster.
var inCluster = schema.Options{Cluster: testserver.Cluster(1), Unreplicated: true}

// database creates an empty database on a shard, and returns it and its DSN.
func database(t *testing.T, s *testserver.Shard, name string) (*sql.DB, string) {
	t.Helper()
	open := func(name string) *sql.DB {
		db := must.Get(sql.Open("clickhouse", s.DSN(embedded.AdminUser, name)))(t)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	exec(t, open("default"), "CREATE DATABASE "+name)
	return open(name), s.DSN(embedded.AdminUser, name)
}

// TestShards migrates databases of one shard.
func TestShards(t *testing.T) {
	s := testserver.Shards(t, 1)[0]
	t.Run("later cluster", func(t *testing.T) { testLaterCluster(t, s) })
	for v := 1; v <= schema.Version(); v++ {
		if few(v) {
			t.Run(fmt.Sprintf("past %04d", v), func(t *testing.T) { testShardOfPast(t, s, v) })
		}
	}
}

// Tables that were created for one server get those over the shards when a
// cluster is named, whatever was done before, and reads of several shards are
// refused until then.
func testLaterCluster(t *testing.T, s *testserver.Shard) {
	db, admin := database(t, s, "preismon_test_later")
	migrate(t, admin)
	query := pool(t, s.DSN(embedded.QueryUser, "preismon_test_later"), 1)
	overShards := func() []string {
		return texts(t, db, "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'Distributed' ORDER BY name")
	}
	// missing returns the tables that a node of three shards reports as missing.
	missing := func() string {
		t.Helper()
		err := schema.CheckReads(t.Context(), query, 3)
		if err == nil {
			return ""
		}
		_, names, ok := strings.Cut(err.Error(), "the tables over the shards are missing (")
		names, advice, _ := strings.Cut(names, ")")
		if !ok || !errors.Is(err, schema.ErrNotMigrated) || !strings.Contains(advice, "run `preismon migrate --clickhouse-cluster NAME`") {
			t.Errorf("CheckReads = %v", err)
		}
		return names
	}
	if names := overShards(); len(names) != 0 {
		t.Errorf("one server has tables over shards: %v", names)
	}
	equals.NoError(t, schema.CheckReads(t.Context(), query, 1), "CheckReads of one server")
	want := slices.Sorted(slices.Values(schema.OverShards()))
	if names := strings.Split(missing(), ", "); !slices.Equal(slices.Sorted(slices.Values(names)), want) || len(want) != 8 {
		t.Errorf("missing: %v, want %v", names, want)
	}
	for _, lost := range []string{"", "", "scopes_all"} { // first, again, and after one was dropped
		if lost != "" {
			exec(t, db, "DROP TABLE "+lost)
			equals.Is(t, lost, missing(), "missing")
		}
		must.Do(t, schema.Migrate(t.Context(), admin, inCluster))
		if names := overShards(); !slices.Equal(names, want) || missing() != "" {
			t.Errorf("tables over shards: %v, want %v", names, want)
		}
	}
	if logged := texts(t, db, "SELECT toString(version) FROM schema_migrations ORDER BY version"); len(logged) != schema.Version() {
		t.Errorf("logged: %v", logged)
	}
	migrate(t, admin) // without a cluster: it removes nothing
	if missing() != "" {
		t.Error("migrating without a cluster took tables away")
	}
}

// Tables that a past version created for one server become a shard. A table
// over the shards has the columns that the table it reads has now, not those of
// the time when its migration was written.
func testShardOfPast(t *testing.T, s *testserver.Shard, version int) {
	db, admin := database(t, s, fmt.Sprintf("preismon_test_past_%d", version))
	restore(t, db, version)
	must.Do(t, schema.Migrate(t.Context(), admin, inCluster))
	for _, name := range schema.OverShards() {
		columns := func(table string) []string {
			return texts(t, db, "SELECT name || ' ' || type FROM system.columns WHERE database = currentDatabase() AND table = ? ORDER BY position", table)
		}
		if here, all := columns(strings.TrimSuffix(name, "_all")), columns(name); !slices.Equal(here, all) || len(all) == 0 {
			t.Errorf("%s has %v, want %v", name, all, here)
		}
	}
}
