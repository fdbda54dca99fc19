package main

import (
	"bufio"
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

// feedOutput is where the rows of a feed are written.
type feedOutput interface {
	// write writes the rows of a page. Settled: they stay, with those before
	// them, whatever follows.
	write(rows []json.RawMessage, last bool) (settled bool, err error)
	// discard drops what is not settled, after an error.
	discard() error
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
func (c *followFlags) output(std streams, shape feedShape) (feedOutput, error) {
	switch {
	case c.Output == "-" && c.Format == "ndjson":
		return &feedLines{std.out, c.State != ""}, nil
	case c.Output == "-":
		return &feedTable{form: c.Format, shape: shape, to: std.out}, nil
	}
	file, err := createOutput(c.Output)
	if err != nil {
		return nil, err
	}
	return &feedTable{form: c.Format, shape: shape, to: file, file: file, says: func(n int64) { fmt.Fprintln(std.err, rowsWritten(n, c.Output)) }}, nil
}

// feedLines writes each row on a line of its own.
type feedLines struct {
	to    io.Writer
	syncs bool // a file keeps the token
}

// write writes rows, before whose token they are also on disk: after a power loss
// they come twice at worst.
func (l *feedLines) write(rows []json.RawMessage, _ bool) (settled bool, err error) {
	if len(rows) == 0 {
		return true, nil
	}
	out := bufio.NewWriter(l.to)
	for _, row := range rows {
		if _, err := out.Write(append(row, '\n')); err != nil {
			return false, err
		}
	}
	if err := out.Flush(); err != nil || !l.syncs {
		return true, err
	}
	return true, syncFile(l.to)
}

func (*feedLines) discard() error { return nil }

// feedTable writes all pages of a feed as one table.
type feedTable struct {
	form  string
	shape feedShape
	to    io.Writer
	file  *outputFile   // nil: standard output
	says  func(n int64) // how many rows the file has
	rows  records.Writer
	n     int64
}

func (t *feedTable) write(rows []json.RawMessage, last bool) (settled bool, err error) {
	if t.rows == nil && (len(rows) > 0 || last) {
		if err := t.begin(rows); err != nil {
			return false, err
		}
	}
	for _, row := range rows {
		if err := t.rows.Write(row); err != nil {
			return false, err
		}
	}
	if t.n += int64(len(rows)); !last {
		return false, nil
	}
	if err := t.rows.Close(); err != nil {
		return false, err
	}
	if t.file == nil {
		return true, syncFile(t.to)
	}
	if err := t.file.complete(); err != nil {
		return false, err
	}
	t.says(t.n)
	return true, nil
}

// begin begins the table with the columns of its first row.
func (t *feedTable) begin(rows []json.RawMessage) error {
	var first json.RawMessage
	if len(rows) > 0 {
		first = rows[0]
	}
	fields, columns, err := t.shape(first)
	if err != nil {
		return err
	}
	t.rows = forPrograms(t.form, t.to, fields, columns)
	return nil
}

// discard removes the file, whose rows the next run reads again.
func (t *feedTable) discard() error {
	if t.file == nil {
		return nil
	}
	return t.file.discard()
}
