package rebuild

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/ClickHouse/ch-go"

	"preismon/projector/clickhouse"
)

// Clone fills the tables of the rebuild, which are empty, with everything that
// the others hold, except for one table. Parts are shared, not copied, so it
// needs no disk space and only moments. The projector may write meanwhile: what
// a table holds beyond the checkpoints, which are cloned first, is the tail
// that every projector reads back and completes when it starts; and events are
// cloned before the rows that they vouch for. The fences are not cloned, nor is
// which scopes are applied: the projector of the rebuild finds that out, and
// fills observations_by_mandate in doing so.
func Clone(ctx context.Context, conn clickhouse.Conn, database, except string) error {
	order := []string{"checkpoints", "scopes", "scope_pairs", "ingested_events"}
	for _, t := range Tables {
		if t != except && !slices.Contains(order, t) {
			order = append(order, t)
		}
	}
	for _, t := range order {
		if err := share(ctx, conn, database, t); err != nil {
			return err
		}
	}
	return nil
}

// KeepAccounts copies the accounts to the table of the rebuild, which is empty.
// The stream holds only the last message of each, and not in the order in which
// they took their logins: an account that has a login keeps it, see
// contracts/decisions/024-whose-login.md.
func KeepAccounts(ctx context.Context, conn clickhouse.Conn, database string) error {
	return share(ctx, conn, database, "accounts")
}

// share gives a table of the rebuild the parts of the other, and the same
// partitioning: the other may have none, if an earlier version created it.
func share(ctx context.Context, conn clickhouse.Conn, database, t string) error {
	for _, sql := range []string{
		"CREATE OR REPLACE TABLE " + table(NewDatabase(database), t) + " AS " + table(database, t),
		"ALTER TABLE " + table(NewDatabase(database), t) + " ATTACH PARTITION ALL FROM " + table(database, t),
	} {
		if err := conn.Do(ctx, ch.Query{Body: sql}); err != nil {
			return fmt.Errorf("share %s: %w", t, err)
		}
	}
	return nil
}

//go:embed fill_latest.sql
var fillLatest string

// fillRows is the maximum number of rows of observations that one statement of
// FillLatest reads.
const fillRows = 1_000_000

// FillLatest writes the newest capture of each pair of the rebuilt observations
// into the rebuilt latest_observations, in slices of items. It passes progress
// the fraction that is done, from 0 to 1.
func FillLatest(ctx context.Context, conn clickhouse.Conn, database string, progress func(done float64)) error {
	parts, err := itemSlices(ctx, conn, table(NewDatabase(database), "observations"))
	if err != nil {
		return err
	}
	fill := strings.ReplaceAll(fillLatest, "{database}", clickhouse.Name(NewDatabase(database)))
	for i, s := range parts {
		err := conn.Do(ctx, ch.Query{
			Body: fill, Parameters: ch.Parameters(map[string]any{"first": s.first, "last": s.last}),
			Settings: []ch.Setting{ch.SettingInt("async_insert", 0), ch.SettingInt("optimize_on_insert", 0), ch.SettingInt("insert_deduplicate", 0)},
		})
		if err != nil {
			return fmt.Errorf("fill latest_observations: %w", err)
		}
		progress(float64(i+1) / float64(len(parts)))
	}
	return nil
}

type itemSlice struct{ first, last uint64 }

// itemSlices cuts the items of a table into ranges of at most fillRows rows, or
// of one item.
func itemSlices(ctx context.Context, conn clickhouse.Conn, from string) (all []itemSlice, err error) {
	var item, n, rows uint64
	err = conn.Do(ctx, clickhouse.Scan(ch.Query{Body: "SELECT item, count() AS n FROM " + from + " GROUP BY item ORDER BY item"},
		clickhouse.Row{"item": &item, "n": &n}, func() {
			if len(all) == 0 || rows+n > fillRows {
				all, rows = append(all, itemSlice{first: item}), 0
			}
			all[len(all)-1].last = item
			rows += n
		}))
	return all, err
}
