package client

import (
	"bufio"
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
	var cut recordCuts
	in := bufio.NewScanner(answer)
	in.Buffer(make([]byte, 0, 256<<10), maxRecord)
	in.Split(cut.split)
	begun := false
	for in.Scan() {
		records, n, last := in.Bytes(), cut.n, cut.last
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
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("a record of the server's CSV has more than %d MiB, or its quotes do not close", maxRecord>>20)
	case err == nil && !begun:
		return io.ErrUnexpectedEOF
	default:
		return err
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

// recordCuts splits CSV at the ends of records. It looks at each byte once.
type recordCuts struct {
	n, last int  // how many records were returned, and where the last of them begins
	scanned int  // bytes at the beginning of the text that were looked at
	quoted  bool // they end within quotes
}

// split is a bufio.SplitFunc that returns all whole records that have arrived.
func (r *recordCuts) split(text []byte, atEOF bool) (whole int, records []byte, err error) {
	r.n = 0
	for r.scanned < len(text) {
		line := text[r.scanned:]
		end := bytes.IndexByte(line, '\n')
		if end >= 0 {
			line = line[:end+1]
		}
		r.scanned += len(line)
		if bytes.Count(line, []byte{'"'})%2 == 1 { // two that stand for one change nothing
			r.quoted = !r.quoted
		}
		if end >= 0 && !r.quoted {
			r.n, r.last, whole = r.n+1, whole, r.scanned
		}
	}
	r.scanned -= whole
	switch {
	case whole > 0:
		return whole, text[:whole], nil
	case atEOF && len(text) > 0:
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, nil, nil
}
