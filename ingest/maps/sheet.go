package maps

import (
	"archive/zip"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"

	"preismon/contracts/fault"
)

// Limits of a workbook: its unpacked size, and the size of a part that may be
// held in memory; larger parts go through files.
const (
	workbookBytes = 4 << 30
	workbookPart  = 8 << 20
)

// workbook returns the first sheet of an XLSX file that has a table, or else the
// first with rows: a cover may come before it.
func (u *unpacking) workbook(file string, z *zip.Reader) ([]Source, error) {
	var size uint64
	for _, e := range z.File {
		size += e.UncompressedSize64
	}
	if size > workbookBytes {
		return nil, fault.New(fault.Invalid, "", "%s holds more than %d GiB; save its sheet as CSV", u.name, workbookBytes>>30)
	}
	book, err := excelize.OpenFile(file, excelize.Options{UnzipSizeLimit: workbookBytes, UnzipXMLSizeLimit: workbookPart, TmpDir: u.dir})
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, u.name+" cannot be read as a workbook")
	}
	defer book.Close()
	if err := unbroken(z, book.CharsetReader); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, u.name+" cannot be read as a workbook")
	}
	properties, err := book.GetWorkbookProps()
	if err != nil {
		return nil, unreadable(err)
	}
	since1904 := properties.Date1904 != nil && *properties.Date1904
	sheets, err := tablesFirst(book)
	if err != nil {
		return nil, err
	}
	for i, sheet := range sheets {
		rows := 0
		s, err := u.source(u.name, Label(u.name)+".csv", u.at, func(w io.Writer) (err error) {
			rows, err = sheetRows(book, sheet, since1904, csv.NewWriter(w))
			return err
		})
		if err != nil {
			return nil, err
		}
		if rows < 2 {
			continue
		}
		if other := sheets[i+1:]; len(other) > 0 {
			s.Note = fmt.Sprintf("only the sheet %s is read; not %s", sheet, strings.Join(other, ", "))
		}
		s.made = true
		return []Source{s}, nil
	}
	return nil, fault.New(fault.Invalid, "", "no sheet of %s has a header and rows", u.name)
}

// tableWidth is how many columns a table of prices has at least: a product, a price
// and something else. A cover has two, as in "Author: Shop".
const tableWidth = 3

// tablesFirst returns the sheets of a workbook that are not empty, those with a table
// first.
func tablesFirst(book *excelize.File) ([]string, error) {
	var tables, others []string
	for _, sheet := range book.GetSheetList() {
		width, err := headerWidth(book, sheet)
		if err != nil {
			return nil, unreadable(err)
		}
		switch {
		case width >= tableWidth:
			tables = append(tables, sheet)
		case width > 0:
			others = append(others, sheet)
		}
	}
	return append(tables, others...), nil
}

// headerWidth returns the number of cells in the header of a sheet, which may stand
// below a title.
func headerWidth(book *excelize.File, sheet string) (int, error) {
	rows, err := book.Rows(sheet)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var first [][]string
	for len(first) < headerWithin && rows.Next() {
		cells, err := rows.Columns(excelize.Options{RawCellValue: true})
		if err != nil {
			return 0, err
		}
		if filled(cells) > 0 {
			first = append(first, cells)
		}
	}
	if len(first) == 0 {
		return 0, rows.Error()
	}
	return len(first[headerAmong(first)]), rows.Error()
}

// unbroken returns the first fault in the XML of the sheets and their texts:
// excelize takes it for their end.
func unbroken(z *zip.Reader, charset func(string, io.Reader) (io.Reader, error)) error {
	check := func(e *zip.File) error {
		r, err := e.Open()
		if err != nil {
			return err
		}
		defer r.Close()
		d := xml.NewDecoder(r)
		d.CharsetReader = charset
		for {
			token, err := d.Token()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", e.Name, err)
			}
			if end, ok := token.(xml.EndElement); ok && end.Name.Local == "sheetData" {
				return nil // what stands behind it is not read
			}
		}
	}
	for _, e := range z.File {
		name := strings.ToLower(strings.ReplaceAll(e.Name, `\`, "/"))
		if name == "xl/sharedstrings.xml" || strings.HasPrefix(name, "xl/worksheets/") && strings.HasSuffix(name, ".xml") {
			if err := check(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// sheetRows writes the rows of a sheet, and counts those that are not empty:
// numbers as stored and not as shown, which would round them, but days and times
// as text. An empty row is an empty line, so that lines have the numbers of rows.
func sheetRows(book *excelize.File, sheet string, since1904 bool, w *csv.Writer) (n int, err error) {
	width, err := headerWidth(book, sheet)
	if err != nil {
		return 0, err
	}
	stored, err := book.Rows(sheet)
	if err != nil {
		return 0, err
	}
	defer stored.Close()
	shown, err := book.Rows(sheet)
	if err != nil {
		return 0, err
	}
	defer shown.Close()
	for stored.Next() && shown.Next() {
		cells, err := stored.Columns(excelize.Options{RawCellValue: true})
		if err != nil {
			return n, err
		}
		texts, err := shown.Columns(excelize.Options{ShortDatePattern: "yyyy-mm-dd"})
		if err != nil {
			return n, err
		}
		for i := range cells {
			if i < len(texts) {
				cells[i] = cellText(cells[i], texts[i], since1904)
			}
		}
		if !slices.ContainsFunc(cells, func(s string) bool { return s != "" }) {
			if err := w.Write(nil); err != nil {
				return n, err
			}
			continue
		}
		for len(cells) < width { // a row ends at its last cell
			cells = append(cells, "")
		}
		for len(cells) > width && cells[len(cells)-1] == "" {
			cells = cells[:len(cells)-1]
		}
		n++
		if err := w.Write(cells); err != nil {
			return n, err
		}
	}
	w.Flush()
	return n, errors.Join(stored.Error(), shown.Error(), w.Error())
}

// dated matches a number that is shown as a day or a time of day.
var dated = regexp.MustCompile(`(?i)\d\s*[-/.]\s*\d+\s*[-/.]\s*\d|\d:\d\d|\d[-. ]+` + month + `|\b` + month + `[a-zä]*[-. ]+\d{1,2}(,\s*|[- ])\d{2,4}\b`)

const month = `(jan|feb|m[aä]r|mrz|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])`

// typed returns a number as it was typed. Excel stores 17 significant digits,
// 0.57999999999999996 for 0.58, and shows 15 at most. Texts that look like
// numbers, such as 00123, stay as they are.
func typed(stored string, number float64) string {
	if !strings.ContainsAny(stored, "eE") && (!strings.Contains(stored, ".") || len(stored) <= 16) {
		return stored
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(number, 'g', 15, 64), 64)
	if err != nil {
		return stored
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// cellText returns the content of a cell, from what is stored and what is
// shown.
func cellText(stored, shown string, since1904 bool) string {
	serial, err := strconv.ParseFloat(stored, 64)
	if err != nil || stored == shown {
		return stored
	}
	if !dated.MatchString(shown) {
		return typed(stored, serial)
	}
	at, err := excelize.ExcelDateToTime(serial, since1904)
	if err != nil {
		return stored
	}
	at = at.Round(time.Second)
	switch {
	case serial < 1:
		return at.Format(time.TimeOnly)
	case at.Year() < 2000 || at.Year() > 2100:
		return stored
	case at.Hour() == 0 && at.Minute() == 0 && at.Second() == 0 && !strings.Contains(shown, ":"):
		return at.Format(time.DateOnly)
	}
	return at.Format(time.DateTime)
}
