package objects

import (
	"bytes"
	"encoding/json"
	"io"
)

// NDJSON writes each object on its own line, unchanged unless it contains line
// ends.
func NDJSON(w io.Writer) Writer { return &lines{to: w} }

type lines struct {
	to  io.Writer
	buf []byte
}

func (l *lines) Write(rows []byte) error {
	for {
		rows = bytes.TrimLeft(rows, ", \n\r\t")
		if len(rows) == 0 {
			return l.Flush()
		}
		n, err := extent(rows)
		if err != nil {
			return err
		}
		row, err := OneLine(rows[:n])
		if err != nil {
			return err
		}
		l.buf = append(append(l.buf, row...), '\n')
		rows = rows[n:]
	}
}

// OneLine returns an object without line ends: unchanged, unless it has some.
func OneLine(object []byte) ([]byte, error) {
	if bytes.IndexByte(object, '\n') < 0 { // never within a string
		return object, nil
	}
	var one bytes.Buffer
	err := json.Compact(&one, object)
	return one.Bytes(), err
}

func (l *lines) Flush() error {
	_, err := l.to.Write(l.buf)
	l.buf = l.buf[:0]
	return err
}

func (l *lines) Close() error { return l.Flush() }
