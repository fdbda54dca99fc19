package maps_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/xuri/excelize/v2"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest/maps"
)

// priced is a row of a Parquet file.
type priced struct {
	Shop  string    `parquet:"shop"`
	SKU   string    `parquet:"sku"`
	Price float64   `parquet:"price"`
	Net   int64     `parquet:"net,decimal(2:18)"`
	Seen  time.Time `parquet:"seen_at,timestamp(microsecond)"`
	Note  *string   `parquet:"note,optional"`
}

var seenAt = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

// workbook returns a spreadsheet: a sheet of remarks, then one of prices, with
// times in time cells and amounts that are displayed rounded.
func workbook(t *testing.T) []byte {
	t.Helper()
	f := excelize.NewFile()
	must := func(err error) {
		t.Helper()
		must.Do(t, err)
	}
	style := func(form string) int {
		id, err := f.NewStyle(&excelize.Style{CustomNumFmt: &form})
		must(err)
		return id
	}
	must(f.SetCellValue("Sheet1", "A1", "Prices of October"))
	_, err := f.NewSheet("Preise")
	must(err)
	must(f.SetSheetRow("Preise", "A1", &[]any{"Händler", "SKU", "Gesehen am", "Preis", "Versand"}))
	must(f.SetSheetRow("Preise", "A2", &[]any{"Müller", "A-1", "", 1234.5}))
	must(f.SetSheetRow("Preise", "A4", &[]any{"Müller", "A-2", "", 0.99, 4.9}))
	must(f.SetCellValue("Preise", "C2", seenAt))
	must(f.SetCellValue("Preise", "C4", seenAt.Add(24*time.Hour)))
	must(f.SetCellStyle("Preise", "C2", "C4", style("dd.mm.yyyy hh:mm")))
	must(f.SetCellStyle("Preise", "D2", "E4", style(`#,##0 "€"`)))
	_, err = f.NewSheet("Rest")
	must(err)
	var b bytes.Buffer
	must(f.Write(&b))
	return b.Bytes()
}

func parquetFile(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	note := "neu"
	w := parquet.NewGenericWriter[priced](&b)
	if _, err := w.Write([]priced{{"shop.de", "A-1", 1.29, 108, seenAt, &note}, {"shop.de", "A-2", 0.5, -5, seenAt.Add(1500 * time.Millisecond), nil}}); err != nil {
		t.Fatal(err)
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

func zipFile(t *testing.T, entries ...[2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		w := must.Get(z.CreateHeader(&zip.FileHeader{Name: e[0], Method: zip.Deflate, Modified: seenAt}))(t)
		if _, err := io.WriteString(w, e[1]); err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, z.Close())
	return b.Bytes()
}

// TestSources: workbooks, Parquet files and ZIPs become CSV files with the same
// content, which an import without a mapping understands.
func TestSources(t *testing.T) {
	const june = "shop,sku,price,seen_at\nshop.de,A-1,1.20,2026-06-01T09:00:00Z\n"
	const july = "shop,sku,price,seen_at\nshop.de,A-1,1.10,2026-07-01T09:00:00Z\n"
	for name, c := range map[string]struct {
		content []byte
		want    map[string]string // the text by the name of the source
		note    string
	}{
		"prices.xlsx": {workbook(t), map[string]string{
			"prices.xlsx": "Händler,SKU,Gesehen am,Preis,Versand\nMüller,A-1,2026-10-01 09:00:00,1234.5,\n\nMüller,A-2,2026-10-02 09:00:00,0.99,4.9\n",
		}, "only the sheet Preise is read; not Sheet1"},
		"prices.parquet": {parquetFile(t), map[string]string{
			"prices.parquet": "shop,sku,price,net,seen_at,note\nshop.de,A-1,1.29,1.08,2026-10-01T09:00:00Z,neu\nshop.de,A-2,0.5,-0.05,2026-10-01T09:00:01.5Z,\n",
		}, ""},
		"prices.zip": {zipFile(t, [2]string{"2026/june.csv", june}, [2]string{"../../july.csv", july}, [2]string{"__MACOSX/._june.csv", "x"}, [2]string{"readme.md", "x"}, [2]string{"2026/README.txt", "x"}), map[string]string{
			"prices.zip/2026/june.csv": june, "prices.zip/../../july.csv": july,
		}, "readme.md, 2026/README.txt"},
		"prices.csv": {[]byte(june), map[string]string{"": june}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, name)
			must.Do(t, os.WriteFile(file, c.content, 0o600))
			into := t.TempDir()
			sources := must.Get(maps.Sources(file, into))(t)
			got, notes := map[string]string{}, ""
			for _, s := range sources {
				text := must.Get(os.ReadFile(s.Path))(t)
				if s.Path == file {
					s.Name = ""
				} else if !strings.HasPrefix(s.Path, into+string(filepath.Separator)) {
					t.Errorf("%s was unpacked to %s", s.Name, s.Path)
				}
				got[s.Name] = string(text)
				notes += s.Note
				g := must.Get(maps.GuessMapping(s.Path, "", guessNow))(t)
				if g.Mapping.Columns.CapturedAt.Column == "" {
					t.Errorf("no time in\n%s", g.Text)
				}
				sum, err := maps.Check(t.Context(), maps.Request{File: s.Path, Mapping: g.Mapping, Now: func() time.Time { return guessNow }})
				if err != nil || sum.Rejected != 0 || sum.Accepted == 0 {
					t.Errorf("imported: %+v %v", sum, err)
				}
			}
			equals.Check(t, c.want, got)
			if !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
				t.Errorf("note %q", notes)
			}
		})
	}
}

// TestSourcesRefused: a file that unpacks to much more than its size, that is
// cut, or that holds no prices, is refused in one sentence.
func TestSourcesRefused(t *testing.T) {
	bomb := zipFile(t, [2]string{"a.csv", strings.Repeat("0", 100<<20)})
	if len(bomb) > 1<<20 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"bomb.zip":    {bomb, "becomes larger"},
		"none.zip":    {zipFile(t, [2]string{"a.pdf", "x"}), "holds no .csv"},
		"cut.zip":     {workbook(t)[:2000], "cannot be read"},
		"cut.parquet": {parquetFile(t)[:100], "cannot be read as Parquet"},
		"empty.xlsx": {func() []byte {
			var b bytes.Buffer
			must.Do(t, excelize.NewFile().Write(&b))
			return b.Bytes()
		}(), "no sheet"},
	} {
		file := filepath.Join(t.TempDir(), name)
		must.Do(t, os.WriteFile(file, c.content, 0o600))
		_, err := maps.Sources(file, t.TempDir())
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCaptureTimeOfFile: without a column for it, the time of a capture is a
// fixed value, the day in the file's name, alone or with a column of times of
// day, or the file's own time; a guess reports that as an assumption.
func TestCaptureTimeOfFile(t *testing.T) {
	const rows = "shop,sku,price\nshop.de,A-1,1.20\n"
	for name, c := range map[string]struct {
		file, text, mapping string // mapping: of columns.capturedAt; empty: guessed
		first               string // time of the first capture
		assumptions         []string
		refused             string
	}{
		"value":     {"prices.csv", rows, "{value: 2026-03-01T10:00:00Z}", "2026-03-01T10:00:00Z", nil, ""},
		"name":      {"prices-2026-03-01.csv", rows, "{from: fileName, zone: Europe/Berlin}", "2026-03-01T11:00:00Z", nil, ""},
		"no name":   {"prices.csv", rows, "{from: fileName, zone: Europe/Berlin}", "", nil, "has no day like"},
		"name time": {"prices_20260301_061502.csv", rows, "{from: fileNameTime, zone: Europe/Berlin}", "2026-03-01T05:15:02Z", nil, ""},
		"no clock":  {"prices_20260301.csv", rows, "{from: fileNameTime, zone: Europe/Berlin}", "", nil, "has no day and time like"},
		"name day":  {"prices_20260301_061502.csv", rows, "{from: fileName, zone: Europe/Berlin}", "2026-03-01T11:00:00Z", nil, ""},
		"time":      {"prices.csv", rows, "{from: fileTime}", "2026-10-01T09:00:00Z", nil, ""},
		"guessed":   {"shop_20260301.csv", rows, "", "2026-03-01T11:00:00Z", []string{"assuming the day in the file's name", "noon"}, ""},
		"dump":      {"prices-20260301T0615Z.csv", rows, "", "2026-03-01T06:15:00Z", []string{"day and time in the file's name"}, ""},
		"digits":    {"prices-20260301061502.csv", rows, "", "2026-03-01T05:15:02Z", []string{"day and time in the file's name"}, ""},
		"german":    {"preise 01.03.2026.csv", rows, "", "2026-03-01T11:00:00Z", []string{"assuming the day in the file's name"}, ""},
		"clock":     {"shop-2026-03-01-0615.csv", "shop,sku,price,time\nshop.de,A-1,1.20,08:30\n", "", "2026-03-01T07:30:00Z", []string{"assuming the day in the file's name"}, ""},
		"file time": {"prices.csv", rows, "", "2026-10-01T09:00:00Z", []string{"assuming the time of the file"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), c.file)
			must.Do(t, os.WriteFile(file, []byte(c.text), 0o600))
			must.Do(t, os.Chtimes(file, seenAt, seenAt))
			var shown []maps.Shown
			var m *maps.Mapping
			var err error
			if c.mapping == "" {
				var g *maps.Guess
				if g, err = maps.GuessMapping(file, "", guessNow); err != nil {
					t.Fatal(err)
				}
				m, shown = g.Mapping, g.Rows
				for _, want := range c.assumptions {
					if !strings.Contains(strings.Join(g.Assumptions, "\n"), want) {
						t.Errorf("nothing assumed like %q in %q", want, g.Assumptions)
					}
				}
			} else {
				if m, err = maps.ParseMapping([]byte("source: s\ncolumns: {site: shop, productKey: sku, price: price, capturedAt: " + c.mapping + "}\ndefaultSite: {type: shop, country: DE, currency: EUR}\n")); err != nil {
					t.Fatal(err)
				}
				shown, err = maps.Preview(file, m, guessNow)
			}
			if c.refused != "" {
				if _, also := maps.Check(t.Context(), maps.Request{File: file, Mapping: m}); err == nil || also == nil || !strings.Contains(also.Error(), c.refused) {
					t.Errorf("%v, %v", err, also)
				}
				return
			}
			if err != nil || len(shown) != 1 || shown[0].CapturedAt != c.first {
				t.Errorf("%+v %v", shown, err)
			}
			sum, err := maps.Check(t.Context(), maps.Request{File: file, Mapping: m, Now: func() time.Time { return guessNow }})
			if err != nil || sum.Accepted != 1 || sum.First.Format(time.RFC3339) != c.first {
				t.Errorf("imported: %+v %v", sum, err)
			}
		})
	}
	for _, wrong := range []string{"{column: a, value: b}", "{from: somewhere}", "{from: fileName}", "{from: fileNameTime}", "{from: fileNameTime, zone: UTC, clock: a}", "{from: fileTime, clock: a}", "{from: fileTime, layouts: [day]}"} {
		if _, err := maps.ParseMapping([]byte("source: s\ncolumns: {site: shop, productKey: sku, price: price, capturedAt: " + wrong + "}\ndefaultSite: {type: shop, country: DE, currency: EUR}\n")); err == nil {
			t.Errorf("%s was taken", wrong)
		}
	}
}

// TestSeries: files of the same kind from many days have one name.
func TestSeries(t *testing.T) {
	for in, want := range map[string]string{
		"a/shop-2026-03-01.csv": "shop", "shop-2026-03.csv": "shop", "202603 shop.csv": "shop", "shop_03.2026.csv": "shop", "shop-2026-W09.csv": "shop", "shop-2026-19.csv": "shop-2026-19", "20260301_shop.csv.gz": "shop",
		"shop_20260301_061502.csv": "shop", "shop-20260301T061502Z.csv": "shop", "20260301061502-shop.csv": "shop", "shop-2026-03-01-06-15-02.csv.gz": "shop", "shop 01.03.2026 06.15.xlsx": "shop",
		"shop-20260301-7777.csv": "shop--7777", "shop-2026-03-01-1.csv": "shop--1",
		"prices.csv": "prices", "2026-03-01.csv": "2026-03-01", "sku20260301999.csv": "sku20260301999",
	} {
		equals.Is(t, want, maps.Series(in), "%s", in)
	}
}

// TestParquetTypes: unsigned numbers stay what they are, and identifiers and
// bytes that are no text reject no row.
func TestParquetTypes(t *testing.T) {
	type odd struct {
		Shop  string    `parquet:"shop"`
		SKU   uint32    `parquet:"sku"`
		Price float64   `parquet:"price"`
		Seen  time.Time `parquet:"seen_at,timestamp(microsecond)"`
		Hash  uint64    `parquet:"hash"`
		Left  int32     `parquet:"left"`
		ID    [16]byte  `parquet:"id,uuid"`
		Raw   []byte    `parquet:"raw"`
		Text  []byte    `parquet:"text"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[odd](&b)
	must.Get(w.Write([]odd{{"shop.de", 4012345678, 1.29, seenAt, 1<<63 + 5, -7, [16]byte{0xff, 0xfe, 15: 1}, []byte{0xff, 0}, []byte("grün")}}))(t)
	must.Do(t, w.Close())
	file := filepath.Join(t.TempDir(), "odd.parquet")
	must.Do(t, os.WriteFile(file, b.Bytes(), 0o600))
	sources := must.Get(maps.Sources(file, t.TempDir()))(t)
	text := must.Get(os.ReadFile(sources[0].Path))(t)
	want := "shop,sku,price,seen_at,hash,left,id,raw,text\n" +
		"shop.de,4012345678,1.29,2026-10-01T09:00:00Z,9223372036854775813,-7,fffe0000-0000-0000-0000-000000000001,ff00,grün\n"
	equals.Check(t, want, string(text))
	g := must.Get(maps.GuessMapping(sources[0].Path, "", guessNow))(t)
	sum, err := maps.Check(t.Context(), maps.Request{File: sources[0].Path, Mapping: g.Mapping, Now: func() time.Time { return guessNow }})
	if err != nil || sum.Accepted != 1 {
		t.Errorf("%+v %v", sum, err)
	}
}
