package mcp

import (
	"archive/zip"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"strings"
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

// sheetRow is a row; cells without a value may be left out.
type sheetRow struct {
	Cells []struct {
		Place  string    `xml:"r,attr"` // like B7
		Type   string    `xml:"t,attr"`
		Value  string    `xml:"v"`
		Inline sheetText `xml:"is"`
	} `xml:"c"`
}

// sheetLines passes on the rows of the first sheet of a workbook as lines of
// CSV. Numbers and dates stay as they are stored.
func sheetLines(z *zip.Reader, take func(string, bool)) error {
	var shared []string
	err := eachElement(z, sharedTexts, "si", func(d *xml.Decoder, start xml.StartElement) error {
		var t sheetText
		err := d.DecodeElement(&t, &start)
		shared = append(shared, t.String())
		return err
	})
	if err != nil && !errors.Is(err, errNoPart) {
		return errNoLines
	}
	err = eachElement(z, firstSheet, "row", func(d *xml.Decoder, start xml.StartElement) error {
		var r sheetRow
		if err := d.DecodeElement(&r, &start); err != nil {
			return err
		}
		take(cutLine(csvLine(r.fields(shared))))
		return nil
	})
	if err != nil {
		return errNoLines
	}
	return nil
}

// mostColumns is how many columns a sheet can have.
const mostColumns = 16_384

// fields returns the values of a row by their columns.
func (r sheetRow) fields(shared []string) (all []string) {
	for _, c := range r.Cells {
		at := columnOf(c.Place)
		if at < 0 {
			at = len(all)
		}
		for len(all) <= at {
			all = append(all, "")
		}
		switch c.Type {
		case "inlineStr":
			all[at] = c.Inline.String()
		case "s":
			all[at] = ""
			if i, ok := digits(c.Value); ok && i < len(shared) {
				all[at] = shared[i]
			}
		default:
			all[at] = c.Value
		}
	}
	return all
}

// columnOf returns the column, counted from 0, of a place like B7; -1: it names
// none.
func columnOf(place string) int {
	n := 0
	for _, c := range place {
		if c < 'A' || c > 'Z' {
			break
		}
		if n = n*26 + int(c-'A') + 1; n > mostColumns {
			return -1
		}
	}
	return n - 1
}

// digits reads a small number.
func digits(s string) (n int, ok bool) {
	for _, c := range s {
		if c < '0' || c > '9' || n > 1<<30 {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, s != ""
}

var errNoPart = errors.New("the workbook has no such part")

// eachElement decodes the elements with a name in a part of a workbook.
func eachElement(z *zip.Reader, part, name string, decode func(*xml.Decoder, xml.StartElement) error) error {
	f, err := z.Open(part)
	if err != nil {
		return errNoPart
	}
	defer f.Close() //nolint:errcheck // it is only read
	d := xml.NewDecoder(io.LimitReader(f, sheetBytes))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == name {
			if err := decode(d, start); err != nil {
				return err
			}
		}
	}
}

// csvLine returns a CSV record without its line end; line ends in a field
// become blanks, so that a row is one line.
func csvLine(fields []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	flat := make([]string, len(fields))
	for i, f := range fields {
		flat[i] = strings.Join(strings.FieldsFunc(f, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
	}
	_ = w.Write(flat) // to memory
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}
