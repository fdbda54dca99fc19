package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"preismon/contracts"
	"preismon/deploy/embedded"
	"preismon/ingest"
	"preismon/projector"
	"preismon/projector/backup"
	"preismon/projector/clickhouse"

	"github.com/alecthomas/kong"
)

type backupDrillCmd struct {
	roleFlags
	DataDir string `help:"Folder of a running \"preismon up\", whose streams the backup is compared with." required:"" type:"path" placeholder:"DIR"`
	From    secret `help:"Where the backup is, as for \"preismon restore\"; the newest of the data folder when missing." placeholder:"PLACE"`
	Content bool   `help:"Also read every event of the stream again and compare every column of its rows, as \"preismon audit --content\" does."`
	Scratch string `help:"Folder to restore into, on a disk with room for all tables; what is put there is deleted afterwards. Without it, the system's folder of temporary files is used." type:"existingdir" placeholder:"DIR"`
}

func (c *backupDrillCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	place, err := c.from()
	if err != nil {
		err = fmt.Errorf("from: %w", err)
	}
	r, runErr := embedded.ReadRuntime(c.DataDir)
	if done, err := c.only(k, std.out, faulty(err, runErr)); done {
		return err
	}
	b, err := connect(ingest.Config{URL: r.NATSURL, Name: "preismon drill", Logger: log})
	if err != nil {
		return err
	}
	defer b.conn.Close()
	drill := backup.Drill{Place: place.String(), At: time.Now().UTC()}
	audit, err := c.try(ctx, place, b, std, log)
	if ctx.Err() != nil { // interrupted: this says nothing about the backup
		return err
	}
	if err != nil {
		drill.Fault = err.Error()
		return errors.Join(err, drill.Remember(drillsOf(c.DataDir)))
	}
	drill.Events, drill.Rows, drill.Findings = audit.Events, audit.Rows, len(audit.Findings)
	if err := errors.Join(drill.Remember(drillsOf(c.DataDir)), writeAudit(std.out, audit)); err != nil {
		return err
	}
	if !drill.Proven() {
		return errFound
	}
	_, err = fmt.Fprintf(std.out, "Restored from %s, and deleted again.\n", place)
	return err
}

// from returns the requested backup, by its folder or bucket.
func (c *backupDrillCmd) from() (p backupLocation, err error) {
	if c.From.Secret == "" {
		return newestBackup(c.DataDir)
	}
	if p, err = parseBackupLocation(c.From.Secret); err == nil && p.prefix == "" {
		p.folder, err = p.taken(c.DataDir)
		p.name = ""
	}
	return p, err
}

func newestBackup(dataDir string) (backupLocation, error) {
	all, err := backup.Folders(backupsFor(dataDir), serverBackups(dataDir))
	if err == nil && (len(all) == 0 || !all[0].Whole) {
		err = fmt.Errorf("%w of this data folder; `preismon backup --data-dir %s` takes one", backup.ErrNone, quoteShell(dataDir))
	}
	if err != nil {
		return backupLocation{}, err
	}
	return backupLocation{folder: all[0].Path}, nil
}

// try restores the backup into a scratch folder and audits it there.
func (c *backupDrillCmd) try(ctx context.Context, place backupLocation, b *bus, std streams, log *slog.Logger) (audit *projector.Audit, err error) {
	scratch, err := os.MkdirTemp(c.Scratch, "preismon-drill-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	err = place.opened(ctx, filepath.Join(scratch, "clickhouse"), c.DataDir, log, func(ch *embedded.ClickHouse, from backup.Location) error {
		dsn := contracts.Secret(ch.DSN(embedded.AdminUser, ""))
		if err := restoreTables(ctx, dsn, from, false); err != nil {
			return err
		}
		tables, err := parseDSN(dsn)
		if err != nil {
			return err
		}
		pool := clickhouse.Open(tables, 1)
		defer pool.Close() //nolint:errcheck // nothing is left to say
		cfg := projector.DefaultAuditConfig()
		cfg.Conn, cfg.Streams, cfg.Content = pool, ingest.NewHistory(b.js), c.Content
		audit, err = auditAloud(ctx, cfg, std, log)
		return err
	})
	return audit, err
}
