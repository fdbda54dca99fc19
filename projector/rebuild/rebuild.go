// Package rebuild exchanges the tables of a read model for those of another
// that was rebuilt alongside it. Its caller drives the projectors of both and
// holds the lease; contracts/decisions/011-shadow-tables.md explains why
// readers get no wrong answer meanwhile. Its connections are an administrator's.
package rebuild

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ClickHouse/ch-go"

	"preismon/contracts/event"
	"preismon/projector/clickhouse"
)

// Tables are the tables that are exchanged, rows first. Checkpoints and scopes
// are not exchanged, because readers carry their version numbers from one
// statement to the next. Fences are exchanged only as a witness, see Exchange.
var Tables = []string{
	"observations", "observations_by_mandate", "latest_observations", "ingested_events", "expired_rows",
	"sites", "items", "mandates", "accounts", "orders", "reference_prices", "customer_data", "file_jobs", "file_archives",
}

// NewDatabase returns the name of the database in which the read model of another is
// rebuilt. It is never that of an operator's own, because it is dropped.
func NewDatabase(database string) string { return database + ".being_rebuilt" }

// OldDatabase returns the name of the database in which Keep leaves the tables of
// another.
func OldDatabase(database string) string { return database + "_old" }

// ErrKept means that tables were kept before.
var ErrKept = errors.New("holds what was kept before")

// CheckKeep returns ErrKept if Keep would have no name for the old tables.
func CheckKeep(ctx context.Context, conn clickhouse.Conn, database string) error {
	n, err := clickhouse.Number(ctx, conn, "SELECT count() AS n FROM system.databases WHERE name = {name:String}", map[string]any{"name": OldDatabase(database)})
	if err == nil && n > 0 {
		err = fmt.Errorf("database %s %w; drop it, or go without --keep-old", OldDatabase(database), ErrKept)
	}
	return err
}

// Keep gives the old tables, once the rebuilt ones are in place, a name under
// which no later rebuild drops them.
func Keep(ctx context.Context, conn clickhouse.Conn, database string) error {
	err := conn.Do(ctx, ch.Query{Body: "RENAME DATABASE " + clickhouse.Name(NewDatabase(database)) + " TO " + clickhouse.Name(OldDatabase(database))})
	if err != nil {
		return fmt.Errorf("the new tables are in place, but the old ones are in %s, which the next rebuild drops: %w", NewDatabase(database), err)
	}
	return nil
}

// Drop drops the database of the rebuild, if there is one. Reads under way on
// its tables finish.
func Drop(ctx context.Context, conn clickhouse.Conn, database string) error {
	return conn.Do(ctx, ch.Query{Body: "DROP DATABASE IF EXISTS " + clickhouse.Name(NewDatabase(database))})
}

// ErrNotWhole means that the streams do not hold everything that the tables do.
var ErrNotWhole = errors.New("the streams no longer hold everything that the tables do, so that they cannot be rebuilt from them")

// Check checks that the tables can be rebuilt with the same places for all
// rows: ErrNotWhole. Events all of whose rows have expired need not be in the
// stream.
func Check(ctx context.Context, conn clickhouse.Conn, database string, observations, catalog event.StreamState) error {
	for _, s := range []event.StreamState{observations, catalog} {
		if s.After() > 0 {
			return fmt.Errorf("%w: stream %s lost its tail once, and its first %d messages would get other places", ErrNotWhole, s.Stream, s.After())
		}
	}
	var missing []string
	for _, q := range []struct{ what, sql string }{
		{"events", notInStream(database, "")},
		{"records", "SELECT count() AS n FROM (" + versions(database) + ") WHERE bitShiftRight(version, 32) != {catalog:UInt32}"},
	} {
		n, err := clickhouse.Number(ctx, conn, q.sql, map[string]any{"epoch": observations.Epoch, "first": observations.First, "catalog": catalog.Epoch})
		if err != nil {
			return err
		}
		if n > 0 {
			missing = append(missing, fmt.Sprintf("%d %s", n, q.what))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %s came from streams that are gone, or from messages that were dropped", ErrNotWhole, strings.Join(missing, " and "))
	}
	return nil
}

// dropped holds for the events whose message is not in the stream.
const dropped = "(epoch != {epoch:UInt32} OR seq < {first:UInt64})"

// notInStream returns the query for the number of events that still have rows
// and whose message is not in the stream; also is one more condition.
func notInStream(database, also string) string {
	if also != "" {
		also = " AND " + also
	}
	return "SELECT count() AS n FROM (SELECT epoch, seq, rows FROM " + table(database, "ingested_events") + " WHERE " + dropped + also + ") AS e LEFT JOIN (" +
		"SELECT epoch, seq, sum(rows) AS gone FROM " + table(database, "expired_rows") + " FINAL WHERE quarter < toDate(fromUnixTimestamp64Milli((" + floor(database) + "), 'UTC')) GROUP BY epoch, seq" +
		") AS x ON x.epoch = e.epoch AND x.seq = e.seq WHERE e.rows > x.gone"
}

func versions(database string) string {
	var all []string
	for _, t := range Tables[5:] {
		all = append(all, "SELECT version FROM "+table(database, t)+" FINAL")
	}
	return strings.Join(all, " UNION ALL ")
}

// Ready reports whether the rebuilt tables may replace the others: they reach
// at least as far in both streams, and their scopes in force have the same
// pairs. Nothing may write to either. reason explains why not, yet: it is
// ErrNotWhole if they never will be, because OBSERVATIONS has dropped events
// before they had read them, of which the others have rows.
func Ready(ctx context.Context, conn clickhouse.Conn, database string, observations event.StreamState) (ok bool, reason string, err error) {
	added := NewDatabase(database)
	for _, q := range []struct{ reason, sql string }{
		{"they do not reach as far", `SELECT count() AS n FROM (SELECT stream, max((epoch, seq)) AS place FROM ` + table(database, "checkpoints") + ` WHERE stream NOT IN ('IN_FORCE', 'GENERATION') GROUP BY stream) AS o
			LEFT JOIN (SELECT stream, max((epoch, seq)) AS place FROM ` + table(added, "checkpoints") + ` WHERE stream NOT IN ('IN_FORCE', 'GENERATION') GROUP BY stream) AS n ON o.stream = n.stream
			WHERE n.place < o.place`},
		{"their scopes have other pairs", `SELECT count() AS n FROM (
			SELECT mandate, item, site, sum(side) AS sides FROM (SELECT mandate, item, toString(site) AS site, 1 AS side FROM (` + scope(database) + `)
			UNION ALL SELECT mandate, item, toString(site) AS site, -1 AS side FROM (` + scope(added) + `))
			GROUP BY mandate, item, site HAVING sides != 0)`},
		{"they keep rows from another time on", "SELECT count() AS n FROM (" + floor(database) + ") AS o CROSS JOIN (" + floor(added) + ") AS n WHERE o.floor != n.floor"},
		{"their scopes are not applied", `SELECT count() AS n FROM (SELECT mandate, max(version) AS v FROM ` + table(added, "scopes") + ` GROUP BY mandate) AS s
			LEFT JOIN (SELECT mandate, max(version) AS v FROM ` + table(added, "scopes_applied") + ` GROUP BY mandate) AS a ON s.mandate = a.mandate WHERE s.v != a.v`},
	} {
		n, err := clickhouse.Number(ctx, conn, q.sql, nil)
		if err != nil {
			return false, "", err
		}
		if n > 0 {
			return false, q.reason, nil
		}
	}
	n, err := clickhouse.Number(ctx, conn, notInStream(database, "(epoch, seq) NOT IN (SELECT epoch, seq FROM "+table(added, "ingested_events")+" WHERE "+dropped+")"),
		map[string]any{"epoch": observations.Epoch, "first": observations.First})
	if err == nil && n > 0 {
		err = fmt.Errorf("%w: %d events came from messages that were dropped before the new tables had read them", ErrNotWhole, n)
	}
	return err == nil, "", err
}

// floor returns the query for the capture time from which rows are kept; 0: all
// are.
func floor(database string) string {
	return "SELECT max(c.floor) AS floor FROM " + table(database, "checkpoints") + " AS c"
}

// KeepFloor copies the floor of the other tables to the tables of the rebuild,
// which are empty.
func KeepFloor(ctx context.Context, conn clickhouse.Conn, database string) error {
	return insert(ctx, conn, "keep the floor", table(NewDatabase(database), "checkpoints")+
		" (stream, partition, partitions, epoch, seq, floor) SELECT stream, partition, partitions, 0, 0, floor FROM "+
		table(database, "checkpoints")+" FINAL WHERE stream = 'OBSERVATIONS' AND floor > 0")
}

// scope returns the query for the pairs in force.
func scope(database string) string {
	return "SELECT mandate, item, site FROM " + table(database, "scope_pairs") +
		" WHERE (mandate, version) IN (SELECT mandate, max(version) FROM " + table(database, "scopes") + " GROUP BY mandate)"
}

func table(database, t string) string { return clickhouse.Name(database) + "." + t }

// ForgetProof makes the next projector create the proof of the checkpoint from
// what the tables hold: rebuilt and audited tables may hold more than the
// previous ones, because this program may read messages that an older one could
// not. Nothing may write to them.
func ForgetProof(ctx context.Context, conn clickhouse.Conn, database string) error {
	t := table(database, "checkpoints")
	return insert(ctx, conn, "forget the proof of the checkpoint", t+
		" (stream, partition, partitions, epoch, seq, written_at, floor) SELECT stream, partition, partitions, epoch, seq, written_at, floor FROM "+t+
		" FINAL WHERE stream = 'OBSERVATIONS'")
}

// NextGeneration lets readers of changes know that rows may have been added at
// places that they have already passed, so that they begin again.
func NextGeneration(ctx context.Context, conn clickhouse.Conn, database string) error {
	t := table(database, "checkpoints")
	return insert(ctx, conn, "begin a generation of rows", t+
		" (stream, partition, partitions, epoch, seq) SELECT 'GENERATION', partition, partitions, 0, greatest(toUInt64(toUnixTimestamp64Nano(now64(9))), (SELECT max(seq) + 1 FROM "+t+
		" WHERE stream = 'GENERATION')) FROM "+t+" FINAL WHERE stream = 'OBSERVATIONS'")
}

// insert runs an INSERT, given from its table on; what is its purpose.
func insert(ctx context.Context, conn clickhouse.Conn, what, rows string) error {
	err := conn.Do(ctx, ch.Query{Body: "INSERT INTO " + rows, Settings: []ch.Setting{ch.SettingInt("async_insert", 0)}})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
