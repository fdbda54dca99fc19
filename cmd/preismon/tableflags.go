package main

import (
	"context"
	"fmt"
	"net/url"

	"preismon/cmd/preismon/records"
	"preismon/query/frame"
)

// tableFlag selects the form in which records of /ext/v1 are written.
type tableFlag struct {
	Format string `help:"Format of the answer: ${enum}. auto: a table on a terminal, else NDJSON." enum:"auto,table,ndjson,csv,arrow,parquet" default:"auto" env:"-"`
}

// recordFlags select whose list of /ext/v1 is written, how much of it, and in which form.
type recordFlags struct {
	remoteFlags
	tableFlag
	Limit int `help:"Stop after this many records; 0: all." env:"-" default:"0" placeholder:"N"`
}

// writer returns the writer of records to standard output: fields are those of
// formatFlag, columns are those of Arrow and Parquet, which have the nesting of
// NDJSON.
func (f tableFlag) writer(std streams, fields []string, columns []frame.Column) (records.Writer, error) {
	if f.Format != "arrow" && f.Format != "parquet" {
		return formatFlag(f).writer(std, fields), nil
	}
	if isTerminal(std.out) {
		return nil, faulty(fmt.Errorf("format: %s is not for terminals; write it to a file: > FILE", f.Format))
	}
	return forPrograms(f.Format, std.out, fields, columns), nil
}

// list writes a list of /ext/v1, across all of its pages.
func (f recordFlags) list(ctx context.Context, std streams, path string, params url.Values, fields []string, columns []frame.Column) error {
	out, err := f.writer(std, fields, columns)
	if err != nil {
		return err
	}
	r, err := f.connect(std)
	if err != nil {
		return err
	}
	return r.list(ctx, f.Limit, path, params, out)
}
