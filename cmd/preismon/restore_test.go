package main

import (
	"testing"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/migrated"
	"preismon/deploy/testserver/must"
	"preismon/projector/schema"
)

// TestRestoreOfNewerProgram: a backup that this program cannot use does not take
// the place of tables that it can.
func TestRestoreOfNewerProgram(t *testing.T) {
	t.Parallel()
	s := migrated.ClickHouse(t)
	db := database(t, s.AdminDSN)
	do := func(statement string) {
		t.Helper()
		must.Get(db.ExecContext(t.Context(), statement))(t)
	}
	here := []string{"--clickhouse-dsn", s.AdminDSN}
	backup := func(name string) (from []string) {
		t.Helper()
		out, errs, code := inProcess(t, append([]string{"backup", "--to", name}, here...)...)
		says(t, out, errs, code, 0)
		return append([]string{"restore", "--replace", "--from", name}, here...)
	}
	good := backup(s.Database + "_good")
	do("INSERT INTO schema_migrations (version, name, sha256) VALUES (9999, 'later', '')")
	newer := backup(s.Database + "_newer")
	do("DELETE FROM schema_migrations WHERE version = 9999")
	do("CREATE TABLE kept (n UInt8) ENGINE = Memory")
	tables := func() uint64 {
		t.Helper()
		return number(t, db, "SELECT count() FROM system.tables WHERE database = currentDatabase()")
	}
	before := tables()

	out, errs, code := inProcess(t, newer...)
	says(t, out, errs, code, exitFailed, schema.ErrNewer.Error(), "the database is unchanged", "start the newer program")
	equals.Is(t, before, tables(), "tables")
	if n := number(t, db, "SELECT count() FROM system.databases WHERE startsWith(name, ?)", s.Database+"."); n != 0 {
		t.Error("what was restored is left")
	}
	out, errs, code = inProcess(t, good...)
	says(t, out, errs, code, 0)
	equals.Is(t, before-1, tables(), "tables: those of the backup")
}
