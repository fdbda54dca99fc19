package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/contracts"
	"preismon/deploy/embedded"
)

type sqlCmd struct {
	remoteFlags
	resultFlags
	Statement string        `arg:"" optional:"" help:"Statement about the table results, in ClickHouse's SQL. Without it, statements are read from standard input; each ends with ; at the end of a line."`
	In        string        `help:"Read a file, or a folder of \"preismon export --split day\", instead of a server." env:"-" type:"path" placeholder:"PATH"`
	Format    string        `help:"Format of the answers, by ClickHouse's name for it: CSVWithNames, JSONEachRow, Markdown, Parquet and so on. auto: a table on a terminal, else TSVWithNames." default:"auto" env:"-"`
	Time      time.Duration `help:"How long a statement may take." default:"1m" env:"-"`
	Memory    int64         `help:"MiB of memory that a statement may use; beyond half of it, sorting and grouping use the disk." default:"2048" env:"-"`
	Rows      int64         `help:"How many rows an answer may have; 0: any number." default:"0" env:"-" placeholder:"N"`
}

func (c *sqlCmd) faults() error {
	var f contracts.Faults
	f.Check(c.Time > 0, "time: %s, must be positive", c.Time)
	f.Check(c.Memory > 0, "memory: %d, must be positive", c.Memory)
	f.Check(c.Rows >= 0, "rows: %d, must not be negative", c.Rows)
	f.Check(c.In == "" || len(c.params()) == 0, "in: it reads local files, so nothing can select what to read from a server; select it in the statement")
	return faulty(f.Err())
}

// Run starts the engine, fills its table, and runs the statements.
func (c *sqlCmd) Run(ctx context.Context, std streams, log *slog.Logger) (err error) {
	if err := c.faults(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "preismon-sql-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	source := c.In
	if source == "" { // before anything is started: it may be refused
		source = filepath.Join(dir, "results.parquet")
		err := c.read(ctx, std, log, source)
		if part, ok := errors.AsType[*client.Incomplete](err); ok { // an incomplete answer is not used
			return fmt.Errorf("not all rows could be read, so the statement was not run; try again: %w", errors.Join(part.Unwrap()...))
		}
		if err != nil {
			return err
		}
	}
	folder := filepath.Join(dir, "engine")
	server, err := embedded.StartClickHouse(ctx, embedded.ClickHouseConfig{
		Dir: folder, Library: embedded.Library{Logger: log}, LogLevel: "error", Remove: dir, Logger: log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	e := &sqlEngine{server: server, files: filepath.Join(folder, "user_files"), limits: c.limits(std)}
	n, err := e.fill(ctx, source)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.err, "%s in table results.\n", plural(n, "row"))
	if c.Statement != "" {
		return e.ask(ctx, c.Statement, std.out)
	}
	return e.converse(ctx, std)
}

// read writes what the caller sees to a file.
func (c *sqlCmd) read(ctx context.Context, std streams, log *slog.Logger, name string) error {
	r, err := c.connect(std)
	if err != nil {
		return err
	}
	export := exportCmd{resultFlags: c.resultFlags, fileFlags: fileFlags{Format: "parquet"}}
	_, err = export.toFile(ctx, std, log, r, c.params(), name)
	return err
}

func (c *sqlCmd) form(std streams) string {
	switch {
	case c.Format != "auto":
		return c.Format
	case coloured(std):
		return "PrettyCompactMonoBlock"
	case isTerminal(std.out):
		return "PrettyCompactNoEscapesMonoBlock"
	}
	return "TSVWithNames"
}
