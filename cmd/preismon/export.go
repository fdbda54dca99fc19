package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"preismon/cmd/preismon/client"
	"preismon/cmd/preismon/records"
	"preismon/query"
	"preismon/query/table"
)

type exportCmd struct {
	Remote remoteFlags `embed:""`
	resultFlags
	Format string `help:"Form of the file: ${enum}. auto: by the ending of its name, else NDJSON." enum:"auto,ndjson,csv,arrow,parquet" default:"auto" env:"-"`
	Output string `short:"o" help:"File to write; - is standard output." default:"-" env:"-" placeholder:"FILE"`
	Split  string `help:"day: write a folder with a file for each day, and the next time only those with other rows." enum:",day" default:"" env:"-" placeholder:"day"`
}

// Help implements kong.HelpProvider.
func (exportCmd) Help() string {
	return resultsHelp + ` Until the file is complete, its name ends in .part.

In NDJSON null and absent stay apart. In the others they do by column: an empty cell, or a null of Arrow and Parquet, is an absent field in the columns of fields that are only there when observed (isPrime, isBuyBox, productRating, referencePrice), and null in all others. The tables of Arrow and Parquet have the names and the nesting of NDJSON, amounts in minor units (amountMinor) as integers, and times as milliseconds in UTC.

In CSV an empty text is "", and a text that a spreadsheet would take for a formula, and one that begins with ', has a ' before it.

With --split day the output is a folder: day=2026-03-01/rows.parquet and so on, Parquet unless --format says otherwise, which DuckDB, Polars, Spark and ClickHouse read as one table with a column day. Run again, the same command reads only the days that have other rows by then, late ones too. Names, order ids, customer data and reference prices of the other days stay as they were.

An answer that is not complete has no end: a Parquet file has no footer then, and no reader opens it; an Arrow stream has no end mark.

Examples:

  preismon export --site shop-one --from 2026-03-01 --to 2026-03-07 --format csv -o prices.csv
  preismon export --site shop-one --from 2026-03-01 --include identity -o prices.parquet
  preismon export --site shop-one --from 2026-01-01 --split day -o prices
  preismon export --global-scope --from 2026-03-01 --to 2026-03-02 --include export-fields,identity | zstd > day.ndjson.zst`
}

func (c *exportCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	form, err := formOf(c.Format, c.Output)
	if c.Split != "" && c.Format == "auto" { // the output is a folder
		form, err = "parquet", nil
	}
	if err != nil {
		return faulty(err)
	}
	c.Format = form
	r, err := c.Remote.connect(std)
	if err != nil {
		return err
	}
	if c.Split != "" {
		return c.split(ctx, std, log, r)
	}
	if c.Output == "-" && (c.Format == "arrow" || c.Format == "parquet") && isTerminal(std.out) {
		return faulty(fmt.Errorf("format: %s is not for terminals; name a file with --output", c.Format))
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
		r.sayWhere(ctx, std, c.params())
	}
	return err
}

// toFile writes the rows of a read to a file, which has its name when it is
// whole, and counts them.
func (c *exportCmd) toFile(ctx context.Context, std streams, log *slog.Logger, r *remote, params url.Values, fields []string, name string) (int64, error) {
	part, err := os.Create(name + ".part")
	if err != nil {
		return 0, err
	}
	defer part.Close() //nolint:errcheck // closed before where it counts
	n, err := c.writeTo(ctx, std, log, r, params, fields, part)
	if err != nil {
		if info, statErr := part.Stat(); statErr == nil && info.Size() == 0 {
			return n, errors.Join(err, part.Close(), os.Remove(part.Name()))
		}
		return n, errors.Join(err, fmt.Errorf("what was written is in %s", part.Name()))
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return n, err
	}
	return n, os.Rename(part.Name(), name)
}

// writeTo writes the rows of a read and counts them.
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

// formOf gives the form of a file by its format and the ending of its name,
// which must not contradict each other.
func formOf(format, name string) (string, error) {
	extension := strings.ToLower(filepath.Ext(name))
	ending := map[string]string{
		".ndjson": "ndjson", ".jsonl": "ndjson", ".csv": "csv", ".arrow": "arrow", ".arrows": "arrow", ".parquet": "parquet",
	}[extension]
	switch {
	case format == "auto" && slices.Contains([]string{".xlsx", ".xls", ".ods", ".json", ".tsv", ".txt", ".gz", ".zst", ".zip"}, extension):
		return "", fmt.Errorf("output: no format is called %s; name the file .ndjson, .csv, .arrow or .parquet, or say which --format it is", extension)
	case format == "auto" && ending == "":
		return "ndjson", nil
	case format == "auto":
		return ending, nil
	case ending != "" && ending != format:
		return "", fmt.Errorf("format: %s contradicts the name %s; leave one of them out", format, name)
	}
	return format, nil
}

func (c *exportCmd) writer(to io.Writer, fields []string) records.Writer {
	switch c.Format {
	case "csv":
		return records.CSV(to, fields)
	case "arrow":
		return records.Arrow(to, query.Columns(fields))
	case "parquet":
		return records.Parquet(to, query.Columns(fields), table.SortingOf(c.Sort != "asc"))
	}
	return records.NDJSON(to)
}

// counted shows how many rows are written.
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
