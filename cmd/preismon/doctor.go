package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"preismon/cmd/preismon/doctor"
	"preismon/deploy/embedded"
	"preismon/projector/clickhouse"

	"github.com/alecthomas/kong"
)

type doctorCmd struct {
	roleFlags
	Site  siteFlags      `embed:""`
	Share partitionFlags `embed:""`
	Node  []string       `help:"Base URL of a query node to check. With --data-dir, also that of the folder." env:"-" placeholder:"URL"`
	Admin []string       `help:"Admin URL of a role to check: http:// and its --admin-listen. Checks readiness and open files, and of query nodes also their archives and whether their keys are equal. With --data-dir, the role of the folder is checked too." env:"-" placeholder:"URL"`
	JSON  bool           `name:"json" help:"Print one JSON object per line."`
}

func (c *doctorCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	nats, ch, err := c.Site.config("doctor", log)
	if done, err := c.only(k, std.out, faulty(err, c.Share.faults())); done {
		return err
	}
	pool := clickhouse.Open(ch, 1)
	defer pool.Close() //nolint:errcheck // nothing is left to say
	s := &doctor.Site{
		Flags: c.Site.named(), DataDir: c.Site.DataDir, Nodes: c.Node, Admins: c.Admin, Tables: pool,
		Partition: c.Share.Partition, Partitions: c.Share.Partitions, Now: time.Now,
	}
	if ch.TLS != nil {
		s.TablesTLS = ch.Addrs
	}
	if c.Site.DataDir != "" {
		r, err := embedded.ReadRuntime(c.Site.DataDir)
		if err != nil {
			return err
		}
		s.Nodes, s.Admins = append(s.Nodes, r.APIURL), append(s.Admins, r.AdminURL)
		s.Backups, s.Drills = []string{backupsFor(c.Site.DataDir), serverBackups(c.Site.DataDir)}, drillsOf(c.Site.DataDir)
	}
	if b, err := connect(nats); err != nil {
		s.NATSErr = err
	} else {
		defer b.conn.Close()
		s.NATS, s.JS = b.conn, b.js
	}
	print, bad := printFinding, 0
	if c.JSON {
		print = func(w io.Writer, f doctor.Finding) error { return json.NewEncoder(w).Encode(f) }
	}
	s.Look(ctx, func(f doctor.Finding) {
		if f.State == doctor.Bad {
			bad++
		}
		err = errors.Join(err, print(std.out, f))
	})
	switch {
	case err != nil || ctx.Err() != nil:
		return errors.Join(err, ctx.Err())
	case bad > 0:
		return errFound
	}
	return nil
}

func printFinding(w io.Writer, f doctor.Finding) error {
	_, err := fmt.Fprintf(w, "%-8s %-22s %s\n", f.State, printable(f.Check, ""), printable(f.Says, ""))
	if f.Fix != "" {
		_, err = fmt.Fprintf(w, "%31s → %s\n", "", f.Fix)
	}
	return err
}

// named returns the flags for another command on the same servers. Addresses
// contain passwords, so they appear only as placeholders.
func (f siteFlags) named() doctor.Flags {
	if f.DataDir != "" {
		folder := "--data-dir " + quoteShell(f.DataDir)
		return doctor.Flags{Both: folder, NATS: folder, Tables: folder, Archives: folder}
	}
	const nats, tables = "--nats-url URL", "--clickhouse-dsn DSN"
	return doctor.Flags{Both: nats + " " + tables, NATS: nats, Tables: tables, Archives: tables + " --archive PLACE"}
}

func quoteShell(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-", r)
	}) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
