// Package records writes records of the public surface, JSON objects, for
// people and for programs: as an aligned table, as NDJSON, CSV, an Arrow stream
// or a Parquet file.
package records

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"preismon/query/table"
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
func NDJSON(w io.Writer) Writer { return buffered(w, table.NDJSON) }

// CSV writes records as package query/table has it, one column for each field
// that is named.
func CSV(w io.Writer, fields []string) Writer {
	return buffered(w, func(w io.Writer) table.Writer { return table.CSV(w, fields) })
}

// Arrow writes results with these fields as an Arrow stream.
func Arrow(w io.Writer, fields []string) Writer {
	return buffered(w, func(w io.Writer) table.Writer { return table.Arrow(w, table.Columns(fields)) })
}

// Parquet writes results with these fields as a Parquet file.
func Parquet(w io.Writer, fields []string) Writer {
	return buffered(w, func(w io.Writer) table.Writer { return table.Parquet(w, table.Columns(fields)) })
}

func buffered(w io.Writer, rows func(io.Writer) table.Writer) Writer {
	out := newFlusher(w)
	return &bufferedTable{out, rows(out.buf)}
}

// bufferedTable is a table whose rows do not wait for long once it wrote them.
type bufferedTable struct {
	out  *flusher
	rows table.Writer
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
	d := json.NewDecoder(bytes.NewReader(record))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("%.100q is no JSON object", record)
	}
	for d.More() {
		var f field
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		if err := d.Decode(&f.value); err != nil {
			return nil, err
		}
		f.name, _ = name.(string)
		all = append(all, f)
	}
	return all, nil
}
