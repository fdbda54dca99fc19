package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
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
}

// Help implements kong.HelpProvider.
func (exportCmd) Help() string {
	return resultsHelp + ` The file has its name only once it is whole; until then .part follows the name.

In NDJSON null and absent stay apart. In the others they do by column: an empty cell, or a null of Arrow and Parquet, is an absent field in the columns of fields that are only there when observed (isPrime, isBuyBox, productRating, referencePrice), and null in all others. The tables of Arrow and Parquet have the names and the nesting of NDJSON, amounts in minor units (amountMinor) as integers, and times as milliseconds in UTC.

In CSV an empty text is "", and a text that a spreadsheet would take for a formula, and one that begins with ', has a ' before it.

An answer that is not complete has no end: a Parquet file has no footer then, and no reader opens it; an Arrow stream has no end mark.

Examples:

  preismon export --site shop-one --from 2026-03-01 --to 2026-03-07 --format csv -o prices.csv
  preismon export --site shop-one --from 2026-03-01 --include identity -o prices.parquet
  preismon export --global-scope --from 2026-03-01 --to 2026-03-02 --include export-fields,identity | zstd > day.ndjson.zst`
}

func (c *exportCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	form, err := formOf(c.Format, c.Output)
	if err != nil {
		return faulty(err)
	}
	c.Format = form
	r, err := c.Remote.connect(std)
	if err != nil {
		return err
	}
	to := std.out
	if c.Output == "-" && (c.Format == "arrow" || c.Format == "parquet") && isTerminal(to) {
		return faulty(fmt.Errorf("format: %s is not for terminals; name a file with --output", c.Format))
	}
	var fields []string
	if c.Format != "ndjson" {
		if fields, err = c.fields(ctx, r); err != nil {
			return err
		}
	}
	var part *os.File
	if c.Output != "-" {
		if part, err = os.Create(c.Output + ".part"); err != nil {
			return err
		}
		defer part.Close() //nolint:errcheck // closed before where it counts
		to = part
	}
	count := counted{Writer: c.writer(to, fields)}
	if isTerminal(std.err) && !isTerminal(to) {
		count.show = newProgress(std.err, log, "rows", 0)
	}
	err = r.write(ctx, client.Results{Params: c.params(), Stream: true}, &count)
	if count.show != nil {
		count.show.end()
	}
	if part == nil || err != nil {
		if part != nil {
			err = errors.Join(err, fmt.Errorf("what was written is in %s", part.Name()))
		}
		return err
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), c.Output); err != nil {
		return err
	}
	fmt.Fprintln(std.err, rowsWritten(count.n, c.Output))
	return nil
}

// formOf gives the form of a file by its format and the ending of its name,
// which must not contradict each other.
func formOf(format, name string) (string, error) {
	ending := map[string]string{
		".ndjson": "ndjson", ".jsonl": "ndjson", ".csv": "csv", ".arrow": "arrow", ".arrows": "arrow", ".parquet": "parquet",
	}[strings.ToLower(filepath.Ext(name))]
	switch {
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
		return records.Parquet(to, query.Columns(fields), table.Sorting{Descending: c.Sort != "asc"})
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
