// Package migrated provides tests with databases that have the tables of the
// newest schema. A test process migrates the first; in the others it creates the
// same tables directly, in half the time. testserver describes which server is
// used.
package migrated

import (
	"database/sql"
	"strings"
	"sync"
	"testing"

	"preismon/deploy/testserver"
	"preismon/projector/schema"
)

// name stands for the database's name in the statements that create its tables.
const name = "{database}"

var (
	mu         sync.Mutex
	statements []string
)

// ClickHouse returns a new database with all tables and no rows.
func ClickHouse(tb testing.TB) *testserver.ClickHouseServer {
	tb.Helper()
	c := testserver.ClickHouse(tb)
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	db, err := sql.Open("clickhouse", c.AdminDSN)
	must(err)
	defer db.Close() //nolint:errcheck // nothing is left to say
	mu.Lock()
	defer mu.Unlock()
	for _, q := range statements {
		_, err := db.ExecContext(tb.Context(), strings.ReplaceAll(q, name, c.Database))
		must(err)
	}
	if statements != nil {
		return c
	}
	must(schema.Migrate(tb.Context(), c.AdminDSN, schema.Options{}))
	rows, err := db.QueryContext(tb.Context(), `
		SELECT replaceAll(q, currentDatabase(), ?) FROM (
			SELECT create_table_query AS q FROM system.tables WHERE database = currentDatabase()
			UNION ALL
			SELECT 'INSERT INTO schema_migrations (version, name, sha256) VALUES ' || arrayStringConcat(groupArray(format('({}, \'{}\', \'{}\')', toString(version), name, sha256)), ', ') FROM schema_migrations
		) ORDER BY startsWith(q, 'INSERT')`, name)
	must(err)
	for rows.Next() {
		var q string
		must(rows.Scan(&q))
		statements = append(statements, q)
	}
	must(rows.Err())
	return c
}
