package client

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// CSV passes on the server's CSV, as it is: the header once, and whole records.
func CSV(to io.Writer) Table { return &commas{to: to} }

type commas struct {
	to     io.Writer
	header []byte // nil: before the first answer
}

func (*commas) Accept() string { return "text/csv" }

func (c *commas) Read(answer io.Reader, skip bool, passed func(rows int, last []byte)) error {
	in := recordReader{from: answer, buf: make([]byte, 0, 256<<10)}
	for begun := false; ; {
		records, n, last, err := in.next()
		switch {
		case errors.Is(err, io.EOF) && begun:
			return nil
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
		if !begun {
			begun = true
			header := records[:bytes.IndexByte(records, '\n')+1] // names need no quotes
			switch {
			case c.header == nil:
				c.header = bytes.Clone(header)
			case !bytes.Equal(c.header, header):
				return ErrColumns
			default:
				records, last = records[len(header):], last-len(header)
			}
			if n--; n == 0 && len(records) == 0 {
				continue
			}
		}
		if !skip {
			if _, err := c.to.Write(records); err != nil {
				return &OutputError{err}
			}
		}
		if n > 0 {
			passed(n, c.identity(records[last:]))
		}
	}
}

// identity returns what identifies a record.
func (c *commas) identity(record []byte) (all []byte) {
	cells, err := csv.NewReader(bytes.NewReader(record)).Read()
	if err != nil {
		return bytes.Clone(record)
	}
	for i, name := range strings.Split(strings.TrimSpace(string(c.header)), ",") {
		if i < len(cells) && slices.Contains(Identifying, name) {
			all = append(append(all, cells[i]...), 0)
		}
	}
	return all
}

// maxRecord bounds a record. A server's whole page has no more bytes.
const maxRecord = 64 << 20

// recordReader splits CSV at the ends of records. It looks at each byte once.
type recordReader struct {
	from    io.Reader
	buf     []byte
	done    int  // bytes at the beginning of buf that were returned
	scanned int  // bytes at the beginning of buf that were looked at
	quoted  bool // they end within quotes
}

// next returns the whole records that have arrived, at least one, their number,
// and where the last of them begins. They are valid until it is called again.
// io.ErrUnexpectedEOF: the text ends within a record.
func (r *recordReader) next() (records []byte, n, last int, err error) {
	r.buf = r.buf[:copy(r.buf, r.buf[r.done:])]
	r.scanned -= r.done
	for r.done = 0; ; {
		if n, last = r.scan(); n > 0 {
			return r.buf[:r.done], n, last, nil
		}
		if len(r.buf) > maxRecord {
			return nil, 0, 0, fmt.Errorf("a record of the server's CSV has more than %d MiB, or its quotes do not close", maxRecord>>20)
		}
		r.buf = slices.Grow(r.buf, 64<<10)
		m, err := r.from.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+m]
		switch {
		case m > 0: // the error comes again
		case errors.Is(err, io.EOF) && len(r.buf) > 0:
			return nil, 0, 0, io.ErrUnexpectedEOF
		case err != nil:
			return nil, 0, 0, err
		}
	}
}

// scan looks at the bytes that have arrived. It returns how many records end in
// them, and where the last of these begins.
func (r *recordReader) scan() (n, last int) {
	for r.scanned < len(r.buf) {
		line := r.buf[r.scanned:]
		end := bytes.IndexByte(line, '\n')
		if end >= 0 {
			line = line[:end+1]
		}
		r.scanned += len(line)
		if bytes.Count(line, []byte{'"'})%2 == 1 { // two that stand for one change nothing
			r.quoted = !r.quoted
		}
		if end >= 0 && !r.quoted {
			n, last, r.done = n+1, r.done, r.scanned
		}
	}
	return n, last
}
