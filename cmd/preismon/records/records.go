// Package records writes records of the public surface, JSON objects, for
// people and for programs: as an aligned table, as NDJSON, CSV, an Arrow stream
// or a Parquet file.
package records

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"preismon/contracts/strictjson"
	"preismon/query/frame"
	"preismon/query/table"
	"preismon/query/table/objects"
)

// Writer takes one record at a time. Flush writes what is held, as far as the
// form allows, and leaves the table without an end; Close ends it. Neither
// closes what is written to.
type Writer interface {
	Write(record []byte) error
	Flush() error
	Close() error
}

// NDJSON writes each record on a line of its own, with every field as it is:
// null and absent stay apart. A record may wait 200 ms for others.
func NDJSON(w io.Writer) Writer { return buffered(w, objects.NDJSON) }

// CSV writes records as package query/table has it, one column for each field
// that is named.
func CSV(w io.Writer, fields []string) Writer {
	return buffered(w, func(w io.Writer) objects.Writer { return objects.CSV(w, fields) })
}

// Arrow writes records with these columns as an Arrow stream.
func Arrow(w io.Writer, columns []frame.Column) Writer {
	return buffered(w, func(w io.Writer) objects.Writer { return objects.Arrow(w, columns) })
}

// Parquet writes records with these columns, in order of time, as a Parquet
// file.
func Parquet(w io.Writer, columns []frame.Column, sorted table.Sorting) Writer {
	return buffered(w, func(w io.Writer) objects.Writer { return objects.Parquet(w, columns, sorted) })
}

// KnownArrow writes the fields of records that these columns are for as an Arrow
// stream.
func KnownArrow(w io.Writer, columns []frame.Column) Writer {
	return buffered(w, func(w io.Writer) objects.Writer {
		return objects.Known(table.Arrow(w, columns, table.ArrowOptions{}), columns)
	})
}

// KnownParquet writes them as a Parquet file, in no order.
func KnownParquet(w io.Writer, columns []frame.Column) Writer {
	return buffered(w, func(w io.Writer) objects.Writer {
		return objects.Known(table.Parquet(w, columns, table.Unsorted), columns)
	})
}

func buffered(w io.Writer, rows func(io.Writer) objects.Writer) Writer {
	out := newFlusher(w)
	return &bufferedTable{out, rows(out.buf)}
}

// bufferedTable is a table whose rows do not wait for long once it wrote them.
type bufferedTable struct {
	out  *flusher
	rows objects.Writer
}

func (b *bufferedTable) Write(record []byte) error {
	return b.out.write(func(*bufio.Writer) error { return b.rows.Write(record) })
}

func (b *bufferedTable) Flush() error {
	_ = b.out.write(func(*bufio.Writer) error { return b.rows.Flush() }) // close tells
	return b.out.close()
}

func (b *bufferedTable) Close() error {
	_ = b.out.write(func(*bufio.Writer) error { return b.rows.Close() }) // close tells
	return b.out.close()
}

// field is one field of a record, its value as it is written.
type field struct {
	name  string
	value json.RawMessage
}

// text gives the text of a string; false: it is another value.
func (f field) text() (string, bool) {
	var s string
	if len(f.value) == 0 || f.value[0] != '"' || json.Unmarshal(f.value, &s) != nil {
		return "", false
	}
	return s, true
}

func (f field) null() bool { return string(f.value) == "null" }

// fieldsOf reads the fields of a record in their order.
func fieldsOf(record []byte) (all []field, err error) {
	err = strictjson.Members(record, func(name string, value json.RawMessage) error {
		all = append(all, field{name, value})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%.100q: %w", record, err)
	}
	return all, nil
}
