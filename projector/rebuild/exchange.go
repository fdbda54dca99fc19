package rebuild

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/ch-go"

	"preismon/projector/clickhouse"
)

// ErrOvertaken means that a leader with a newer fence began before the exchange
// was over.
var ErrOvertaken = errors.New("another projector began to lead before the exchange was over, as when this process was frozen for longer than a lease lasts")

// witness is exchanged after all others. A leader writes its fence before
// anything else: if it began before the last table was in place, its fence is
// in the old witness, and otherwise in the new one.
const witness = "leader_fences"

// exchangeTimeout bounds an exchange, and reverting it.
const exchangeTimeout = time.Minute

// Exchange puts some of the rebuilt tables in place, each atomically. Only the
// leader with this fence may write to the old or the rebuilt tables, and it
// must have stopped. No fence stops an EXCHANGE itself, and this process may be
// frozen before any of them: if a newer leader turns out to have begun by then,
// its rows are in tables that are no longer in place. So all of them are
// exchanged back, and the error is ErrOvertaken. Once begun, the exchange runs
// to its end even when ctx ends. After any other error some tables are
// exchanged and some are not, which is as correct as before and after. After
// any error the rebuilt tables must not be dropped, because they may have been
// in place.
func Exchange(ctx context.Context, conn clickhouse.Conn, database string, tables []string, fence uint64) error {
	switch newest, err := newestFence(ctx, conn, database); {
	case err != nil:
		return err
	case newest > fence:
		return fmt.Errorf("%w; nothing was exchanged", ErrOvertaken)
	}
	was, err := identities(ctx, conn, database)
	if err != nil {
		return err
	}
	// The new witness must refuse older leaders, too.
	err = insert(ctx, conn, "copy the fences", table(NewDatabase(database), witness)+" (partition, fence) SELECT partition, fence FROM "+table(database, witness))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exchangeTimeout)
	defer cancel()
	failed := swap(ctx, conn, database, tables)
	if err := swap(ctx, conn, database, []string{witness}); err != nil {
		return errors.Join(failed, err)
	}
	newest, err := newestFence(ctx, conn, NewDatabase(database))
	if err != nil {
		return errors.Join(failed, fmt.Errorf("whether another projector began to lead meanwhile is not known: %w", err))
	}
	if newest <= fence {
		return failed
	}
	if err := takeBack(context.WithoutCancel(ctx), conn, database, tables, was); err != nil {
		return errors.Join(fmt.Errorf("%w; exchanging the tables back failed, and some that are not in place hold rows of it; nothing was dropped", ErrOvertaken), err, failed)
	}
	return errors.Join(fmt.Errorf("%w; the tables were exchanged back and nothing was dropped, but rows that it wrote in between may be missing from them until they are rebuilt", ErrOvertaken), failed)
}

// takeBack exchanges back the tables that have changed.
func takeBack(ctx context.Context, conn clickhouse.Conn, database string, tables []string, was map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	is, err := identities(ctx, conn, database)
	if err != nil {
		return err
	}
	var moved []string
	for _, t := range append([]string{witness}, tables...) {
		if is[t] != was[t] {
			moved = append(moved, t)
		}
	}
	return swap(ctx, conn, database, moved)
}

func swap(ctx context.Context, conn clickhouse.Conn, database string, tables []string) error {
	for _, t := range tables {
		if err := conn.Do(ctx, ch.Query{Body: "EXCHANGE TABLES " + table(database, t) + " AND " + table(NewDatabase(database), t)}); err != nil {
			return fmt.Errorf("exchange %s: %w", t, err)
		}
	}
	return nil
}

func newestFence(ctx context.Context, conn clickhouse.Conn, database string) (uint64, error) {
	n, err := clickhouse.Number(ctx, conn, "SELECT max(fence) AS n FROM "+table(database, witness), nil)
	if err != nil {
		return 0, fmt.Errorf("read the fences: %w", err)
	}
	return n, nil
}

// identities returns the UUID of each table, which moves with it in an
// exchange.
func identities(ctx context.Context, conn clickhouse.Conn, database string) (map[string]string, error) {
	ids := map[string]string{}
	return ids, texts(ctx, conn, "SELECT name AS k, toString(uuid) AS v FROM system.tables WHERE database = {database:String}", database, ids)
}

// texts adds the result of a query about a database to into: texts by texts.
func texts(ctx context.Context, conn clickhouse.Conn, sql, database string, into map[string]string) error {
	var k, v string
	return conn.Do(ctx, clickhouse.Scan(ch.Query{Body: sql, Parameters: ch.Parameters(map[string]any{"database": database})}, clickhouse.Row{"k": &k, "v": &v}, func() {
		into[k] = v
	}))
}
