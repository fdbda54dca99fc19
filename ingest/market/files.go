package market

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
)

// job is an export or import definition with what its runs archive.
type job struct {
	contracts.FileJob
	imports     bool
	order       *order
	hour        int  // of the day, UTC
	every       int  // days; 0: it never ran
	notArchived bool // the content of its files is in no archive
	files       func(m *Market, j *job, at time.Time) []artifact
}

type artifact struct {
	name, filename string
	content        []byte
}

// ArtifactRef identifies the record that an artifact belongs to: the file with
// that index in the archive document.
type ArtifactRef struct {
	Import    bool // of an import archive, otherwise of an export archive
	MandateID contracts.MandateID
	OrderID   contracts.OrderID
	FileJobID contracts.FileJobID
	ArchiveID contracts.ArchiveID
	Index     int
	contracts.ArchivedFile
}

func (m *Market) makeJobs() {
	add := func(c *mandate, o int, imports bool, name string, hour, every int, files func(*Market, *job, time.Time) []artifact) *job {
		j := &job{imports: imports, order: c.orders[o], hour: hour, every: every, files: files}
		j.FileJobID = contracts.DeriveID[contracts.FileJobID](m.seedText(), "job", c.orders[o].OrderID.String(), name, strconv.FormatBool(imports))
		j.MandateID, j.OrderID, j.Name = c.MandateID, c.orders[o].OrderID, name
		j.CreatedAt = founded.AddDate(0, 0, 1)
		m.jobs = append(m.jobs, j)
		return j
	}
	nord, apo, sued, klein := m.mandates[0], m.mandates[1], m.mandates[2], m.mandates[3]
	add(nord, 0, false, "Preisexport täglich (CSV)", 5, 1, csvExport)
	add(nord, 0, false, "Preisexport wöchentlich (Excel)", 6, 7, xlsxExport)
	add(nord, 1, false, "Buy-Box-Paket", 7, 1, zipExport)
	add(nord, 0, true, "Artikelliste", 3, 7, itemImport)
	add(apo, 0, false, "OTC-Preise (CSV)", 5, 1, csvExport)
	add(apo, 0, false, "OTC-Preise (Excel)", 5, 2, xlsxExport)
	add(apo, 0, true, "PZN-Liste", 2, 7, itemImport)
	add(sued, 0, false, "Spielwaren-Paket", 6, 2, zipExport)
	add(sued, 1, false, "Nie gelaufen", 6, 0, nil)
	add(sued, 1, false, "Archiv verloren", 4, 7, csvExport).notArchived = true
	add(klein, 0, false, "Preisexport (CSV)", 5, 1, csvExport)
	add(klein, 0, true, "Artikelliste", 3, 7, itemImport)
}

// exportTakes is how long a job runs before its files are archived.
const exportTakes = 90 * time.Second

// runs returns the times at which a job ran between the start of the market and
// now.
func (m *Market) runs(j *job) (all []time.Time) {
	if j.every == 0 {
		return nil
	}
	for at := m.cfg.Start.Truncate(24 * time.Hour).Add(time.Duration(j.hour) * time.Hour); !at.Add(exportTakes).After(m.cfg.Now); at = at.AddDate(0, 0, 1) {
		if !at.Before(m.cfg.Start) && at.Unix()/86_400%int64(j.every) == 0 {
			all = append(all, at)
		}
	}
	return all
}

// archive returns the record of a run and its files. The id of the record is
// derived from the content of its files, which therefore never changes.
func (m *Market) archive(j *job, at time.Time) (contracts.FileArchive, []artifact) {
	files := j.files(m, j, at)
	rec := contracts.FileArchive{FileJobID: j.FileJobID, MandateID: j.MandateID, OrderID: j.OrderID, ArchivedAt: at.Add(exportTakes)}
	parts := []string{m.seedText(), "archive", j.FileJobID.String(), at.Format(time.RFC3339)}
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		file := contracts.ArchivedFile{Name: f.name, Filename: f.filename, SizeBytes: int64(len(f.content)), SHA256: hex.EncodeToString(sum[:])}
		rec.Files = append(rec.Files, file)
		parts = append(parts, file.SHA256)
	}
	rec.ArchiveID = contracts.DeriveID[contracts.ArchiveID](parts...)
	return rec, files
}

func (m *Market) fileRecords() iter.Seq[*event.Event] {
	return func(yield func(*event.Event) bool) {
		for _, j := range m.jobs {
			kind, archived := event.KindExport, event.KindExportArchive
			if j.imports {
				kind, archived = event.KindImport, event.KindImportArchive
			}
			def := j.FileJob
			if !yield(m.record(kind, founded, &def)) {
				return
			}
			for _, at := range m.runs(j) {
				rec, _ := m.archive(j, at)
				if !yield(m.record(archived, rec.ArchivedAt, &rec)) {
					return
				}
			}
		}
	}
}

// Artifacts returns the files of the archive records of Catalog with their
// content, which agrees with the record in size and SHA-256. The files of lost
// jobs are omitted, to show how a catalogue presents content that is gone.
func (m *Market) Artifacts() iter.Seq2[ArtifactRef, []byte] {
	return func(yield func(ArtifactRef, []byte) bool) {
		for _, j := range m.jobs {
			if j.notArchived {
				continue
			}
			for _, at := range m.runs(j) {
				rec, files := m.archive(j, at)
				for n, f := range files {
					if !yield(ArtifactRef{j.imports, j.MandateID, j.OrderID, j.FileJobID, rec.ArchiveID, n, rec.Files[n]}, f.content) {
						return
					}
				}
			}
		}
	}
}

var exportHead = []string{"source", "site", "itemId", "ean", "pzn", "productName", "merchant", "availability", "price", "shipping", "currency", "capturedAt"}

// exportItems limits the items of an export, to keep the files of a demo small.
const exportItems = 60

// export returns what the order's pairs cost at that time.
func (m *Market) export(j *job, at time.Time) [][]string {
	rows := [][]string{exportHead}
	when := at.UTC().Format(time.RFC3339)
	for _, id := range j.order.Items[:min(len(j.order.Items), exportItems)] {
		it := m.byID[id]
		for _, s := range j.order.Sites {
			o, ok := m.At(contracts.Pair{Item: id, Site: s}, at)
			if !ok {
				continue
			}
			row := []string{"simulated", string(s), id.String(), it.EAN, it.PZN, it.Name}
			if len(o.Offers) == 0 {
				rows = append(rows, append(row, "", o.Outcome.String(), "", "", "", when))
			}
			for _, of := range o.Offers {
				rows = append(rows, append(row[:6:6], of.Merchant, o.Outcome.String(), decimal(of.Price, of.CurrencyCode), decimal(of.Shipping, of.CurrencyCode), string(of.CurrencyCode), when))
			}
		}
	}
	return rows
}

func decimal(amount *int64, c contracts.Currency) string {
	if amount == nil {
		return ""
	}
	return string(contracts.Money{AmountMinor: *amount, CurrencyCode: c}.AppendDecimal(nil))
}

func csvBytes(rows [][]string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Comma, w.UseCRLF = ';', true
	if err := w.WriteAll(rows); err != nil {
		panic(fmt.Sprintf("market: %v", err)) // a buffer accepts everything
	}
	return b.Bytes()
}

func stamp(j *job, at time.Time, ext string) string {
	return "demo-" + j.order.Alias + "-" + at.UTC().Format("2006-01-02") + ext
}

func csvExport(m *Market, j *job, at time.Time) []artifact {
	return []artifact{{"Preise", stamp(j, at, ".csv"), csvBytes(m.export(j, at))}}
}

func xlsxExport(m *Market, j *job, at time.Time) []artifact {
	return []artifact{{"Preise", stamp(j, at, ".xlsx"), xlsx("Preise (simulated)", m.export(j, at), at)}}
}

func zipExport(m *Market, j *job, at time.Time) []artifact {
	rows := m.export(j, at)
	note := "Demo (simulated): keine dieser Angaben ist echt.\r\nAuftrag: " + j.order.Name + "\r\nZeilen: " + strconv.Itoa(len(rows)-1) + "\r\nStand: " + at.UTC().Format(time.RFC3339) + "\r\n"
	return []artifact{
		{"Paket", stamp(j, at, ".zip"), zipped(at, entry{"preise.csv", csvBytes(rows)}, entry{"preise.xlsx", xlsx("Preise (simulated)", rows, at)}, entry{"LIESMICH.txt", []byte(note)})},
		{"Begleitzettel", stamp(j, at, ".txt"), []byte(note)},
	}
}

func itemImport(m *Market, j *job, at time.Time) []artifact {
	rows := [][]string{{"source", "itemId", "ean", "pzn", "asin", "asinLocale", "name", "brand"}}
	for _, id := range j.order.Items {
		it := m.byID[id]
		rows = append(rows, []string{"simulated", id.String(), it.EAN, it.PZN, it.ASIN, it.ASINLocale, it.Name, it.Brand})
	}
	return []artifact{{"Artikel", stamp(j, at, "-artikel.csv"), csvBytes(rows)}}
}

type entry struct {
	name    string
	content []byte
}

// zipped packs entries without compressing them: a compressor's output for the
// same bytes changes from one release of Go to the next.
func zipped(at time.Time, entries ...entry) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Store, Modified: at.UTC().Truncate(2 * time.Second)})
		if err == nil {
			_, err = f.Write(e.content)
		}
		if err != nil {
			panic(fmt.Sprintf("market: %v", err)) // a buffer accepts everything
		}
	}
	if err := w.Close(); err != nil {
		panic(fmt.Sprintf("market: %v", err))
	}
	return b.Bytes()
}

// xlsx returns a workbook with one sheet (ECMA-376), with texts inline in their
// cells and prices as numbers: the minimum that spreadsheet programs open.
func xlsx(sheet string, rows [][]string, at time.Time) []byte {
	const head = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	var b bytes.Buffer
	b.WriteString(head + `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>`)
	for r, row := range rows {
		fmt.Fprintf(&b, `<row r="%d">`, r+1)
		for c, cell := range row {
			ref := string(rune('A'+c)) + strconv.Itoa(r+1)
			switch {
			case cell == "":
			case r > 0 && (exportHead[c] == "price" || exportHead[c] == "shipping"):
				fmt.Fprintf(&b, `<c r="%s"><v>%s</v></c>`, ref, cell)
			default:
				fmt.Fprintf(&b, `<c r="%s" t="inlineStr"><is><t xml:space="preserve">%s</t></is></c>`, ref, escaped(cell))
			}
		}
		b.WriteString(`</row>`)
	}
	b.WriteString(`</sheetData></worksheet>`)
	const rels, docRels = "http://schemas.openxmlformats.org/package/2006/relationships", "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	return zipped(
		at,
		entry{"[Content_Types].xml", []byte(head + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Default Extension="xml" ContentType="application/xml"/>` +
			`<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>` +
			`<Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>`)},
		entry{"_rels/.rels", []byte(head + `<Relationships xmlns="` + rels + `"><Relationship Id="rId1" Type="` + docRels + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`)},
		entry{"xl/workbook.xml", []byte(head + `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="` + docRels + `"><sheets><sheet name="` +
			escaped(sheet) + `" sheetId="1" r:id="rId1"/></sheets></workbook>`)},
		entry{"xl/_rels/workbook.xml.rels", []byte(head + `<Relationships xmlns="` + rels + `"><Relationship Id="rId1" Type="` + docRels + `/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`)},
		entry{"xl/worksheets/sheet1.xml", b.Bytes()},
	)
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder accepts everything
	return b.String()
}
