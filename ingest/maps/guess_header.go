package maps

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"slices"
	"strings"
)

// headerWithin is among how many of the first rows the header is looked for.
const headerWithin = 50

// tolerantReader reads the rows of a text, as an import with csv.lazyQuotes does.
func tolerantReader(text []byte, delimiter string) (*csv.Reader, *quotes) {
	r, marks := quotedReader(bufio.NewReader(bytes.NewReader(text)), delimiter)
	r.Comma = rune(delimiter[0])
	r.FieldsPerRecord = -1
	return r, marks
}

// records reads the header of a text, below so many lines, and at most guessRows
// rows.
func records(text []byte, delimiter string, skip int) (header []string, rows [][]string) {
	r, marks := tolerantReader(text, delimiter)
	for len(rows) < guessRows {
		rec, err := r.Read()
		if errors.Is(err, csv.ErrQuote) {
			continue // it will be rejected
		}
		if err != nil {
			break
		}
		if header != nil {
			rows = append(rows, rec)
			continue
		}
		if line, _ := r.FieldPos(0); line <= skip || namesDelimiter(rec, delimiter) {
			continue
		}
		for _, h := range rec {
			header = append(header, strings.TrimSpace(h))
		}
		marks.fields = len(header)
	}
	return header, rows
}

// linesAbove returns how many lines stand above the header of a text, such as a
// title; 0 if it begins with the header, or none is found.
func linesAbove(text []byte, delimiter string) int {
	var first [][]string
	var lines []int
	r, _ := tolerantReader(text, delimiter)
	for len(first) < headerWithin {
		row, err := r.Read()
		if err != nil && !errors.Is(err, csv.ErrQuote) {
			break
		}
		if err == nil && !namesDelimiter(row, delimiter) {
			line, _ := r.FieldPos(0)
			first, lines = append(first, row), append(lines, line)
		}
	}
	if i := headerAmong(first); i > 0 {
		return lines[i] - 1
	}
	return 0
}

// headerAmong returns the index of the header among the first rows: the first that
// fills half of the usual number of fields, and begins none with a digit; 0 if a row
// of values comes before such a row.
func headerAmong(first [][]string) int {
	width := usualWidth(first)
	number := func(s string) bool { return kindOf((strings.TrimSpace(s) + " ")[0]) == '0' }
	for i, row := range first {
		switch n := filled(row); {
		case n < 2 || 2*n < width:
		case !slices.ContainsFunc(row, number):
			return i
		case n >= width:
			return 0
		}
	}
	return 0
}

// usualWidth returns the number of fields that most of the rows have.
func usualWidth(rows [][]string) (width int) {
	counts := map[int]int{}
	for _, row := range rows {
		n := len(row)
		if counts[n]++; counts[n] > counts[width] {
			width = n
		}
	}
	return width
}

// filled returns how many fields of a row are not blank.
func filled(row []string) (n int) {
	for _, s := range row {
		if strings.TrimSpace(s) != "" {
			n++
		}
	}
	return n
}
