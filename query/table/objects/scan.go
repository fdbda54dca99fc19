package objects

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// The scanner splits JSON that has already been checked by its sender. It finds
// where values begin and end; for malformed text it returns an error, or values
// that fit no column.

var errJSON = errors.New("objects: malformed JSON")

// space returns how many bytes at the beginning of b precede a value.
func space(b []byte) (n int) {
	for n < len(b) && (b[n] == ' ' || b[n] == '\n' || b[n] == '\r' || b[n] == '\t') {
		n++
	}
	return n
}

// extent returns the length of the value that b begins with.
func extent(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, errJSON
	}
	switch b[0] {
	case '"':
		return textExtent(b)
	case '{', '[':
		depth := 0
		for i := 0; i < len(b); i++ {
			switch b[i] {
			case '"':
				n, err := textExtent(b[i:])
				if err != nil {
					return 0, err
				}
				i += n - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1, nil
				}
			}
		}
		return 0, errJSON
	}
	for n, c := range b {
		switch c {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			if n == 0 {
				return 0, errJSON
			}
			return n, nil
		}
	}
	return len(b), nil
}

// textExtent returns the length of the string that b begins with.
func textExtent(b []byte) (int, error) {
	for i := 1; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			break
		}
		end := i + n
		escapes := 0
		for end-1-escapes > 0 && b[end-1-escapes] == '\\' {
			escapes++
		}
		if i = end + 1; escapes%2 == 0 {
			return i, nil
		}
	}
	return 0, errJSON
}

// items passes the values between the brackets of a list to take, or those of
// an object, as pairs of a quoted name and a value. It returns what follows the
// closing bracket.
func items(b []byte, take func(name, value []byte) error) (rest []byte, err error) {
	object := len(b) > 0 && b[0] == '{'
	if !object && (len(b) == 0 || b[0] != '[') {
		return nil, errJSON
	}
	end := b[0] + 2 // ] or }
	b = b[1:]
	for first := true; ; first = false {
		b = b[space(b):]
		switch {
		case len(b) == 0:
			return nil, errJSON
		case b[0] == end:
			return b[1:], nil
		case first:
		case b[0] != ',':
			return nil, errJSON
		default:
			b = b[1:]
			b = b[space(b):]
		}
		var name []byte
		if object {
			if len(b) == 0 || b[0] != '"' {
				return nil, errJSON
			}
			n, err := textExtent(b)
			if err != nil {
				return nil, err
			}
			name, b = b[:n], b[n:]
			b = b[space(b):]
			if len(b) == 0 || b[0] != ':' {
				return nil, errJSON
			}
			b = b[1:]
			b = b[space(b):]
		}
		n, err := extent(b)
		if err != nil {
			return nil, err
		}
		if err := take(name, b[:n]); err != nil {
			return nil, err
		}
		b = b[n:]
	}
}

// unquote returns the text of a JSON string: a part of quoted, or what it has
// appended to room, which it also returns.
func unquote(quoted, room []byte) (text, left []byte, err error) {
	inside := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside, room, nil
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return nil, room, err
	}
	from := len(room)
	room = append(room, s...)
	return room[from:], room, nil
}

func isNull(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

// shape finds the members of similar objects by their names. Members mostly
// come in the order of the columns.
type shape struct {
	columns []string // in quotes
	cells   [][]byte // the values of the last object read; nil: absent
	next    int
	loose   bool // ignores other members
	take    func(name, value []byte) error
}

func shapeOf(names []string, loose bool) *shape {
	s := &shape{cells: make([][]byte, len(names)), loose: loose}
	for _, name := range names {
		s.columns = append(s.columns, `"`+name+`"`)
	}
	s.take = func(name, value []byte) error {
		i := s.find(name)
		if i < 0 {
			if s.loose {
				return nil
			}
			return fmt.Errorf("objects: a row has %s, which is no column", name)
		}
		s.cells[i], s.next = value, i+1
		return nil
	}
	return s
}

func (s *shape) find(name []byte) int {
	for i := range s.columns {
		k := s.next + i
		if k >= len(s.columns) {
			k -= len(s.columns)
		}
		if s.columns[k] == string(name) {
			return k
		}
	}
	return -1
}

// read splits the object that b begins with and returns what follows it.
func (s *shape) read(b []byte) (rest []byte, err error) {
	clear(s.cells)
	s.next = 0
	if len(b) == 0 || b[0] != '{' {
		return nil, fmt.Errorf("objects: %.100q is no JSON object", b)
	}
	return items(b, s.take)
}

// rows reads one object after another and calls take for each, with its values
// in cells. A byte that is not UTF-8 becomes U+FFFD, as in encoding/json: none
// of the formats can hold it.
func (s *shape) rows(b []byte, take func() error) error {
	if !utf8.Valid(b) {
		b = []byte(string([]rune(string(b))))
	}
	for {
		b = b[space(b):]
		if len(b) > 0 && b[0] == ',' {
			b = b[1:]
			continue
		}
		if len(b) == 0 {
			return nil
		}
		rest, err := s.read(b)
		if err != nil {
			return err
		}
		if err := take(); err != nil {
			return err
		}
		b = rest
	}
}

// compact returns JSON without space between its tokens.
func compact(value []byte) ([]byte, error) {
	if !bytes.ContainsAny(value, " \n\r\t") {
		return value, nil
	}
	var b bytes.Buffer
	err := json.Compact(&b, value)
	return b.Bytes(), err
}
