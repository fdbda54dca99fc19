package maps

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"preismon/contracts/fault"
)

// How much of a file is examined: its beginning, and excerpts from all over it,
// because files are often sorted by shop, and shops write values differently.
const (
	guessBytes     = 1 << 20
	guessRows      = 2000
	excerptBytes   = 8 << 10
	excerptsAtMost = 256
)

// sample is what a guess knows about a file, as records.
type sample struct {
	encoding, delimiter string
	lazy                bool // there are quotation marks inside fields
	skip                int  // lines above the header
	header              []string
	rows                [][]string // of the beginning, then of the excerpts; each as long as the header
}

// excerptsOf returns the first bytes of a file, decompressed, and excerpts
// spread evenly over the rest of it.
func excerptsOf(file string) (begin []byte, excerpts [][]byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, unreadable(err)
	}
	defer f.Close()
	plain, finish, err := unpacked(f)
	if err != nil {
		return nil, nil, err
	}
	defer finish()
	if begin, err = io.ReadAll(io.LimitReader(plain, guessBytes)); err == nil && len(begin) == guessBytes {
		excerpts, err = spread(plain, excerptBytes, excerptsAtMost)
	}
	if err != nil {
		return nil, nil, unreadable(err)
	}
	return begin, excerpts, nil
}

// spread reads all of r and keeps between most/2 and most excerpts of size
// bytes each, at equal distances: its length is known only at its end, so
// whenever there are too many excerpts, every other one is dropped and the
// distance doubled.
func spread(r io.Reader, size, most int) ([][]byte, error) {
	var kept [][]byte
	every := 2 // distance from one excerpt to the next, in excerpts
	for {
		excerpt := make([]byte, size)
		n, err := io.ReadFull(r, excerpt)
		if n > 0 {
			kept = append(kept, excerpt[:n])
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return kept, nil
		}
		if err != nil {
			return nil, err
		}
		between := int64((every - 1) * size)
		if len(kept) == most {
			for i := range most / 2 {
				kept[i] = kept[2*i]
			}
			kept = kept[:most/2]
			every *= 2 // which is where the next one is, too
		}
		if _, err := io.CopyN(io.Discard, r, between); errors.Is(err, io.EOF) {
			return kept, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// sampleOf finds the encoding of a file, and the delimiter with which the most
// lines have as many fields as the header.
func sampleOf(file string) (*sample, error) {
	begin, excerpts, err := excerptsOf(file)
	if err != nil {
		return nil, err
	}
	for i, e := range excerpts {
		excerpts[i] = wholeLines(e)
	}
	s := &sample{encoding: encodingOf(begin, excerpts)}
	if s.encoding == utf16Text {
		excerpts = nil // it is unknown where a character begins in them
	}
	whole := len(begin) < guessBytes
	text, err := s.decoded(begin)
	if err != nil && whole {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if !whole { // the last line is cut off
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	best, longer := 0, ""
	for _, delimiter := range []string{",", ";", "\t", "|"} {
		skip := linesAbove(text, delimiter)
		header, rows := records(text, delimiter, skip)
		score := 0
		for _, row := range rows {
			if len(row) == len(header) {
				score += len(header) - 1
			}
		}
		if len(rows) == 0 {
			score = len(header) - 1 // only a header
		}
		if len(header) > 1 && len(rows) > 0 && len(rows[0]) > len(header) {
			longer = fmt.Sprintf("the rows have more fields than the header, %d and not %d: name the others in the header, or remove what ends the rows", len(rows[0]), len(header))
		}
		if score > best {
			best, s.delimiter, s.skip, s.header, s.rows = score, delimiter, skip, header, rows
		}
	}
	switch {
	case whole && len(bytes.TrimSpace(text)) == 0:
		return nil, fault.New(fault.Invalid, "", "the file is empty")
	case best == 0 && longer != "":
		return nil, fault.New(fault.Invalid, "", "%s", longer)
	case best == 0:
		return nil, fault.New(fault.Invalid, "", "the file does not look like a CSV: no line has several fields, whether parted by comma, semicolon, tab or |")
	case len(s.rows) == 0:
		return nil, errNoRows
	}
	s.rows = slices.DeleteFunc(s.rows, func(row []string) bool { return len(row) != len(s.header) }) // they will be rejected
	s.lazy = strayQuotes(text, s.delimiter)
	for _, e := range excerpts {
		if err := s.add(e); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// wholeLines removes the parts of lines that begin before an excerpt or end
// after it.
func wholeLines(e []byte) []byte {
	first, last := bytes.IndexByte(e, '\n'), bytes.LastIndexByte(e, '\n')
	return e[first+1 : last+1]
}

// add adds the rows of an excerpt that fit on one line: the excerpt may begin
// within a quoted field.
func (s *sample) add(excerpt []byte) error {
	text, err := s.decoded(excerpt)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		r, marks := tolerantReader(line, s.delimiter)
		marks.fields = len(s.header)
		if row, err := r.Read(); err == nil && len(row) == len(s.header) {
			s.rows = append(s.rows, row)
		}
	}
	return nil
}

// decoded returns a part of the file in UTF-8, as far as it can be read.
func (s *sample) decoded(part []byte) ([]byte, error) {
	text, err := io.ReadAll(decoders[s.encoding].NewDecoder().Reader(bytes.NewReader(part)))
	if err != nil {
		err = unreadable(err)
	}
	return text, err
}

// strayQuotes reports whether a text has quotation marks that do not enclose
// fields, among the rows of a sample.
func strayQuotes(text []byte, delimiter string) bool {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma = rune(delimiter[0])
	r.FieldsPerRecord = -1
	for range guessRows + 1 {
		if _, err := r.Read(); err != nil {
			return errors.Is(err, csv.ErrBareQuote) || errors.Is(err, csv.ErrQuote)
		}
	}
	return false
}
