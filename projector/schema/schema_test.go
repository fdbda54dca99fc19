package schema_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/ClickHouse/clickhouse-go/v2"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/projector/clickhouse"
	"preismon/projector/schema"
)

var update = flag.Bool("update", false, "write the golden files")

func open(t *testing.T) (*testserver.ClickHouseServer, *sql.DB, *clickhouse.Pool) {
	t.Helper()
	s := testserver.ClickHouse(t)
	db := must.Get(sql.Open("clickhouse", s.AdminDSN))(t)
	t.Cleanup(func() { _ = db.Close() })
	return s, db, pool(t, s.ProjectorDSN, 1)
}

func migrate(t *testing.T, dsn string) {
	t.Helper()
	must.Do(t, schema.Migrate(t.Context(), dsn, schema.Options{}))
}

func exec(t *testing.T, db *sql.DB, q string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), q, args...); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := must.Get(os.ReadFile(path))(t)
	equals.Checkf(t, string(want), got, "%s (-want +got; -update writes it)", name)
}

// TestClusterGolden shows the DDL for a cluster with replicas, which the
// embedded server cannot run, and for one without.
func TestClusterGolden(t *testing.T) {
	for name, o := range map[string]schema.Options{
		"cluster.golden.sql": {Cluster: "{cluster}"},
		"shards.golden.sql":  {Cluster: "it's", Unreplicated: true},
	} {
		text := must.Get(schema.DDL(o))(t)
		golden(t, name, text)
	}
}

// TestForms: shards without replicas have the tables of a single server and
// those over the shards, and nothing else; an invalid form is refused before a
// request is sent.
func TestForms(t *testing.T) {
	text := func(o schema.Options) string {
		t.Helper()
		text := must.Get(schema.DDL(o))(t)
		return text
	}
	single, shards := text(schema.Options{}), text(schema.Options{Cluster: "c", Unreplicated: true})
	var here, over strings.Builder
	for s := range strings.SplitAfterSeq(shards, ";\n\n") {
		if strings.Contains(s, "_all ") {
			over.WriteString(s)
		} else {
			here.WriteString(s)
		}
	}
	rest := over.String()
	if here.String() != single || strings.Count(rest, "CREATE TABLE") != 8 || strings.Count(rest, "ENGINE = Distributed('c', currentDatabase(), ") != 8 {
		t.Errorf("an unreplicated shard is not a single node with Distributed tables:\n%s", shards)
	}
	if strings.Contains(single, "Distributed") || strings.Contains(shards, "ON CLUSTER") || strings.Contains(shards, "Replicated") {
		t.Error("a form has what is another's")
	}
	if err := schema.Migrate(t.Context(), "clickhouse://127.0.0.1:1/x", schema.Options{Unreplicated: true}); err == nil || !strings.Contains(err.Error(), "no cluster") {
		t.Errorf("unreplicated without a cluster: %v", err)
	}
}

// TestMigrateTwice migrates what was migrated, completely or in part, and refuses
// tables of a newer program, of an edited migration, and replicas of plain
// tables, which would stay empty, before anything is done.
func TestMigrateTwice(t *testing.T) {
	s, db, pool := open(t)
	check := func(want error) {
		t.Helper()
		if err := schema.Check(t.Context(), pool); !errors.Is(err, want) {
			t.Errorf("Check = %v, want %v", err, want)
		}
	}
	refused := func(o schema.Options, want error, words ...string) {
		t.Helper()
		err := schema.Migrate(t.Context(), s.AdminDSN, o)
		for _, part := range words {
			if !errors.Is(err, want) || !strings.Contains(err.Error(), part) {
				t.Errorf("Migrate = %v, want %v: %s", err, want, part)
			}
		}
	}
	check(schema.ErrNotMigrated)
	for range 2 {
		migrate(t, s.AdminDSN)
	}
	check(nil)
	// A crash after the last statement of a migration and before its record.
	exec(t, db, "DELETE FROM schema_migrations WHERE version = ?", schema.Version())
	check(schema.ErrNotMigrated)
	migrate(t, s.AdminDSN)
	check(nil)

	refused(schema.Options{Cluster: "default"}, schema.ErrPlain, "take a new database", "--unreplicated")
	exec(t, db, "INSERT INTO schema_migrations (version, name, sha256, applied_at) VALUES (1, 'observations', 'other', now64(3) + 1)")
	refused(schema.Options{}, schema.ErrEdited, "")
	exec(t, db, "DELETE FROM schema_migrations WHERE sha256 = 'other'")
	check(nil)
	exec(t, db, "INSERT INTO schema_migrations (version, name, sha256) VALUES (9999, 'future', '')")
	refused(schema.Options{}, schema.ErrNewer, "9999")
	check(schema.ErrNewer)
}

func TestUnreachable(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := schema.Migrate(ctx, "clickhouse://127.0.0.1:1/x", schema.Options{}); err == nil {
		t.Error("no error")
	}
	if err := schema.Migrate(t.Context(), "clickhouse://user:secret@%zz/x", schema.Options{}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v, want one without the password", err)
	}
}
