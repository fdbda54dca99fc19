package schema_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/ch-go"

	"preismon/deploy/testserver/must"
	"preismon/projector/clickhouse"
	"preismon/projector/schema"
)

var gains = regexp.MustCompile(`^(CREATE TABLE IF NOT EXISTS \w+|ALTER TABLE \w+ +ADD (COLUMN|INDEX) IF NOT EXISTS \w+) `)

// TestOnlyGains: statements can be run again, and remove nothing, since
// programs of the older version read and write during a migration.
func TestOnlyGains(t *testing.T) {
	text := must.Get(schema.DDL(schema.Options{}))(t)
	n := 0
	for s := range strings.SplitSeq(strings.TrimSuffix(text, ";\n\n"), ";\n\n") {
		if n++; !gains.MatchString(s) {
			t.Errorf("not a statement that only adds, and can be run again:\n%s", s)
		}
	}
	if n < schema.Version() {
		t.Errorf("%d statements in %d migrations", n, schema.Version())
	}
}

var errDied = errors.New("died")

// dying runs so many statements that change something, and fails all later
// ones.
type dying struct {
	clickhouse.Conn
	left int
}

func (d *dying) Do(ctx context.Context, q ch.Query) error {
	if !strings.HasPrefix(q.Body, "SELECT") {
		if d.left == 0 {
			return errDied
		}
		d.left--
	}
	return d.Conn.Do(ctx, q)
}

// TestDying: a migration that dies after any of its statements does not count
// as done: what is logged is complete, and Check requires the rest.
func TestDying(t *testing.T) {
	s, db, _ := open(t)
	admin := pool(t, s.AdminDSN, 1)
	there := func() []string {
		return texts(t, db, "SELECT table || '.' || name || ' ' || type FROM system.columns WHERE database = currentDatabase() ORDER BY table, name")
	}
	migrate(t, s.AdminDSN)
	whole := there()
	exec(t, db, "DROP DATABASE "+s.Database+" SYNC")
	exec(t, db, "CREATE DATABASE "+s.Database)
	deaths, logged := 0, 0
	for left := 0; ; left++ {
		err := schema.MigrateTo(t.Context(), &dying{admin, left}, schema.Version())
		checked := schema.Check(t.Context(), admin)
		if err == nil {
			if checked != nil {
				t.Errorf("Check after all of it = %v", checked)
			}
			break
		}
		if deaths++; !errors.Is(err, errDied) || !errors.Is(checked, schema.ErrNotMigrated) {
			t.Fatalf("death %d: %v; Check = %v, want ErrNotMigrated", deaths, err, checked)
		}
		if deaths == 1 {
			continue // before the log
		}
		versions := texts(t, db, "SELECT toString(version) FROM schema_migrations FINAL ORDER BY version")
		if len(versions) > logged { // begin with the first statement of the next one
			logged, left = len(versions), 0
		}
	}
	if now := there(); !slices.Equal(now, whole) {
		t.Errorf("after %d deaths there is %v, want %v", deaths, now, whole)
	}
	t.Logf("%d deaths", deaths)
	if deaths < 2*schema.Version() {
		t.Errorf("%d deaths in %d migrations", deaths, schema.Version())
	}
}
