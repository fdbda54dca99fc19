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
	ClickHouse secret `name:"clickhouse-dsn" help:"clickhouse://user:password@host:9000/database of an administrator; the database is made." placeholder:"DSN"`
	DataDir    string `help:"Data folder of an \"up\" that does not run, or a new one, instead of --clickhouse-dsn." type:"path" placeholder:"DIR"`
	From       secret `required:"" help:"Where the backup is: its folder, its name beside or in the data folder, or a bucket, as for \"preismon backup\"." placeholder:"PLACE"`
	Replace    bool   `help:"Drop what the database holds now."`
}

func (c *restoreCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) (err error) {
	place, err := parseBackupPlace(c.From.Secret)
	var remote backup.Place
	if err == nil && c.DataDir == "" {
		remote, err = place.remote()
	}
	if err != nil {
		err = fmt.Errorf("from: %w", err)
	}
	dsn, dsnErr := c.ClickHouse.Secret, error(nil)
	switch {
	case c.DataDir != "" && dsn != "":
		dsnErr = errors.New("data-dir: not together with clickhouse-dsn")
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
		return fmt.Errorf("%w; to drop them, say --replace", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, "The tables are back. The projector reads the rest from the streams when it starts.")
	return err
}

// restoreTables restores the tables into the database of an administrator's DSN,
// in this version's schema.
func restoreTables(ctx context.Context, dsn contracts.Secret, from backup.Place, replace bool) error {
	cfg, err := parseDSN(dsn)
	if err != nil {
		return err
	}
	database := cfg.Database
	cfg.Database = "default" // its own database is dropped and recreated
	pool := clickhouse.Open(cfg, 1)
	defer pool.Close() //nolint:errcheck // nothing is left to say
	if err := backup.Restore(ctx, pool, database, from, replace); err != nil {
		return err
	}
	return schema.Migrate(ctx, dsn.Reveal(), schema.Options{})
}

// restoreEmbedded runs the folder's ClickHouse for the duration of the restore;
// the folder's lock ensures that nothing else does.
func (c *restoreCmd) restoreEmbedded(ctx context.Context, place backupPlace, log *slog.Logger) (err error) {
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
	return place.opened(ctx, dir.Join("clickhouse"), dir.Path, log, func(ch *embedded.ClickHouse, from backup.Place) error {
		return restoreTables(ctx, contracts.Secret(ch.DSN(embedded.AdminUser, "")), from, c.Replace)
	})
}
