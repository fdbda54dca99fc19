package main

import (
	"context"
	"fmt"
	"log/slog"

	"preismon/projector/schema"

	"github.com/alecthomas/kong"
)

type migrateCmd struct {
	roleFlags
	ClickHouse secret `name:"clickhouse-dsn" help:"clickhouse://user:password@host:9000/database of a user that may create tables." placeholder:"DSN"`
	Cluster    string `name:"clickhouse-cluster" help:"Name of the ClickHouse cluster, for replicated tables on all of its nodes." placeholder:"NAME"`
}

// Help implements kong.HelpProvider.
func (migrateCmd) Help() string {
	return `Creates the database and its tables, or brings them to this program's version. It may run again at any time, and changes nothing when there is nothing to do.

Example:

  preismon migrate --clickhouse-dsn @/run/secrets/admin-dsn`
}

func (c *migrateCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	_, err := parseDSN(c.ClickHouse.Secret)
	if done, err := c.only(k, std.out, faulty(err)); done {
		return err
	}
	if err := schema.Migrate(ctx, c.ClickHouse.Reveal(), schema.Options{Cluster: c.Cluster}); err != nil {
		return err
	}
	log.Info("schema is up to date", "version", schema.Version())
	fmt.Fprintf(std.out, "The schema is at version %d.\n", schema.Version())
	return nil
}
