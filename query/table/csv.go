package table

import (
	"encoding/json"
	"io"
	"strconv"

	"preismon/contracts"
	"preismon/query/frame"
)

// CSV writes rows as in RFC 4180, in UTF-8, with CRLF and a header. Its columns
// are texts, numbers, booleans, JSON, and money.
//
// An empty cell is null, or an absent field of an Optional column. An empty
// text is "". Money has two columns, .amountMinor and .currencyCode, because
// its value is already in the column of the amount; other objects and lists are
// JSON in a cell.
//
// Spreadsheets take a text that begins with = + - @ (also full-width), tab, CR
// or LF for a formula, some of them even after spaces, and the texts of shops
// come from strangers. Such a text, and one that begins with ', gets a leading
// ': spreadsheets hide it; programs remove one leading ' to get the text.
// Numbers are not changed.
func CSV(w io.Writer, columns []frame.Column) Sections {
	c := &commas{to: w}
	for i := range columns {
		column := &columns[i]
		if column.Kind != frame.Object {
			c.cells = append(c.cells, cells{name: column.Name, kind: column.Kind, column: i, member: -1})
			continue
		}
		for n, m := range column.Members {
			if m.Name == "amountMinor" || m.Name == "currencyCode" {
				c.cells = append(c.cells, cells{name: column.Name + "." + m.Name, kind: m.Kind, column: i, member: n})
			}
		}
	}
	return c
}

type commas struct {
	to    io.Writer
	cells []cells
	begun bool
	buf   []byte
}

// cells is a column of the table.
type cells struct {
	name           string
	kind           frame.Kind
	column, member int // in a batch; member -1: the column itself
	vector         *frame.Vector
	whole          *frame.Vector // the column that vector belongs to

	known   frame.Texts // the values of a dictionary, as cells
	version uint64
}

// header writes the names of the columns before the first row.
func (c *commas) header() {
	if c.begun {
		return
	}
	c.begun = true
	for i := range c.cells {
		if i > 0 {
			c.buf = append(c.buf, ',')
		}
		c.buf = append(c.buf, c.cells[i].name...)
	}
	c.buf = append(c.buf, "\r\n"...)
}

func (c *commas) Write(rows *frame.Batch) error {
	c.header()
	for i := range c.cells {
		c.cells[i].begin(rows)
	}
	for row := range rows.Len {
		for i := range c.cells {
			if i > 0 {
				c.buf = append(c.buf, ',')
			}
			c.buf = c.cells[i].append(c.buf, row)
		}
		c.buf = append(c.buf, "\r\n"...)
	}
	return c.flush()
}

// begin selects the column's part of a batch.
func (c *cells) begin(rows *frame.Batch) {
	v := &rows.Columns[c.column]
	c.whole, c.vector = v, v
	if c.member >= 0 {
		c.vector = &v.Members[c.member]
	}
	if v = c.vector; v.Index == nil || c.version == v.Version && c.known.Len() == v.Values.Len() {
		return
	}
	c.version = v.Version
	c.known.Reset()
	for i := range v.Values.Len() {
		from := len(c.known.Buf)
		c.known.Buf = c.appendText(c.known.Buf, v.Values.At(i))
		c.known.End(from)
	}
}

func (c *cells) append(b []byte, row int) []byte {
	v := c.vector
	if !c.whole.Has(row) || !v.Has(row) {
		return b
	}
	switch c.kind {
	case frame.Number:
		return contracts.AppendMinor(b, v.Ints[row], int(v.Digits[row]))
	case frame.Integer:
		return strconv.AppendInt(b, v.Ints[row], 10)
	case frame.Boolean:
		return strconv.AppendBool(b, v.Bits.At(row))
	}
	if v.Index != nil {
		return append(b, c.known.At(int(v.Index[row]))...)
	}
	return c.appendText(b, v.Values.At(row))
}

// appendText writes the cell of a text, or of JSON.
func (c *cells) appendText(b, text []byte) []byte {
	if c.kind != frame.JSON {
		return appendCell(b, text, formula(text))
	}
	if len(text) == 0 {
		return b
	}
	switch text[0] {
	case 'n':
		return b
	case '{', '[':
		return appendCell(b, text, false)
	case '"':
		var s string
		_ = json.Unmarshal(text, &s) // it has been checked to be JSON
		return appendCell(b, []byte(s), formula([]byte(s)))
	}
	return append(b, text...) // a number or a boolean
}

func (c *commas) flush() error {
	c.header()
	_, err := c.to.Write(c.buf)
	c.buf = c.buf[:0]
	return err
}

// Close writes at least the header: a table without rows is an answer, too.
func (c *commas) Close() error { return c.flush() }

// Cut implements Sections: each row stands for itself.
func (c *commas) Cut() ([]byte, error) { return nil, c.flush() }

// Splice implements Sections.
func (c *commas) Splice([]byte) error { return c.flush() }
