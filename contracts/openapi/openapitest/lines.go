package openapitest

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// summaryPath ends the path of a summary, which rows may follow.
const summaryPath = "/summary"

// The routes whose lines end with one that says how far they go.
const (
	changesPath = "/ext/v1/changes"
	alertsPath  = "/ext/v1/alerts"
)

// results checks each line of NDJSON, and the proof that the rows of an answer
// are complete: the trailers of a stream in any form, the header of a page.
func (x *Exchange) results(path, media string, body []byte) (faults []error) {
	proof := x.Header.Get("X-Results-Returned")
	streams, before := path == streamPath, 0 // lines before the rows
	if strings.HasSuffix(path, summaryPath) && x.URL.Query().Get("includeRows") == "true" {
		streams, before = true, 1
	}
	bare := streams && x.Header.Get("Preference-Applied") == "no-trailers"
	switch {
	case bare: // its last chunk is its proof
		if x.Trailer.Get("X-Results-Complete") != "" {
			faults = append(faults, fmt.Errorf("trailers that were not wanted: %v", x.Trailer))
		}
	case streams:
		if proof = x.Trailer.Get("X-Results-Returned"); x.Trailer.Get("X-Results-Complete") != "true" {
			faults = append(faults, fmt.Errorf("the stream does not say that it is complete: trailers %v", x.Trailer))
		}
		if _, err := strconv.ParseUint(proof, 10, 63); err != nil {
			faults = append(faults, fmt.Errorf("trailers %v", x.Trailer))
		}
	}
	if media != ndjson {
		return faults
	}
	l := x.Lines
	if l == nil {
		l = x.newLines()
		l.Write(body)
	}
	faults = append(faults, l.faults...)
	if len(l.rest) > 0 {
		faults = append(faults, fmt.Errorf("the stream ends within a line: %q", l.rest))
	}
	if path == changesPath || path == alertsPath { // its last line says up to where it is complete
		if !bytes.HasPrefix(l.last, []byte(`{"_control":`)) {
			faults = append(faults, fmt.Errorf("the last line is %q", l.last))
		}
		return faults
	}
	if !bare && proof != strconv.Itoa(l.n-before) {
		faults = append(faults, fmt.Errorf("%d lines, but %q are said to be returned", l.n, proof))
	}
	return faults
}

// Lines checks the lines of a stream as they arrive; it keeps only the last one.
type Lines struct {
	record string // the schema of a line; empty: Result
	n      int
	rest   []byte
	last   []byte // the last complete line
	faults []error
}

// newLines checks the lines of this answer against what its operation says.
func (x *Exchange) newLines() *Lines {
	route, _ := operationOf(x.Method, x.URL.EscapedPath())
	if route == nil {
		return &Lines{}
	}
	return &Lines{record: recordOf(route, x.Status, ndjson)}
}

const mostFaults = 10 // of a stream; more would be the same

// Write accepts the next piece of the stream, and never fails.
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
		l.last = append(l.last[:0], line...)
		if err := Value(cmp.Or(l.record, "Result"), line); err != nil && len(l.faults) < mostFaults {
			l.faults = append(l.faults, fmt.Errorf("line %d: %w", l.n, err))
		}
		l.rest = l.rest[:0]
	}
	return len(piece), nil
}
