package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"preismon/contracts"
	"preismon/deploy/embedded"
	"preismon/projector/backup"
	"preismon/projector/clickhouse"

	"github.com/alecthomas/kong"
)

// backupCmd makes backups of the tables, lists them and tests them.
type backupCmd struct {
	Take  backupTakeCmd  `cmd:"" default:"withargs" help:"Save the tables of ClickHouse; \"preismon backup\" alone does it."`
	List  backupListCmd  `cmd:"" help:"List backups: when they were made, their size, up to which events, and whether each was ever restored."`
	Drill backupDrillCmd `cmd:"" help:"Restore a backup into a scratch folder, and audit it."`
}

type backupTakeCmd struct {
	roleFlags
	ClickHouse secret `name:"clickhouse-dsn" help:"clickhouse://user:password@host:9000/database of a user that may make backups." placeholder:"DSN"`
	DataDir    string `help:"Folder of a running \"preismon up\", instead of --clickhouse-dsn." type:"path" placeholder:"DIR"`
	To         secret `help:"A new name, a new folder (only with --data-dir), or s3://KEY:SECRET@HOST:PORT/BUCKET/PREFIX, without TLS with ?tls=false. With --data-dir a name is a folder in DIR-backups next to it, and the default is the time; without, it is a folder in the server's folder of backups." placeholder:"PLACE"`
}

func (c *backupTakeCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	if c.To.Secret == "" && c.DataDir != "" {
		c.To.Secret = contracts.Secret(time.Now().UTC().Format("2006-01-02T150405Z"))
	}
	place, err := parseBackupLocation(c.To.Secret)
	var remote backup.Location
	if err == nil && c.DataDir == "" {
		remote, err = place.remote()
	}
	if err != nil {
		err = fmt.Errorf("to: %w", err)
	}
	dsn, dsnErr := c.ClickHouse.Secret, error(nil)
	switch {
	case c.DataDir != "" && dsn != "":
		dsnErr = errors.New("data-dir: cannot be combined with clickhouse-dsn")
	case c.DataDir != "":
		var r embedded.Runtime
		r, dsnErr = embedded.ReadRuntime(c.DataDir)
		dsn = contracts.Secret(r.AdminDSN)
	}
	var cfg clickhouse.Config
	if dsnErr == nil {
		cfg, dsnErr = parseDSN(dsn)
	}
	if done, err := c.only(k, std.out, faulty(err, dsnErr)); done {
		return err
	}
	pool := clickhouse.Open(cfg, 1)
	defer pool.Close() //nolint:errcheck // nothing is left to say
	var r backup.Result
	save := func(to backup.Location) (n backup.Note, err error) {
		r, err = backup.Take(ctx, pool, cfg.Database, to)
		return backup.Note{Taken: time.Now().UTC(), Checkpoint: r.Checkpoint}, err
	}
	if c.DataDir == "" {
		_, err = save(remote)
	} else {
		if place.name != "" {
			place = backupLocation{folder: filepath.Join(backupsFor(c.DataDir), place.name)}
		}
		err = place.take(ctx, c.DataDir, save)
	}
	if err != nil {
		return err
	}
	log.Info("backup taken", "files", r.Files, "bytes", r.Bytes, "place", place.String())
	_, err = fmt.Fprintf(std.out, "Saved %s in %s: %s\n", plural(r.Bytes, "byte"), plural(r.Files, "file"), place)
	return err
}
