package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"preismon/cmd/preismon/client"
	"preismon/query"
	"preismon/query/frame"
	"preismon/query/table"
)

// arrowTo writes results that arrive as Arrow to a table of another form, batch
// by batch.
type arrowTo struct {
	plain   bool // not compressed on the wire
	doubles bool // of the table
	create  func(w io.Writer, columns []frame.Column) table.Writer
	out     *bufio.Writer
	table   table.Writer // nil: before the first answer
	names   []string
	columns []frame.Column
}

// Accept implements client.Table.
func (a *arrowTo) Accept() string {
	const media = "application/vnd.apache.arrow.stream; dictionaries=replaced"
	if a.plain {
		return media
	}
	return media + "; compression=lz4"
}

// Read implements client.Table.
func (a *arrowTo) Read(answer io.Reader, skip bool, passed func(rows int, last []byte)) error {
	in, err := table.ReadArrow(answer)
	if err != nil {
		return err
	}
	in.Doubles = a.doubles
	switch names := in.Names(); {
	case a.table == nil:
		a.names, a.columns = names, query.Columns(names)
		a.table = a.create(a.out, a.columns)
	case !slices.Equal(a.names, names):
		return client.ErrColumns
	}
	for rows, err := range in.Batches(a.columns) {
		if err != nil {
			return err
		}
		if !skip {
			if err := errors.Join(a.table.Write(rows), a.out.Flush()); err != nil {
				return &client.OutputError{Err: err}
			}
		}
		if rows.Len > 0 {
			passed(rows.Len, a.identity(rows))
		}
	}
	return nil
}

// identity returns what identifies the last of some rows.
func (a *arrowTo) identity(rows *frame.Batch) (all []byte) {
	last := rows.Len - 1
	for i, c := range a.columns {
		v := &rows.Columns[i]
		if !slices.Contains(client.Identifying, c.Name) {
			continue
		}
		if v.Has(last) {
			switch c.Kind {
			case frame.Instant:
				all = strconv.AppendInt(all, v.Ints[last], 10)
			case frame.Number:
				all = fmt.Append(all, v.Float(last))
			default:
				all = append(all, v.Text(last)...)
			}
		}
		all = append(all, 0)
	}
	return all
}

// Flush writes what is held back; the table stays without its end.
func (a *arrowTo) Flush() error { return a.out.Flush() }

// Close writes the end of the table.
func (a *arrowTo) Close() error {
	if a.table == nil {
		return errors.New("no answer was read, so the table has no columns")
	}
	return errors.Join(a.table.Close(), a.out.Flush())
}
