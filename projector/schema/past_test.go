package schema_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/projector/schema"
)

// state is a database as text: its tables, and the rows of those that have any.
type state struct {
	tables string // as SHOW CREATE returns them
	rows   string // as statements that insert them
}

func (s state) golden(version int) string {
	return fmt.Sprintf("-- The tables as version %d made them, and some rows. Never changed, so that\n-- every later program is tested on what it may find.\n\n%s%s",
		version, s.tables, s.rows)
}

func pastFile(version int) string {
	return filepath.Join("testdata", "past", fmt.Sprintf("%04d.sql", version))
}

// texts returns the values of a query with one text column.
func texts(t *testing.T, db *sql.DB, q string, args ...any) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), q, args...)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	defer rows.Close() //nolint:errcheck // read to its end
	for rows.Next() {
		var text string
		must.Do(t, rows.Scan(&text))
		all = append(all, text)
	}
	must.Do(t, rows.Err())
	return all
}

// columns returns the columns of a table that are written.
func columns(t *testing.T, db *sql.DB, table string) []string {
	return texts(t, db, `SELECT name FROM system.columns WHERE database = currentDatabase() AND table = ?
		AND default_kind NOT IN ('MATERIALIZED', 'ALIAS') ORDER BY position`, table)
}

// tables returns the definition of every table as the server has it.
func tables(t *testing.T, db *sql.DB, database string) string {
	t.Helper()
	var b strings.Builder
	for _, name := range texts(t, db, "SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY name") {
		text := texts(t, db, "SHOW CREATE TABLE "+name)[0]
		b.WriteString(strings.ReplaceAll(text, database+".", "") + ";\n\n")
	}
	return b.String()
}

// rows returns the rows of a table, with these columns. Of the log of
// migrations, it returns those up to a version, all with the same time.
func rows(t *testing.T, db *sql.DB, version int, table string, columns []string) []string {
	t.Helper()
	from, values := table, strings.Join(columns, ", ")
	if table == "schema_migrations" {
		from = fmt.Sprintf("(SELECT version, name, sha256, toDateTime64('2026-01-01 00:00:00', 3, 'UTC') AS applied_at FROM %s FINAL WHERE version <= %d)", table, version)
	}
	return texts(t, db, fmt.Sprintf("SELECT trimRight(formatRowNoNewline('Values', %s), ',') AS r FROM %s ORDER BY r", values, from))
}

// stateOf reads the state of a database of a version.
func stateOf(t *testing.T, db *sql.DB, database string, version int) state {
	t.Helper()
	var b strings.Builder
	for _, table := range texts(t, db, "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' ORDER BY name") {
		columns := columns(t, db, table)
		if lines := rows(t, db, version, table, columns); len(lines) > 0 {
			fmt.Fprintf(&b, "INSERT INTO %s (%s) VALUES\n%s;\n\n", table, strings.Join(columns, ", "), strings.Join(lines, ",\n"))
		} else {
			t.Errorf("version %d: table %s has no rows; give it some in past_rows_test.go", version, table)
		}
	}
	return state{tables(t, db, database), b.String()}
}

// asMade returns the states that the migrations lead to, by version.
func asMade(t *testing.T) []state {
	t.Helper()
	s, db, _ := open(t)
	admin := pool(t, s.AdminDSN, 1)
	made := []state{{}}
	for v := 1; v <= schema.Version(); v++ {
		must.Do(t, schema.MigrateTo(t.Context(), admin, v))
		for _, insert := range rowsSince[v] {
			exec(t, db, insert)
		}
		made = append(made, stateOf(t, db, s.Database, v))
	}
	return made
}

// restore creates the tables of a version from the text of its golden alone.
func restore(t *testing.T, db *sql.DB, version int) {
	t.Helper()
	text := must.Get(os.ReadFile(pastFile(version)))(t)
	for s := range strings.SplitSeq(strings.TrimSpace(string(text)), ";\n\n") {
		exec(t, db, strings.TrimSuffix(s, ";"))
	}
}

// few reports whether tests that do not take all versions take this one: the
// first, the last two, and the first that can answer.
func few(version int) bool {
	return version == 1 || version == 7 || version >= schema.Version()-1
}

// TestPast: the golden of every past version is what its migrations create, and
// a database restored from it is migrated to this program's version by two
// processes at the same time, while readers query and a projector waits: no row
// changes, no reader gets a wrong answer, and both continue by themselves.
func TestPast(t *testing.T) {
	made := asMade(t)
	files := must.Get(filepath.Glob(filepath.Join("testdata", "past", "*")))(t)
	for v := 1; v < len(made); v++ {
		if *update && !slices.Contains(files, pastFile(v)) { // existing ones are never written again
			must.Do(t, os.WriteFile(pastFile(v), []byte(made[v].golden(v)), 0o644))
		} else if !*update && !slices.Contains(files, pastFile(v)) {
			t.Fatalf("version %d has no past golden; make it once with `go test ./projector/schema -run TestPast -update`, and commit it with the migration", v)
		}
	}
	if len(files) > schema.Version() {
		t.Errorf("%d past goldens, %d versions", len(files), schema.Version())
	}
	for v := 1; v < len(made); v++ {
		text := must.Get(os.ReadFile(pastFile(v)))(t)
		if d := cmp.Diff(made[v].golden(v), string(text)); d != "" {
			t.Fatalf("a migration or %s was edited; neither ever is, add a migration (-as migrations make it +golden):\n%s", pastFile(v), d)
		}
		if !few(v) && effort.Often(0, 1) == 0 {
			continue
		}
		t.Run(fmt.Sprintf("%04d", v), func(t *testing.T) {
			t.Parallel()
			s := testserver.ClickHouse(t)
			db := must.Get(sql.Open("clickhouse", s.AdminDSN))(t)
			t.Cleanup(func() { _ = db.Close() })
			restore(t, db, v)
			before := stateOf(t, db, s.Database, v)
			if d := cmp.Diff(made[v].golden(v), before.golden(v)); d != "" {
				t.Fatalf("%s does not make what it was made of (-want +got):\n%s", pastFile(v), d)
			}
			w := &past{t: t, version: v, server: s, db: db, before: before}
			w.migrate()
			w.goOn()
		})
	}
}

// sideBySide migrates n times concurrently, in place of several processes.
func sideBySide(ctx context.Context, dsn string, n int) error {
	errs := make(chan error, n)
	for range n {
		go func() { errs <- schema.Migrate(ctx, dsn, schema.Options{}) }()
	}
	var first error
	for range n {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// TestSideBySide: several migrations at the same time, also into a database
// that does not exist yet, do not disturb each other.
func TestSideBySide(t *testing.T) {
	s, db, pool := open(t)
	exec(t, db, "DROP DATABASE "+s.Database+" SYNC")
	must.Do(t, sideBySide(t.Context(), s.AdminDSN, 4))
	must.Do(t, schema.Check(t.Context(), pool))
	golden(t, "tables.golden.sql", strings.ReplaceAll(tables(t, db, s.Database), ";\n\n", "\n\n"))
	logged := texts(t, db, "SELECT toString(version) FROM schema_migrations FINAL ORDER BY version")
	if len(logged) != schema.Version() {
		t.Errorf("logged: %v", logged)
	}
}
