package check

import (
	"bytes"
	"fmt"
	"strconv"
)

// stream checks each line of a stream, and the trailers that say it is whole.
func (x *Exchange) stream(body []byte) []error {
	l := x.Lines
	if l == nil {
		l = &Lines{}
		l.Write(body)
	}
	faults := l.faults
	if len(l.rest) > 0 {
		faults = append(faults, fmt.Errorf("the stream ends within a line: %q", l.rest))
	}
	if x.Trailer.Get("X-Results-Complete") != "true" || x.Trailer.Get("X-Results-Returned") != strconv.Itoa(l.n) {
		faults = append(faults, fmt.Errorf("%d lines, but trailers %v", l.n, x.Trailer))
	}
	return faults
}

// Lines checks the lines of a stream as they come; it keeps none of them.
type Lines struct {
	n      int
	rest   []byte
	faults []error
}

const mostFaults = 10 // of a stream; the others are alike

// Write takes the next piece of the stream, and never fails.
func (l *Lines) Write(piece []byte) (int, error) {
	for part := range bytes.Lines(piece) {
		line, ended := bytes.CutSuffix(part, []byte("\n"))
		if len(l.rest) > 0 || !ended {
			l.rest = append(l.rest, line...)
			line = l.rest
		}
		if !ended {
			break
		}
		l.n++
		if err := Value("Result", line); err != nil && len(l.faults) < mostFaults {
			l.faults = append(l.faults, fmt.Errorf("line %d: %w", l.n, err))
		}
		l.rest = l.rest[:0]
	}
	return len(piece), nil
}
