package maps

import (
	"bufio"
	"bytes"
	"encoding/csv"
)

// quotes rewrites, line by line, a text whose quotation marks do not all
// enclose fields (csv.lazyQuotes) as proper CSV. A field that begins with one
// ends at the next that stands before a delimiter or the end of a line. Where a
// line is not a row by that, but is one with its stray marks taken as they are,
// it is read so: otherwise `"Faust" Goethe` would hold the lines after it.
type quotes struct {
	r      *bufio.Reader
	comma  []byte
	fields int  // of a row; 0: not known yet
	open   bool // a field goes on from the line before
	rest   []byte
	err    error
}

// quotedReader returns a reader of CSV whose stray quotation marks are taken as
// they are. What is not closed at the end of the text is not a row.
func quotedReader(r *bufio.Reader, comma string) (*csv.Reader, *quotes) {
	q := &quotes{r: r, comma: []byte(comma)}
	return csv.NewReader(q), q
}

// Read returns at most one line, so that fields may be set after the header.
func (q *quotes) Read(p []byte) (int, error) {
	for len(q.rest) == 0 {
		if q.err != nil {
			return 0, q.err
		}
		var line []byte
		line, q.err = q.r.ReadBytes('\n')
		q.rest = q.mended(line)
	}
	n := copy(p, q.rest)
	q.rest = q.rest[n:]
	return n, nil
}

// mended returns a line as proper CSV. A row within a field that was open
// before it shows that the field should have been closed: the line is returned
// with its stray mark, so that it is refused along with those before it.
func (q *quotes) mended(line []byte) []byte {
	if !q.open && bytes.IndexByte(line, '"') < 0 {
		return line
	}
	body := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	m := q.mend(body, false, false)
	row := !m.open && m.fields == q.fields
	if !row {
		if literal := q.mend(body, false, true); !literal.open && literal.fields == q.fields {
			m, row = literal, true
		}
	}
	if q.open {
		if m = q.mend(body, true, false); m.stray && row {
			q.open = false
			return line
		}
	}
	q.open = m.open
	return append(m.text, line[len(body):]...)
}

// mended is a line as proper CSV.
type mended struct {
	text   []byte
	fields int
	open   bool // its last field goes on in the next line
	stray  bool // a quotation mark stands within an enclosed field
}

// mend rewrites a line without its end; open: its first field goes on from the
// line before; literal: a field with a stray quotation mark is not enclosed.
func (q *quotes) mend(line []byte, open, literal bool) (m mended) {
	for m.fields = 1; ; m.fields++ {
		plain := line
		if open || bytes.HasPrefix(line, []byte{'"'}) {
			if !open {
				line = line[1:]
			}
			end, stray := q.closing(line)
			m.stray = m.stray || stray
			if !literal || !stray {
				if !open {
					m.text = append(m.text, '"')
				}
				if end < 0 {
					m.text, m.open = append(m.text, doubled(line)...), true
					return m
				}
				m.text = append(append(m.text, doubled(line[:end])...), '"')
				plain, line = nil, line[end+1:]
			}
			open = false
		}
		if plain != nil {
			field := plain
			if i := bytes.Index(plain, q.comma); i >= 0 {
				field = plain[:i]
			}
			line = plain[len(field):]
			if bytes.IndexByte(field, '"') >= 0 {
				field = bytes.ReplaceAll(field, []byte(`"`), []byte(`""`))
				field = append(append([]byte{'"'}, field...), '"')
			}
			m.text = append(m.text, field...)
		}
		if len(line) == 0 {
			return m
		}
		m.text = append(m.text, q.comma...)
		line = line[len(q.comma):]
	}
}

// closing returns the index of the quotation mark that closes a field, or -1,
// and whether there are others before it.
func (q *quotes) closing(s []byte) (end int, stray bool) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '"':
		case i+1 == len(s) || bytes.HasPrefix(s[i+1:], q.comma):
			return i, stray
		case s[i+1] == '"':
			i++
		default:
			stray = true
		}
	}
	return -1, stray
}

// doubled returns the text of an enclosed field with each quotation mark
// doubled, also those that were not.
func doubled(s []byte) []byte {
	one, two := []byte(`"`), []byte(`""`)
	return bytes.ReplaceAll(bytes.ReplaceAll(s, two, one), one, two)
}
