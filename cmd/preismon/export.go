package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"

	"preismon/cmd/preismon/client"
	"preismon/cmd/preismon/records"
	"preismon/query/frame"
	"preismon/query/table"
)

type exportCmd struct {
	remoteFlags
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
	r, err := c.connect(std)
	if err != nil {
		return err
	}
	if c.Split != "" {
		return c.split(ctx, std, log, r)
	}
	if err := c.checkTerminal(std); err != nil {
		return err
	}
	var n int64
	if c.Output == "-" {
		n, err = c.writeTo(ctx, std, log, r, c.params(), std.out)
	} else if n, err = c.toFile(ctx, std, log, r, c.params(), c.Output); err == nil {
		fmt.Fprintln(std.err, strings.TrimSuffix(rowsWritten(n, c.Output), ".")+r.windowWritten(ctx, n, c.params())+".")
	}
	if err == nil && n == 0 {
		r.explainNoRows(ctx, std, c.params())
	}
	return err
}

// toFile writes the rows of a read to a file, which gets its name only when it
// is complete, and returns their number.
func (c *exportCmd) toFile(ctx context.Context, std streams, log *slog.Logger, r *remote, params url.Values, name string) (int64, error) {
	create := createOutput
	if c.Split != "" {
		create = createHidden
	}
	out, err := create(name)
	if err != nil {
		return 0, err
	}
	defer out.Close() //nolint:errcheck // closed before, where its error matters
	n, err := c.writeTo(ctx, std, log, r, params, out)
	if err == nil {
		return n, out.complete()
	}
	if info, statErr := out.Stat(); out.name == "" || statErr == nil && info.Size() == 0 {
		return n, errors.Join(err, out.discard())
	}
	return n, errors.Join(err, fmt.Errorf("what was written is in %s", out.Name()))
}

// writeTo writes the rows of a read and returns their number.
func (c *exportCmd) writeTo(ctx context.Context, std streams, log *slog.Logger, r *remote, params url.Values, to io.Writer) (int64, error) {
	var count counted
	if isTerminal(std.err) && !isTerminal(to) {
		count.show = newProgress(std.err, log, "rows", 0)
	}
	err := c.read(ctx, r, client.Results{Params: params, Stream: true, Passed: count.passed}, to)
	if count.show != nil {
		count.show.end()
	}
	return count.n, err
}

// read reads the rows in the format of the output, or in one that is quickly
// turned into it.
func (c *exportCmd) read(ctx context.Context, r *remote, read client.Results, to io.Writer) error {
	switch c.Format {
	case "csv":
		read.Table = client.CSV(to)
		return r.explain(r.Results(ctx, read))
	case "arrow", "parquet":
		out := &arrowTo{plain: r.Local(), doubles: c.Format == "arrow", out: bufio.NewWriterSize(to, 64<<10)}
		out.create = func(w io.Writer, columns []frame.Column) table.Writer {
			if c.Format == "arrow" {
				return table.Arrow(w, columns, table.ArrowOptions{})
			}
			return table.Parquet(w, columns, table.SortingOf(c.params().Get("sort") != "asc"))
		}
		read.Table = out
		return r.read(ctx, read, out)
	}
	return r.write(ctx, read, records.NDJSON(to))
}

// counted counts the rows written, and shows their number.
type counted struct {
	n    int64
	show *progress
}

func (c *counted) passed(rows int) {
	c.n += int64(rows)
	if c.show != nil {
		c.show.at(c.n)
	}
}
