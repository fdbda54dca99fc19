package maps

import (
	"encoding/csv"
	"errors"
)

// So many lines are read while those before are used, or so many bytes of text.
const (
	aheadLines = 256
	aheadBytes = 256 << 10
)

// line is what was read of a file as one row, which it may not be.
type line struct {
	cells  []string
	number int   // of the physical line on which it begins
	err    error // the last one's, unless it is a *csv.ParseError
}

// lines are consecutive ones of a file.
type lines struct {
	all   []line
	cells []string // of all of them
	read  int64    // bytes of the file, as stored on disk, up to its end
}

// ahead reads the lines of a file in the background, until it is closed. What has
// been used goes back to it.
func (in *input) ahead() (some <-chan *lines, used chan<- *lines) {
	full, empty, left, ended := make(chan *lines, 1), make(chan *lines, 2), make(chan struct{}), make(chan struct{})
	empty <- &lines{}
	empty <- &lines{}
	in.closers = append(in.closers, func() { close(left); <-ended })
	go func() {
		defer close(ended)
		defer close(full)
		for more := true; more; {
			var to *lines
			select {
			case to = <-empty:
			case <-left:
				return
			}
			more = in.fill(to)
			select {
			case full <- to:
			case <-left:
				return
			}
		}
	}()
	return full, empty
}

// fill reads the next lines, and reports whether there may be more.
func (in *input) fill(to *lines) (more bool) {
	to.all, to.cells = to.all[:0], to.cells[:0]
	for size := int64(0); len(to.all) < aheadLines && size < aheadBytes; size += in.guard.n {
		in.guard.n = 0
		cells, err := in.csv.Read()
		l := line{err: err}
		if err == nil {
			l.number, _ = in.csv.FieldPos(0)
		}
		begin := len(to.cells)
		to.cells = append(to.cells, cells...) // the reader overwrites them
		l.cells = to.cells[begin:]
		to.all = append(to.all, l)
		if _, bad := errors.AsType[*csv.ParseError](err); err != nil && !bad {
			to.read = in.raw.n
			return false
		}
	}
	to.read = in.raw.n
	return true
}
