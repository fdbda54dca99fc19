// Package records writes records of the public surface, JSON objects, for
// people and for programs: as an aligned table, as NDJSON, CSV, an Arrow stream
// or a Parquet file.
package records

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"preismon/contracts/strictjson"
	"preismon/query/frame"
	"preismon/query/table"
	"preismon/query/table/objects"
)

// Writer writes one record at a time. Flush writes what is held back, as far as
// the form allows, and leaves the table unfinished; Close finishes it. Neither
// closes the underlying writer.
type Writer interface {
	Write(record []byte) error
	Flush() error
	Close() error
}

// NDJSON writes each record on a line of its own, with every field unchanged:
// null and absent stay distinct. A record may be held back for 200 ms.
func NDJSON(w io.Writer) Writer {
	return newBuffered(w, func(w io.Writer) Writer { return lines{w} })
}

// lines writes each record as it is, unless it contains line ends.
type lines struct{ to io.Writer }

func (l lines) Write(record []byte) error {
	record, err := objects.OneLine(record)
	if err != nil {
		return err
	}
	if _, err := l.to.Write(record); err != nil {
		return err
	}
	_, err = io.WriteString(l.to, "\n")
	return err
}

func (lines) Flush() error { return nil }

func (lines) Close() error { return nil }

// CSV writes records in the format of package query/table, one column for each
// of the fields.
func CSV(w io.Writer, fields []string) Writer {
	return newBuffered(w, func(w io.Writer) Writer { return objects.CSV(w, fields) })
}

// Arrow writes those fields of records that have a column here, as an Arrow
// stream: a newer server may send more.
func Arrow(w io.Writer, columns []frame.Column) Writer {
	return newBuffered(w, func(w io.Writer) Writer {
		return objects.Known(table.Arrow(w, columns, table.ArrowOptions{}), columns)
	})
}

// Parquet is like Arrow for a Parquet file, in no order.
func Parquet(w io.Writer, columns []frame.Column) Writer {
	return newBuffered(w, func(w io.Writer) Writer {
		return objects.Known(table.Parquet(w, columns, table.Unsorted), columns)
	})
}

// buffered is a table whose rows are flushed soon after they were written.
type buffered struct {
	rows  Writer
	mu    sync.Mutex // the timer flushes concurrently with the writer
	buf   *bufio.Writer
	timer *time.Timer // nil: nothing was written since the last flush
	err   error       // the first one
}

const flushEvery = 200 * time.Millisecond

func newBuffered(w io.Writer, rows func(io.Writer) Writer) *buffered {
	buf := bufio.NewWriterSize(w, 64<<10)
	return &buffered{buf: buf, rows: rows(buf)}
}

func (b *buffered) Write(record []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = b.rows.Write(record)
	}
	if b.timer == nil && b.err == nil {
		b.timer = time.AfterFunc(flushEvery, func() { _ = b.flush(func() error { return nil }) }) // Close returns the error
	}
	return b.err
}

func (b *buffered) Flush() error { return b.flush(b.rows.Flush) }

func (b *buffered) Close() error { return b.flush(b.rows.Close) }

// flush flushes the buffer after it has received the rest.
func (b *buffered) flush(rest func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer = nil
	if b.err == nil {
		b.err = rest()
	}
	if b.err == nil {
		b.err = b.buf.Flush()
	}
	return b.err
}

// field is one field of a record, its value as written.
type field struct {
	name  string
	value json.RawMessage
}

// text returns the text of a string; false: it is another value.
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
