package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"preismon/archive"
	"preismon/contracts"
	"preismon/deploy/embedded"
	"preismon/projector/backup"
	"preismon/projector/clickhouse"
	"preismon/projector/schema"

	"github.com/alecthomas/kong"
)

// backupMark is the file of a backup without which it is none.
const backupMark = ".backup"

// backupPlace is a name in the server's folder of backups, or a bucket with a
// prefix.
type backupPlace struct {
	name   string
	bucket archive.S3Config
	prefix string
}

func parseBackupPlace(text contracts.Secret) (backupPlace, error) {
	if text == "" {
		return backupPlace{}, errors.New("missing")
	}
	if !strings.HasPrefix(text.Reveal(), "s3:") {
		p := backupPlace{name: text.Reveal()}
		return p, backup.Place{Name: p.name}.Validate()
	}
	u, err := url.Parse(text.Reveal())
	if err != nil {
		return backupPlace{}, errors.New("not of the form s3://KEY:SECRET@HOST:PORT/BUCKET/PREFIX")
	}
	bucket, prefix, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if prefix == "" {
		return backupPlace{}, errors.New("the prefix in the bucket is missing")
	}
	u.Path = "/" + bucket
	parsed, err := parseArchive(contracts.Secret(u.String()))
	return backupPlace{bucket: parsed.s3, prefix: prefix}, err
}

// remote is the place for a server that writes to the bucket itself.
func (p backupPlace) remote() backup.Place {
	if p.name != "" {
		return backup.Place{Name: p.name}
	}
	return backup.Place{URL: p.bucket.Endpoint + "/" + p.bucket.Bucket + "/" + p.prefix, Key: p.bucket.AccessKey, Secret: p.bucket.SecretKey}
}

// backupsOf is where the embedded ClickHouse of a data folder has its backups.
func backupsOf(dataDir string) string { return filepath.Join(dataDir, "clickhouse", "backups") }

// local lets do work in the folder of backups of an embedded ClickHouse, whose
// library cannot reach a bucket itself: what belongs into one passes through
// the folder, in the same form.
func (p backupPlace) local(do func(name string, bucket *archive.S3) error) error {
	if p.name != "" {
		return do(p.name, nil)
	}
	s, err := archive.NewS3(p.bucket)
	if err != nil {
		return err
	}
	return errors.Join(do("passing-"+strings.ToLower(rand.Text()), s), s.Close())
}

type backupCmd struct {
	roleFlags
	ClickHouse secret `name:"clickhouse-dsn" help:"clickhouse://user:password@host:9000/database of a user that may make backups." placeholder:"DSN"`
	DataDir    string `help:"Folder of a running \"preismon up\", instead of --clickhouse-dsn." type:"path" placeholder:"DIR"`
	To         secret `required:"" help:"A new name in the folder of backups of the server (of \"up\": clickhouse/backups in its data folder), or s3://KEY:SECRET@HOST:PORT/BUCKET/PREFIX, with &tls=false as for --archive." placeholder:"PLACE"`
}

// Help implements kong.HelpProvider.
func (backupCmd) Help() string {
	return `Saves the tables of ClickHouse with its own BACKUP, while everything runs. A restored backup is right to the row: it stands where the projector stood when the backup began, and the projector reads the rest from the streams.

Not in it: the streams (save the folder of NATS, or keep three replicas), the artifacts, and the keys of tokens and cursors. A server of your own needs backups.allowed_path in its configuration.

Examples:

  preismon backup --data-dir ./preismon-data --to monday
  preismon backup --clickhouse-dsn @/run/secrets/admin-dsn --to s3://KEY:SECRET@minio:9000/backups/2026-11-21`
}

func (c *backupCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	place, err := parseBackupPlace(c.To.Secret)
	if err != nil {
		err = fmt.Errorf("to: %w", err)
	}
	dsn, dsnErr := c.ClickHouse.Secret, error(nil)
	switch {
	case c.DataDir != "" && dsn != "":
		dsnErr = errors.New("data-dir: not together with clickhouse-dsn")
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
	if c.DataDir == "" {
		r, err = backup.Take(ctx, pool, cfg.Database, place.remote())
	} else {
		err = place.local(func(name string, bucket *archive.S3) (err error) {
			if r, err = backup.Take(ctx, pool, cfg.Database, backup.Place{Name: name}); err != nil || bucket == nil {
				return err
			}
			dir := filepath.Join(backupsOf(c.DataDir), name)
			return errors.Join(bucket.UploadFolder(ctx, dir, place.prefix, backupMark), os.RemoveAll(dir))
		})
	}
	if err != nil {
		return err
	}
	log.Info("backup taken", "files", r.Files, "bytes", r.Bytes)
	_, err = fmt.Fprintf(std.out, "Saved %s bytes in %s files.\n", thousands(r.Bytes), thousands(r.Files))
	return err
}

type restoreCmd struct {
	roleFlags
	ClickHouse secret `name:"clickhouse-dsn" help:"clickhouse://user:password@host:9000/database of an administrator; the database is made." placeholder:"DSN"`
	DataDir    string `help:"Data folder of an \"up\" that does not run, or a new one, instead of --clickhouse-dsn." type:"path" placeholder:"DIR"`
	From       secret `required:"" help:"Where the backup is, as for \"preismon backup\"." placeholder:"PLACE"`
	Replace    bool   `help:"Drop what the database holds now."`
}

// Help implements kong.HelpProvider.
func (restoreCmd) Help() string {
	return `Brings the tables of ClickHouse back, whole or not at all. No projector may run on the database meanwhile. Start it afterwards: it goes on where the backup stands, reads what is missing from the streams, and looks through every scope once.

The database must have the name that it had. A backup of an older version is brought to this one's schema.

Examples:

  preismon restore --data-dir ./preismon-data --from monday --replace
  preismon restore --clickhouse-dsn @/run/secrets/admin-dsn --from s3://KEY:SECRET@minio:9000/backups/2026-11-21`
}

func (c *restoreCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) (err error) {
	place, err := parseBackupPlace(c.From.Secret)
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
		err = c.restore(ctx, dsn, place.remote())
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

func (c *restoreCmd) restore(ctx context.Context, dsn contracts.Secret, from backup.Place) error {
	cfg, err := parseDSN(dsn)
	if err != nil {
		return err
	}
	database := cfg.Database
	cfg.Database = "default" // its own is dropped and made
	pool := clickhouse.Open(cfg, 1)
	defer pool.Close() //nolint:errcheck // nothing is left to say
	if err := backup.Restore(ctx, pool, database, from, c.Replace); err != nil {
		return err
	}
	return schema.Migrate(ctx, dsn.Reveal(), schema.Options{})
}

// restoreEmbedded runs the folder's ClickHouse for as long as it takes; the
// folder's lock sees to it that nothing else does.
func (c *restoreCmd) restoreEmbedded(ctx context.Context, place backupPlace, log *slog.Logger) (err error) {
	dir, err := embedded.OpenDataDir(c.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	ch, err := embedded.StartClickHouse(ctx, embedded.ClickHouseConfig{Dir: dir.Join("clickhouse"), Library: embedded.Library{Logger: log}, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ch.Stop(context.WithoutCancel(ctx))) }()
	return place.local(func(name string, bucket *archive.S3) error {
		if bucket != nil {
			folder := filepath.Join(backupsOf(dir.Path), name)
			defer os.RemoveAll(folder) //nolint:errcheck // a copy; the next start can do without
			if err := bucket.DownloadFolder(ctx, place.prefix, folder); err != nil {
				return err
			}
		}
		return c.restore(ctx, contracts.Secret(ch.DSN(embedded.AdminUser, "")), backup.Place{Name: name})
	})
}
