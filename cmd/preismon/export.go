package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"

	"preismon/cmd/preismon/client"
	"preismon/cmd/preismon/records"
	"preismon/query"
	"preismon/query/table"
)

type exportCmd struct {
	Remote remoteFlags `embed:""`
	resultFlags
	fileFlags
	Split string `help:"day: write a folder with a file for each day, and when run again only the days whose rows have changed." enum:",day" default:"" env:"-" placeholder:"day"`
}

func (c *exportCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	if c.Split != "" && c.Format == "auto" { // the output is a folder
		c.Format = "parquet"
	} else if err := c.decide(); err != nil {
		return err
	}
	r, err := c.Remote.connect(std)
	if err != nil {
		return err
	}
	if c.Split != "" {
		return c.split(ctx, std, log, r)
	}
	if err := c.checkTerminal(std); err != nil {
		return err
	}
	var fields []string
	if c.Format != "ndjson" {
		if fields, err = c.fields(ctx, r); err != nil {
			return err
		}
	}
	var n int64
	if c.Output == "-" {
		n, err = c.writeTo(ctx, std, log, r, c.params(), fields, std.out)
	} else if n, err = c.toFile(ctx, std, log, r, c.params(), fields, c.Output); err == nil {
		fmt.Fprintln(std.err, rowsWritten(n, c.Output))
	}
	if err == nil && n == 0 {
		r.explainNoRows(ctx, std, c.params())
	}
	return err
}

// toFile writes the rows of a read to a file, which gets its name only when it
// is complete, and returns their number.
func (c *exportCmd) toFile(ctx context.Context, std streams, log *slog.Logger, r *remote, params url.Values, fields []string, name string) (int64, error) {
	out, err := createOutput(name)
	if err != nil {
		return 0, err
	}
	defer out.Close() //nolint:errcheck // closed before, where its error matters
	n, err := c.writeTo(ctx, std, log, r, params, fields, out)
	if err == nil {
		return n, out.complete()
	}
	if info, statErr := out.Stat(); out.name == "" || statErr == nil && info.Size() == 0 {
		return n, errors.Join(err, out.discard())
	}
	return n, errors.Join(err, fmt.Errorf("what was written is in %s", out.Name()))
}

// writeTo writes the rows of a read and returns their number.
func (c *exportCmd) writeTo(ctx context.Context, std streams, log *slog.Logger, r *remote, params url.Values, fields []string, to io.Writer) (int64, error) {
	count := counted{Writer: c.writer(to, fields)}
	if isTerminal(std.err) && !isTerminal(to) {
		count.show = newProgress(std.err, log, "rows", 0)
	}
	err := r.write(ctx, client.Results{Params: params, Stream: true}, &count)
	if count.show != nil {
		count.show.end()
	}
	return count.n, err
}

func (c *exportCmd) writer(to io.Writer, fields []string) records.Writer {
	switch c.Format {
	case "csv":
		return records.CSV(to, fields)
	case "arrow":
		return records.Arrow(to, query.Columns(fields))
	case "parquet":
		return records.Parquet(to, query.Columns(fields), table.SortingOf(c.params().Get("sort") != "asc"))
	}
	return records.NDJSON(to)
}

// counted counts the rows written, and shows their number.
type counted struct {
	records.Writer
	n    int64
	show *progress
}

func (c *counted) Write(row []byte) error {
	c.n++
	if c.show != nil {
		c.show.at(c.n)
	}
	return c.Writer.Write(row)
}
