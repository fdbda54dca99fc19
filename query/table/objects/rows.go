// Package objects splits JSON objects into the columns of tables: the records
// of lists and of changes, which do not come in columns. Results never pass
// through it, neither in the server nor in an export.
package objects

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"preismon/query/frame"
	"preismon/query/table"
)

// Writer writes the rows of a table.
type Writer interface {
	// Write accepts JSON objects, one after another, separated by a comma, a
	// line end or nothing. Nothing of them is kept.
	Write(objects []byte) error
	// Flush writes the rows that are held, as far as the format allows: Parquet
	// holds a row group.
	Flush() error
	// Close completes the table and marks its end.
	Close() error
}

// A batch ends after this many rows, or after about this many bytes of JSON.
const (
	batchRows  = 8192
	batchBytes = 4 << 20
)

// rows builds batches from JSON objects.
type rows struct {
	to      table.Writer
	most    int // maximum rows of a batch
	shape   *shape
	columns []*filler
	batch   frame.Batch
	bytes   int
	take    func() error
}

// rowsTo returns a Writer that splits JSON objects into the columns of a table.
// A row with a field that has no column is an error, unless loose; a row
// without a value that cannot be missing is always an error.
func rowsTo(to table.Writer, columns []frame.Column, most int, loose bool) *rows {
	r := &rows{to: to, most: most, shape: shapeOf(names(columns), loose)}
	for i := range columns {
		r.columns = append(r.columns, fillerOf(&columns[i], loose))
	}
	r.batch.Columns = make([]frame.Vector, len(columns))
	r.take = r.add
	return r
}

func (r *rows) Write(objects []byte) error { return r.shape.rows(objects, r.take) }

func (r *rows) add() error {
	for i, c := range r.columns {
		if err := c.append(r.shape.cells[i]); err != nil {
			return err
		}
		r.bytes += len(r.shape.cells[i])
	}
	if r.batch.Len++; r.batch.Len >= r.most || r.bytes >= batchBytes {
		return r.hand()
	}
	return nil
}

// hand passes on the rows that are held.
func (r *rows) hand() error {
	if r.batch.Len == 0 {
		return nil
	}
	for i, c := range r.columns {
		r.batch.Columns[i] = *c.vector()
	}
	err := r.to.Write(&r.batch)
	for _, c := range r.columns {
		c.reset()
	}
	r.batch.Len, r.bytes = 0, 0
	return err
}

func (r *rows) Flush() error { return r.hand() }

func (r *rows) Close() error {
	if err := r.hand(); err != nil {
		return err
	}
	return r.to.Close()
}

func names(columns []frame.Column) (all []string) {
	for _, c := range columns {
		all = append(all, c.Name)
	}
	return all
}

const moneyEnd = "Money"

// cellColumns returns the columns of a CSV table: money, and every other field
// as its JSON.
func cellColumns(fields []string) (all []frame.Column) {
	value := func(name string) frame.Column { return frame.Column{Name: name, Kind: frame.JSON, Nullable: true} }
	for _, name := range fields {
		c := value(name)
		if strings.HasSuffix(name, moneyEnd) {
			c.Kind, c.Members = frame.Object, []frame.Column{value("amountMinor"), value("currencyCode")}
		}
		all = append(all, c)
	}
	return all
}

// Batches writes objects with these columns to a table, in batches of up to
// most rows. An object with a field that has no column, or without a value that
// cannot be missing, is an error.
func Batches(to table.Writer, columns []frame.Column, most int) Writer {
	return rowsTo(to, columns, most, false)
}

// Known writes only the fields of objects that have a column and ignores
// others: a newer server may send more.
func Known(to table.Writer, columns []frame.Column) Writer {
	return rowsTo(to, columns, batchRows, true)
}

// CSV writes objects in the form of table.CSV, with one column for each named
// field; other fields are left out. It has no knowledge of particular fields.
func CSV(w io.Writer, fields []string) Writer {
	columns := cellColumns(fields)
	return rowsTo(table.CSV(w, columns), columns, 1, true)
}

// missing is the error for a row without a value that every row must have.
func missing(c *frame.Column) error { return fmt.Errorf("objects: a row without %s", c.Name) }

// unfit is the error for a value of another kind than its column.
func unfit(c *frame.Column, value []byte) error {
	return fmt.Errorf("objects: %s cannot be %.100q", c.Name, bytes.TrimSpace(value))
}
