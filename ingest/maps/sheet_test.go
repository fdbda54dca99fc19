package maps_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest/maps"
)

// sheet writes a workbook of rows, whose numbers are stored as Excel stores
// them and shown by formats, and returns its only source.
func sheet(t *testing.T, rows [][]string, formats map[string]string) maps.Source {
	t.Helper()
	sources := must.Get(maps.Sources(sheetFile(t, rows, formats), t.TempDir()))(t)
	if len(sources) != 1 {
		t.Fatalf("%d sources", len(sources))
	}
	return sources[0]
}

// sheetFile writes such a workbook.
func sheetFile(t *testing.T, rows [][]string, formats map[string]string) string {
	t.Helper()
	f := excelize.NewFile()
	for i, row := range rows {
		for k, text := range row {
			cell := must.Get(excelize.CoordinatesToCellName(k+1, i+1))(t)
			if strings.HasPrefix(text, "=") { // a number
				must.Do(t, f.SetCellDefault("Sheet1", cell, text[1:]))
			} else {
				must.Do(t, f.SetCellStr("Sheet1", cell, text))
			}
		}
	}
	for cell, form := range formats {
		style := must.Get(f.NewStyle(&excelize.Style{CustomNumFmt: &form}))(t)
		must.Do(t, f.SetCellStyle("Sheet1", cell, cell, style))
	}
	file := filepath.Join(t.TempDir(), "prices.xlsx")
	must.Do(t, f.SaveAs(file))
	return file
}

// TestSheetNumbers: Excel stores 17 digits of a typed number and shows fewer, and
// a currency code behind a number does not make it a day.
func TestSheetNumbers(t *testing.T) {
	s := sheet(t, [][]string{
		{"typed", "code"},
		{"=0.57999999999999996", "=0.79"},
		{"=2.5299999999999998", "=39990"},
		{"=7.9600000000000004E-2", "=45000.5"},
		{"=1234567.8899999999", "=40000"},
		{"00123", "=36600"},
		{"=12.5", "=45658"},
	}, map[string]string{"B2": `0.00 "EUR"`, "B3": `#,##0 [$CZK]`, "B4": `dd-mmm-yyyy hh:mm`, "B5": `0 "SEK"`, "B7": `d mmm yyyy`})
	text := must.Get(os.ReadFile(s.Path))(t)
	want := "typed,code\n0.58,0.79\n2.53,39990\n0.0796,2023-03-15 12:00:00\n1234567.89,40000\n00123,36600\n12.5,2025-01-01\n"
	equals.Check(t, want, string(text))
}

// TestSheetLongDates: a day that is shown with its weekday or month first is one,
// and a month's name within a text, or without a day, makes none.
func TestSheetLongDates(t *testing.T) {
	formats := []string{`[$-F800]dddd\,\ mmmm\ dd\,\ yyyy`, `mmm d, yyyy`, `mmmm d, yyyy h:mm AM/PM`, `mmm-dd-yyyy`, `[$-407]dddd, d. mmmm yyyy`, `mmm dd yyyy`, `"Mark 12" 0`, `"Juno" 0.00`, `"Decor" 00000 "pieces"`}
	rows, cells := [][]string{{"date"}}, map[string]string{}
	for i, form := range formats {
		rows = append(rows, []string{"=46085"})
		cells[fmt.Sprintf("A%d", i+2)] = form
	}
	s := sheet(t, rows, cells)
	text := must.Get(os.ReadFile(s.Path))(t)
	day := "2026-03-04\n"
	want := "date\n" + day + day + "2026-03-04 00:00:00\n" + day + day + day + "46085\n46085\n46085\n"
	equals.Check(t, want, string(text))
}

// TestSheetWithAColumnPerShop: a wide workbook is guessed and read like a CSV.
func TestSheetWithAColumnPerShop(t *testing.T) {
	s := sheet(t, [][]string{
		{"Artikel", "EAN", "Datum", "Amazon", "Otto"},
		{"Lampe", "4006381333931", "2026-03-01", "=12.99", "=13.5"},
		{"Lampe", "4006381333931", "2026-03-02", "=12.49", ""},
		{"Stift", "4006381333948", "2026-03-01", "", "=1.1"},
	}, nil)
	guess := must.Get(maps.GuessMapping(s.Path, "", guessNow))(t)
	sum, err := maps.Check(t.Context(), maps.Request{File: s.Path, Mapping: s.Mapping(guess.Mapping)})
	if err != nil || sum.Accepted < 3 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// TestSheetBehindACover: a cover is no table, and a title above the header of the next
// sheet neither narrows its rows nor changes their numbers.
func TestSheetBehindACover(t *testing.T) {
	f := excelize.NewFile()
	must.Get(f.NewSheet("Preise"))(t)
	for sheet, rows := range map[string][][]any{
		"Sheet1": {{"Preisbericht"}, {"Erstellt", "heute"}, {"Autor", "Laden"}},
		"Preise": {{"Preise im November"}, {}, {"Shop", "Artikelnummer", "Datum", "Preis", "Bemerkung"}, {"laden.de", "A", "2026-11-20", 1.5}, {"laden.de", "B", "2026-11-20", 2.5, "neu"}, {"laden.de", "C", "2026-11-20"}},
	} {
		for i, row := range rows {
			must.Do(t, f.SetSheetRow(sheet, fmt.Sprintf("A%d", i+1), &row))
		}
	}
	file := filepath.Join(t.TempDir(), "bericht.xlsx")
	must.Do(t, f.SaveAs(file))
	s := must.Get(maps.Sources(file, t.TempDir()))(t)[0]
	if s.Note != "only the sheet Preise is read; not Sheet1" {
		t.Errorf("note %q", s.Note)
	}
	guess := must.Get(maps.GuessMapping(s.Path, "", guessNow))(t)
	sum, err := maps.Check(t.Context(), maps.Request{File: s.Path, Mapping: s.Mapping(guess.Mapping), Now: func() time.Time { return guessNow }})
	if err != nil || sum.Accepted != 3 || guess.Rows[0].Line != 4 {
		t.Errorf("%+v, %v, %+v", sum, err, guess.Rows)
	}
}

// TestABrokenSheet: a sheet or its texts whose XML breaks in the middle, as by a
// control character, do not end there: the workbook is refused.
func TestABrokenSheet(t *testing.T) {
	from := must.Get(zip.OpenReader(sheetFile(t, [][]string{{"sku", "name"}, {"A", "Pen"}, {"=71234", "Cup"}, {"=71235", "Plate"}}, nil)))(t)
	defer from.Close()
	for part, cut := range map[string]string{"xl/worksheets/sheet1.xml": "71234", "xl/sharedStrings.xml": "Plate", "": "none"} {
		file := filepath.Join(t.TempDir(), "broken.xlsx")
		var parts [][2]string
		for _, e := range from.File {
			r := must.Get(e.Open())(t)
			text := must.Get(io.ReadAll(r))(t)
			if e.Name == part {
				text = bytes.Replace(text, []byte(cut[1:]), []byte("\x0b"+cut[2:]), 1)
			}
			parts = append(parts, [2]string{e.Name, string(text)})
		}
		must.Do(t, os.WriteFile(file, zipFile(t, parts...), 0o600))
		_, err := maps.Sources(file, t.TempDir())
		if part == "" && err != nil || part != "" && (err == nil || !strings.Contains(err.Error(), "cannot be read as a workbook: "+part+": XML syntax error on line")) {
			t.Errorf("%s: %v", part, err)
		}
	}
}
