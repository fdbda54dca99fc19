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

	"preismon/deploy/embedded"
	"preismon/ingest"
	"preismon/projector"
	"preismon/projector/clickhouse"

	"github.com/alecthomas/kong"
)

// siteFlags configure where both servers are: by their addresses, or by the
// folder of a running `up`.
type siteFlags struct {
	NATS       natsFlags `embed:""`
	ClickHouse secret    `name:"clickhouse-dsn" help:"clickhouse://user:password@host:9000/database of a user that may read the tables." placeholder:"DSN"`
	DataDir    string    `help:"Folder of a running \"preismon up\", instead of --nats-url and --clickhouse-dsn." type:"path" placeholder:"DIR"`
}

var errNotBoth = errors.New("data-dir: cannot be combined with nats-url or clickhouse-dsn")

// config returns the configuration of both servers.
func (f siteFlags) config(name string, log *slog.Logger) (ingest.Config, clickhouse.Config, error) {
	cfg := f.NATS.config(name, log)
	if f.DataDir == "" {
		if cfg.URL == "" && f.ClickHouse.Secret == "" {
			return cfg, clickhouse.Config{}, errors.New("data-dir, or nats-url and clickhouse-dsn: missing")
		}
		ch, err := parseDSN(f.ClickHouse.Secret)
		return cfg, ch, errors.Join(cfg.Validate(), err)
	}
	if cfg.URL != "" || f.ClickHouse.Secret != "" {
		return cfg, clickhouse.Config{}, errNotBoth
	}
	r, err := embedded.ReadRuntime(f.DataDir)
	if err != nil {
		return cfg, clickhouse.Config{}, err
	}
	cfg.URL = r.NATSURL
	ch, err := clickhouse.ParseDSN(r.ProjectorDSN)
	return cfg, ch, err
}

type auditCmd struct {
	roleFlags
	Site    siteFlags      `embed:""`
	Share   partitionFlags `embed:""`
	Content bool           `help:"Also read every event of the stream again and compare every column of its rows. Takes as long as reading the stream."`
	Files   bool           `name:"archives" help:"Compare the archives with the catalogue instead: read every copy of every archived file."`
	Archive []secret       `name:"archive" help:"With --archives: where the files are, as a query node takes it. The archive of --data-dir comes before them." placeholder:"PLACE"`
	Repair  bool           `help:"With --archives: replace each missing or damaged copy by a good one, and read it again. Needs write access."`
	JSON    bool           `name:"json" help:"Print one JSON object."`
	Timeout time.Duration  `help:"How long one ClickHouse statement may take." default:"10m"`
}

func (c *auditCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	if c.Files {
		ch, places, err := c.files()
		if done, err := c.only(k, std.out, faulty(err, c.faults())); done {
			return err
		}
		return c.runArchives(ctx, ch, places, std, log)
	}
	nats, ch, err := c.Site.config("audit", log)
	if len(c.Archive) > 0 || c.Repair {
		err = errors.Join(err, errors.New("archive, repair: only with archives"))
	}
	err = errors.Join(err, c.faults())
	if done, err := c.only(k, std.out, faulty(err, c.Share.faults())); done {
		return err
	}
	b, err := connect(nats)
	if err != nil {
		return err
	}
	defer b.conn.Close()
	pool := clickhouse.Open(ch, 1)
	defer pool.Close() //nolint:errcheck // nothing is left to say
	cfg := projector.DefaultAuditConfig()
	cfg.Partition, cfg.Partitions = c.Share.Partition, c.Share.Partitions
	cfg.Conn, cfg.Streams, cfg.Content, cfg.StatementTimeout = pool, ingest.NewHistory(b.js), c.Content, c.Timeout
	audit, err := auditAloud(ctx, cfg, std, log)
	if err != nil {
		return err
	}
	if c.JSON {
		err = json.NewEncoder(std.out).Encode(audit)
	} else {
		err = writeAudit(std.out, audit)
	}
	if err == nil && len(audit.Findings) > 0 {
		return errFound
	}
	return err
}

func (c *auditCmd) faults() error {
	if c.Timeout <= 0 {
		return fmt.Errorf("timeout: %s, must be positive", c.Timeout)
	}
	return nil
}

// auditAloud audits and shows its progress.
func auditAloud(ctx context.Context, cfg projector.AuditConfig, std streams, log *slog.Logger) (*projector.Audit, error) {
	show := steps{to: std.err, log: log}
	defer show.end()
	cfg.Progress = func(p projector.AuditProgress) { show.at("auditing "+p.Step, int64(p.Done), int64(p.Total)) }
	auditor, err := projector.NewAuditor(cfg)
	if err != nil {
		return nil, err
	}
	return auditor.Run(ctx)
}

// writeAudit prints the audit for people.
func writeAudit(w io.Writer, a *projector.Audit) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Compared in %.1f s, up to sequence %d of epoch %d: %s, %s, %s by mandate, %s, %s of the catalogue.\n",
		a.Seconds, a.Applied, a.Epoch, plural(a.Events, "event"), plural(a.Rows, "row"), plural(a.MandateRows, "row"), plural(a.Pairs, "pair"), plural(a.Records, "record"))
	if a.DeadLetters+a.Copies+a.Gone > 0 {
		fmt.Fprintf(&b, "Sequences without an event: %s in the dead letters, %s copies of events that are there, %s no longer in the stream.\n",
			thousands(a.DeadLetters), thousands(a.Copies), thousands(a.Gone))
	}
	if a.Others > 0 {
		fmt.Fprintf(&b, "Sequences of other partitions: %s.\n", thousands(a.Others))
	}
	if a.Compared+a.NotCompared > 0 {
		fmt.Fprintf(&b, "Read again from the stream and compared column by column: %s; no longer in it: %s.\n", plural(a.Compared, "event"), thousands(a.NotCompared))
	}
	if a.Waiting > 0 {
		fmt.Fprintf(&b, "Not applied yet, and not judged: %s.\n", plural(a.Waiting, "message"))
	}
	if len(a.SkippedScope) > 0 {
		fmt.Fprintf(&b, "Not judged because their scope was changing: the rows of mandates %s.\n", strings.Join(a.SkippedScope, ", "))
	}
	if len(a.Findings) == 0 {
		b.WriteString("Nothing is missing and nothing is doubled.\n")
	} else {
		b.WriteString("What is wrong:\n")
		for _, f := range a.Findings {
			fmt.Fprintf(&b, "  - %s\n", f.Text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
