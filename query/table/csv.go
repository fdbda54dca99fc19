package table

import (
	"bytes"
	"io"
	"strings"
)

// CSV writes rows by RFC 4180, in UTF-8, with CRLF and a header, a column for
// each field that is named, in that order; other fields are left out. It knows
// no field by name, so other records than results can be written, too.
//
// An empty cell is null, or an absent field of an Optional column. An empty
// text is "". A field whose name ends with Money has two columns, .amountMinor
// and .currencyCode, for its value is the amount beside it; other objects and
// lists are JSON in a cell.
//
// Spreadsheets take a text that begins with = + - @ (also of full width), tab,
// CR or LF for a formula, some after spaces, and what shops write is the text
// of strangers. Such a text, and one that begins with ', gets a ' before it:
// spreadsheets hide it, programs cut off one leading ' and have the text.
// Numbers stay as they are.
func CSV(w io.Writer, fields []string) Writer {
	c := &commas{to: w, fields: fields, row: shapeOf(fields, true)}
	c.money = shapeOf([]string{"amountMinor", "currencyCode"}, true)
	c.take = c.line
	return c
}

type commas struct {
	to         io.Writer
	fields     []string
	row, money *shape
	take       func() error
	begun      bool
	buf, room  []byte
}

const moneyEnd = "Money"

// header puts the names of the columns before the first row.
func (c *commas) header() {
	if c.begun {
		return
	}
	c.begun = true
	for i, name := range c.fields {
		if i > 0 {
			c.buf = append(c.buf, ',')
		}
		if strings.HasSuffix(name, moneyEnd) {
			c.buf = append(c.buf, name+".amountMinor,"+name+".currencyCode"...)
			continue
		}
		c.buf = append(c.buf, name...)
	}
	c.buf = append(c.buf, "\r\n"...)
}

func (c *commas) Write(rows []byte) error {
	c.header()
	err := c.row.rows(rows, c.take)
	if err != nil {
		return err
	}
	return c.Flush()
}

func (c *commas) line() error {
	for i, name := range c.fields {
		if i > 0 {
			c.buf = append(c.buf, ',')
		}
		value := c.row.cells[i]
		if !strings.HasSuffix(name, moneyEnd) {
			if err := c.cell(value); err != nil {
				return err
			}
			continue
		}
		clear(c.money.cells)
		if !isNull(value) {
			if _, err := c.money.read(value); err != nil {
				return err
			}
		}
		if err := c.cell(c.money.cells[0]); err != nil {
			return err
		}
		c.buf = append(c.buf, ',')
		if err := c.cell(c.money.cells[1]); err != nil {
			return err
		}
	}
	c.buf = append(c.buf, "\r\n"...)
	return nil
}

func (c *commas) cell(value []byte) (err error) {
	if isNull(value) {
		return nil
	}
	switch value[0] {
	case '"':
		var text []byte
		if text, c.room, err = unquote(value, c.room[:0]); err != nil {
			return err
		}
		c.buf = appendCell(c.buf, text, formula(text))
	case '{', '[':
		if value, err = compact(value); err != nil {
			return err
		}
		c.buf = appendCell(c.buf, value, false)
	default:
		c.buf = append(c.buf, value...) // a number or a boolean
	}
	return nil
}

// wide are the signs of a formula as East Asian keyboards have them.
var wide = []string{"＝", "＋", "－", "＠"}

// formula tells whether a spreadsheet might take a text for a formula, or the
// escape of one for an escape.
func formula(text []byte) bool {
	text = bytes.TrimLeft(text, " ")
	if len(text) == 0 {
		return false
	}
	switch text[0] {
	case '=', '+', '-', '@', '\t', '\r', '\n', '\'':
		return true
	case 0xef:
		for _, sign := range wide {
			if bytes.HasPrefix(text, []byte(sign)) {
				return true
			}
		}
	}
	return false
}

// special are the bytes for which a cell has quotes; the semicolon is what
// some spreadsheets separate by.
var special = [256]bool{',': true, '"': true, '\r': true, '\n': true, ';': true}

func plain(text []byte) bool {
	for _, c := range text {
		if special[c] {
			return false
		}
	}
	return true
}

// appendCell writes a text as a cell, with quotes where it needs them.
func appendCell(b, text []byte, escape bool) []byte {
	n := len(text)
	if n > 0 && plain(text) && text[0] != ' ' && text[n-1] != ' ' {
		if escape {
			b = append(b, '\'')
		}
		return append(b, text...)
	}
	b = append(b, '"')
	if escape {
		b = append(b, '\'')
	}
	for {
		i := bytes.IndexByte(text, '"')
		if i < 0 {
			return append(append(b, text...), '"')
		}
		b = append(append(b, text[:i+1]...), '"')
		text = text[i+1:]
	}
}

func (c *commas) Flush() error {
	c.header()
	_, err := c.to.Write(c.buf)
	c.buf = c.buf[:0]
	return err
}

// Close writes at least the header: none is an answer, too.
func (c *commas) Close() error { return c.Flush() }
