package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"preismon/contracts"
	"preismon/deploy/embedded"
	"preismon/projector/backup"
	"preismon/projector/clickhouse"
	"preismon/projector/schema"

	"github.com/alecthomas/kong"
)

type restoreCmd struct {
	roleFlags
	ClickHouse secret `name:"clickhouse-dsn" help:"clickhouse://user:password@host:9000/database of an administrator; the database is created." placeholder:"DSN"`
	DataDir    string `help:"Data folder of a stopped \"preismon up\", or a new one, instead of --clickhouse-dsn." type:"path" placeholder:"DIR"`
	From       secret `required:"" help:"Where the backup is: its folder, its name next to or in the data folder, or a bucket, as for \"preismon backup\"." placeholder:"PLACE"`
	Replace    bool   `help:"Drop what the database holds now."`
}

func (c *restoreCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) (err error) {
	place, err := parseBackupLocation(c.From.Secret)
	var remote backup.Location
	if err == nil && c.DataDir == "" {
		remote, err = place.remote()
	}
	if err != nil {
		err = fmt.Errorf("from: %w", err)
	}
	dsn, dsnErr := c.ClickHouse.Secret, error(nil)
	switch {
	case c.DataDir != "" && dsn != "":
		dsnErr = errors.New("data-dir: cannot be combined with clickhouse-dsn")
	case c.DataDir == "":
		_, dsnErr = parseDSN(dsn)
	}
	if done, err := c.only(k, std.out, faulty(err, dsnErr)); done {
		return err
	}
	if c.DataDir == "" {
		err = restoreTables(ctx, dsn, remote, c.Replace)
	} else {
		err = c.restoreEmbedded(ctx, place, log)
	}
	if errors.Is(err, backup.ErrInUse) {
		return fmt.Errorf("%w; use --replace to drop them", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, "The tables are back. The projector reads the rest from the streams when it starts.")
	return err
}

// restoreTables restores the tables into the database of an administrator's DSN,
// in this version's schema.
func restoreTables(ctx context.Context, dsn contracts.Secret, from backup.Location, replace bool) error {
	cfg, err := parseDSN(dsn)
	if err != nil {
		return err
	}
	database := cfg.Database
	cfg.Database = "default" // its own database is dropped and recreated
	pool := clickhouse.Open(cfg, 1)
	defer pool.Close() //nolint:errcheck // nothing is left to say
	usable := func(ctx context.Context, database string) error {
		restored := cfg
		restored.Database = database
		pool := clickhouse.Open(restored, 1)
		defer pool.Close() //nolint:errcheck // nothing is left to say
		err := schema.Check(ctx, pool)
		if err == nil || errors.Is(err, schema.ErrNotMigrated) { // an older version, which is brought to this one
			return nil
		}
		return fmt.Errorf("nothing was restored, and the database is unchanged: %w", err)
	}
	if err := backup.Restore(ctx, pool, backup.RestoreRequest{Database: database, From: from, Replace: replace, Usable: usable}); err != nil {
		return err
	}
	return schema.Migrate(ctx, dsn.Reveal(), schema.Options{})
}

// restoreEmbedded runs the folder's ClickHouse for the duration of the restore;
// the folder's lock ensures that nothing else does.
func (c *restoreCmd) restoreEmbedded(ctx context.Context, place backupLocation, log *slog.Logger) (err error) {
	if place.prefix == "" { // before a folder is created for nothing
		if _, err := place.taken(c.DataDir); err != nil {
			return err
		}
	}
	dir, err := embedded.OpenDataDir(c.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return place.opened(ctx, dir.Join("clickhouse"), dir.Path, log, func(ch *embedded.ClickHouse, from backup.Location) error {
		return restoreTables(ctx, contracts.Secret(ch.DSN(embedded.AdminUser, "")), from, c.Replace)
	})
}
