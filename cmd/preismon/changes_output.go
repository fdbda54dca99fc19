package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"preismon/cmd/preismon/records"
	"preismon/query"
	"preismon/query/frame"
)

// feedShape returns the columns of a feed's rows as CSV, and as Arrow and Parquet,
// by the first of them; nil: there are none.
type feedShape func(first json.RawMessage) (fields []string, columns []frame.Column, err error)

// changedShape is the shape of changed rows. The token determines their groups of
// fields, so a table without rows has the columns of none.
func changedShape(first json.RawMessage) ([]string, []frame.Column, error) {
	var row map[string]json.RawMessage
	if first != nil {
		if err := json.Unmarshal(first, &row); err != nil {
			return nil, nil, err
		}
	}
	columns := query.FeedColumns(query.IncludeOf(func(name string) bool { _, has := row[name]; return has }))
	return query.Names(columns), columns, nil
}

var alertFields = slices.Concat([]string{"alertId", "rule", "itemId", "site", "comparedPrice", "deadline"}, sideFields("before"), sideFields("after"))

func alertShape(json.RawMessage) ([]string, []frame.Column, error) {
	return alertFields, query.RecordColumns[query.Alert](), nil
}

// checkOutput decides the format, and refuses what cannot be written.
func (c *followFlags) checkOutput(std streams) error {
	if err := c.decide(); err != nil {
		return err
	}
	switch {
	case c.Follow && c.Output != "-":
		return faulty(errors.New("output: the file is complete when there are no more rows, and --follow waits for more; leave one of them out"))
	case c.Follow && c.Format != "ndjson":
		return faulty(fmt.Errorf("format: %s is complete when there are no more rows, and --follow waits for more; leave one of them out", c.Format))
	}
	return c.checkTerminal(std)
}

// output returns where the rows of a feed are written: line by line to standard
// output, or as a table or to a file, which is complete when there are no more.
func (c *followFlags) output(std streams, shape feedShape) (*feedOutput, error) {
	out := &feedOutput{form: c.Format, shape: shape, to: std.out, syncs: true}
	if c.Output == "-" {
		if c.Format == "ndjson" {
			out.lines, out.syncs = true, c.State != ""
		}
		return out, nil
	}
	file, err := createOutput(c.Output)
	if err != nil {
		return nil, err
	}
	out.to, out.file = file, file
	out.says = func(n int64) { fmt.Fprintln(std.err, rowsWritten(n, c.Output)) }
	return out, nil
}

// feedOutput writes the pages of a feed.
type feedOutput struct {
	form  string
	shape feedShape
	to    io.Writer
	lines bool          // rows stay as they are written; otherwise all of them are one table
	syncs bool          // to disk: lines before their token, so that after a power loss they come twice at worst
	file  *outputFile   // nil: standard output
	says  func(n int64) // how many rows the file has
	rows  records.Writer
	n     int64
}

// write writes the rows of a page. Settled: they stay, with those before them,
// whatever follows.
func (o *feedOutput) write(rows []json.RawMessage, last bool) (settled bool, err error) {
	if o.rows == nil && (len(rows) > 0 || last) {
		if err := o.begin(rows); err != nil {
			return false, err
		}
	}
	for _, row := range rows {
		if err := o.rows.Write(row); err != nil {
			return false, err
		}
	}
	if o.n += int64(len(rows)); !last {
		if !o.lines || len(rows) == 0 {
			return o.lines, nil
		}
		err = o.rows.Flush()
	} else {
		err = o.rows.Close()
	}
	switch {
	case err != nil:
	case o.file != nil:
		if err = o.file.complete(); err == nil {
			o.says(o.n)
		}
	case o.syncs && len(rows) > 0:
		err = syncFile(o.to)
	}
	return err == nil, err
}

// begin begins the table with the columns of its first row.
func (o *feedOutput) begin(rows []json.RawMessage) error {
	var first json.RawMessage
	if len(rows) > 0 {
		first = rows[0]
	}
	fields, columns, err := o.shape(first)
	if err == nil {
		o.rows = forPrograms(o.form, o.to, fields, columns)
	}
	return err
}

// discard removes the file, whose rows the next run reads again.
func (o *feedOutput) discard() error {
	if o.file == nil {
		return nil
	}
	return o.file.discard()
}
