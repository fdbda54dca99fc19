package mcp

import (
	"archive/zip"
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// sheetBytes bounds the unpacked size of a part of a workbook.
const sheetBytes = 32 << 20

// Where a workbook keeps the rows of its first sheet, and the texts that cells
// share (ECMA-376).
const (
	firstSheet  = "xl/worksheets/sheet1.xml"
	sharedTexts = "xl/sharedStrings.xml"
)

// sheetText is text in a workbook: plain, or in runs of one format each.
type sheetText struct {
	Plain string   `xml:"t"`
	Runs  []string `xml:"r>t"`
}

func (t sheetText) String() string { return t.Plain + strings.Join(t.Runs, "") }

// sheetCell is a cell of a row; those without a value may be left out.
type sheetCell struct {
	Ref    string    `xml:"r,attr"` // like B7
	Type   string    `xml:"t,attr"`
	Value  string    `xml:"v"`
	Inline sheetText `xml:"is"`
}

// sheetLines passes on the rows of the first sheet of a workbook as lines of
// CSV. Numbers and dates stay as they are stored.
func sheetLines(ctx context.Context, z *zip.Reader, take func(string, bool)) error {
	shared, err := sharedTextsOf(ctx, z)
	if err == nil {
		err = rowsOf(ctx, z, shared, take)
	}
	if err != nil {
		return cmp.Or(ctx.Err(), errNoLines)
	}
	return nil
}

// textOverhead is roughly what a shared text takes in addition to its bytes.
const textOverhead = 32

// sharedTextsOf returns the texts that cells share, which together take at most
// sheetBytes.
func sharedTextsOf(ctx context.Context, z *zip.Reader) (shared []string, err error) {
	held := 0
	err = eachElement(ctx, z, sharedTexts, "si", func(d *xml.Decoder, start xml.StartElement) error {
		var t sheetText
		if err := d.DecodeElement(&t, &start); err != nil {
			return err
		}
		text := oneLine(t.String())
		if held += len(text) + textOverhead; held > sheetBytes {
			return errTooLarge
		}
		shared = append(shared, text)
		return nil
	}, func(string) error { return nil })
	if errors.Is(err, errNoPart) {
		return nil, nil
	}
	return shared, err
}

// mostColumns is how many columns a sheet can have; sheetFields how many cells fit
// into sheetBytes, which bounds the fields of all lines together, those before a
// cell far to the right included.
const (
	mostColumns = 16_384
	sheetFields = sheetBytes / len("<c/>")
)

func rowsOf(ctx context.Context, z *zip.Reader, shared []string, take func(string, bool)) error {
	var row []string
	cells, fields := 0, 0
	return eachElement(ctx, z, firstSheet, "c", func(d *xml.Decoder, start xml.StartElement) error {
		if cells++; cells > mostColumns {
			return errTooLarge
		}
		var c sheetCell
		if err := d.DecodeElement(&c, &start); err != nil {
			return err
		}
		row = c.addTo(row, shared)
		return nil
	}, func(name string) error {
		if name != "row" {
			return nil
		}
		if fields += len(row); fields > sheetFields {
			return errTooLarge
		}
		take(cutLine(csvLine(row)))
		row, cells = row[:0], 0
		return nil
	})
}

// addTo adds the value of a cell to those of its row, at its column.
func (c sheetCell) addTo(row, shared []string) []string {
	at := columnOf(c.Ref)
	if at < 0 {
		at = len(row)
	}
	for len(row) <= at {
		row = append(row, "")
	}
	switch c.Type {
	case "inlineStr":
		row[at] = oneLine(c.Inline.String())
	case "s":
		row[at] = ""
		if i, err := strconv.ParseUint(c.Value, 10, 31); err == nil && int(i) < len(shared) {
			row[at] = shared[i]
		}
	default:
		row[at] = oneLine(c.Value)
	}
	return row
}

// columnOf returns the column, counted from 0, of a reference like B7; -1: it names
// none.
func columnOf(ref string) int {
	n := 0
	for _, c := range ref {
		if c < 'A' || c > 'Z' {
			break
		}
		if n = n*26 + int(c-'A') + 1; n > mostColumns {
			return -1
		}
	}
	return n - 1
}

var (
	errNoPart   = errors.New("the workbook has no such part")
	errTooLarge = errors.New("the workbook is too large to be read")
)

// Bounds of what is decoded at once: the XML of a cell or of a shared text,
// which is 32,767 characters at most, and how deep elements are in one another.
const (
	elementBytes = 1 << 20
	elementDepth = 100
)

// eachElement decodes the elements with a name in a part of a workbook, and
// tells the end of each of the others.
func eachElement(ctx context.Context, z *zip.Reader, part, name string, decode func(*xml.Decoder, xml.StartElement) error, end func(name string) error) error {
	f, err := z.Open(part)
	if err != nil {
		return errNoPart
	}
	defer f.Close() //nolint:errcheck // it is only read
	in := &elementReader{Reader: bufio.NewReader(io.LimitReader(f, sheetBytes))}
	d := xml.NewDecoder(in)
	for depth := 0; ctx.Err() == nil; {
		in.left = elementBytes
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if t.Name.Local == name {
				if err := decode(d, t); err != nil {
					return err
				}
			} else if depth++; depth > elementDepth {
				return errTooLarge
			}
		case xml.EndElement:
			depth--
			if err := end(t.Name.Local); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// elementReader fails when an element is larger than what is left for it. The
// XML decoder reads each byte with ReadByte.
type elementReader struct {
	*bufio.Reader
	left int
}

func (r *elementReader) ReadByte() (byte, error) {
	if r.left--; r.left < 0 {
		return 0, errTooLarge
	}
	return r.Reader.ReadByte()
}

// oneLine makes line ends blanks, so that a row is one line.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}

// csvLine returns a CSV record without its line end, or the beginning of one
// that cutLine truncates.
func csvLine(fields []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	var some []string
	for left := excerptRunes + 1; len(some) < len(fields) && left >= 0; { // the first has no comma before it
		f := fields[len(some)]
		f = f[:min(len(f), utf8.UTFMax*(left+1))]
		left -= utf8.RuneCountInString(f) + len(",")
		some = append(some, f)
	}
	_ = w.Write(some) // to memory
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}
