package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
)

// Table is a form of results other than JSON, together with what receives the
// rows: a walk reads all of its pages and streams with the same Table.
type Table interface {
	// Accept is how requests name the form in their header of that name.
	Accept() string
	// Read reads one answer, a page or a stream, to its end. It calls passed for
	// each run of whole rows, in order, after it has handed them on, with their
	// number and what identifies the last of them: two reads of a row give the
	// same. skip: rows are not handed on. An error of what receives the rows is
	// an *OutputError. A table that is cut between two rows need not be noticed.
	Read(answer io.Reader, skip bool, passed func(rows int, last []byte)) error
}

// ErrColumns is the error of a Table whose answers have different columns.
var ErrColumns = errors.New("the server's columns have changed during the read; run it again")

// OutputError is an error of what receives the rows. It ends a read.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return e.Err.Error() }

func (e *OutputError) Unwrap() error { return e.Err }

// form is how a walk reads its answers.
type form interface {
	Accept() string // empty: what servers send unless told otherwise
	// page reads a page to its end.
	page(resp *http.Response) (*page, error)
	// Read reads a stream as Table.Read does, or a page of a Table.
	Read(answer io.Reader, skip bool, passed func(rows int, last []byte)) error
	// same reports whether two rows that passed received are the same.
	same(a, b []byte) bool
}

// page is a page of results that has arrived completely.
type page struct {
	next string // cursor; empty on the last page
	rows int
	read func(skip bool, passed func(rows int, last []byte)) error
}

// whole reads the page, and fails if it has more or fewer rows than it should.
func (p *page) whole(skip bool, passed func(rows int, last []byte)) error {
	n := 0
	err := p.read(skip, func(rows int, last []byte) {
		n += rows
		passed(rows, last)
	})
	if err == nil && n != p.rows {
		err = fmt.Errorf("a page of %d rows has %d", p.rows, n)
	}
	return err
}

// rowByRow reads JSON pages and NDJSON streams.
type rowByRow struct{ emit func(row []byte) error }

func (rowByRow) Accept() string { return "" }

func (f rowByRow) page(resp *http.Response) (*page, error) {
	var p Page
	if err := decode(resp, &p); err != nil {
		return nil, err
	}
	return &page{p.Paging.NextCursor, len(p.Data), func(skip bool, passed func(int, []byte)) error {
		for _, row := range p.Data {
			if err := f.give(row, skip); err != nil {
				return err
			}
			passed(1, row)
		}
		return nil
	}}, nil
}

func (f rowByRow) give(row []byte, skip bool) error {
	if skip {
		return nil
	}
	if err := f.emit(row); err != nil {
		return &OutputError{err}
	}
	return nil
}

func (f rowByRow) Read(answer io.Reader, skip bool, passed func(rows int, last []byte)) error {
	in := bufio.NewScanner(answer)
	in.Buffer(make([]byte, 0, 256<<10), math.MaxInt)
	in.Split(wholeLines)
	for in.Scan() {
		if err := f.give(in.Bytes(), skip); err != nil {
			return err
		}
		passed(1, in.Bytes())
	}
	return in.Err()
}

// wholeLines is a bufio.SplitFunc for lines, of which the last must end, too.
func wholeLines(text []byte, atEOF bool) (advance int, line []byte, err error) {
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		return end + 1, text[:end], nil
	}
	if atEOF && len(text) > 0 {
		err = errBroken
	}
	return 0, nil, err
}

// same compares what identifies a row. Other fields, such as lastProcessedAt,
// may differ between two reads of a row.
func (rowByRow) same(a, b []byte) bool {
	type identity struct {
		ItemID, Site, CapturedAt, Availability, Merchant string // null is empty
		Price                                            json.Number
	}
	var x, y identity
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x == y
}

// Identifying are the fields that identify a row when it is read once more.
var Identifying = []string{"itemId", "site", "capturedAt", "availability", "merchant", "price"}

// tables reads pages and streams of a Table.
type tables struct{ Table }

func (f tables) page(resp *http.Response) (*page, error) {
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	rows, err := strconv.Atoi(resp.Header.Get("X-Results-Returned"))
	if err != nil {
		return nil, fmt.Errorf("the server does not say how many rows a page has: %w", err)
	}
	return &page{resp.Header.Get("X-Results-Next-Cursor"), rows, func(skip bool, passed func(int, []byte)) error {
		return f.Read(bytes.NewReader(text), skip, passed)
	}}, nil
}

func (tables) same(a, b []byte) bool { return bytes.Equal(a, b) }

// formError is the answer of a server that does not have the form.
type formError struct{ wanted, got string }

func (e *formError) Error() string {
	return fmt.Sprintf("the server answered with %s instead of %s: it, or a proxy in front of it, may be older than this program; try preismon export --format ndjson", e.got, e.wanted)
}

// checkForm returns an error, and closes the answer, if it has another media
// type than the one requested.
func checkForm(resp *http.Response, requested string) error {
	if requested == "" {
		return nil
	}
	want, _, _ := mime.ParseMediaType(requested)
	if got, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); got != want {
		return errors.Join(&formError{want, got}, resp.Body.Close())
	}
	return nil
}
