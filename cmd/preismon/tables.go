package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/contracts/event"
	"preismon/projector"
	"preismon/projector/clickhouse"
	"preismon/projector/schema"
	"preismon/query/store"
)

// awaitEvery is how often a projector checks whether it may write the tables,
// and tableTimeout bounds one check: a server may not respond, and a leader
// holds the lease meanwhile.
const (
	awaitEvery   = time.Second
	tableTimeout = 10 * time.Second
)

// errTablesAway means that it could not be determined whether the tables are
// those of this program and partition.
var errTablesAway = errors.New("the tables cannot be read")

// awaitTables waits until the tables can be reached and are those of this
// program and partition. It does not request the lease meanwhile: a program that
// cannot reach them keeps no other from leading, and a projector of the older
// version may lead as long as the tables are its own. It returns an error for
// tables that this program must not write, and nil also when ctx ends.
func (p *projection) awaitTables(ctx context.Context) error {
	const sayEvery = 60
	migrated := true
	for try := 0; ; try++ {
		err := p.checkTables(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		was := migrated
		migrated = !errors.Is(err, schema.ErrNotMigrated)
		if migrated && !errors.Is(err, errTablesAway) {
			return err
		}
		if try%sayEvery == 0 || was != migrated {
			p.log.Warn("waiting for the tables", "error", err)
		}
		if client.Sleep(ctx, awaitEvery) != nil {
			return nil
		}
	}
}

// checkTables returns errTablesAway, or a reason not to write the tables that is
// an event.ErrRefused.
func (p *projection) checkTables(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	err := projector.CheckTables(ctx, p.conn, p.share.Partition, p.share.Partitions)
	if err != nil && !errors.Is(err, event.ErrRefused) {
		return fmt.Errorf("%w: %w", errTablesAway, err)
	}
	return err
}

// tableChecks is the number of connections that check the version of the tables.
const tableChecks = 4

// requireTables makes the store refuse reads, and the node not ready, until the
// tables are those of this program and, if it reads several shards, those across
// the shards exist.
func requireTables(l *lifecycle, a *admin, cfg *store.Config) error {
	ch, err := clickhouse.ParseDSN(cfg.DSN.Reveal())
	if err != nil {
		return err
	}
	ch.DialTimeout = readyTimeout
	conn := clickhouse.Open(ch, tableChecks)
	l.defers("checks of the tables", func(context.Context) error { return conn.Close() })
	cfg.Migrated = func(ctx context.Context) error { return schema.CheckReads(ctx, conn, cfg.Shards) }
	a.ready("schema", cfg.Migrated)
	return nil
}
