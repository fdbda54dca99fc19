package market_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"io"
	"path"
	"testing"

	"github.com/xuri/excelize/v2"

	"preismon/deploy/testserver/must"
	"preismon/ingest/market"
)

func TestArtifacts(t *testing.T) {
	m := newMarket(t, market.Config{Seed: 1, Scale: 0.2})
	c := readCatalog(m)
	again := map[string][]byte{}
	for ref, content := range newMarket(t, market.Config{Seed: 1, Scale: 0.2}).Artifacts() {
		again[ref.ArchiveID.String()+"/"+ref.Filename] = content
	}
	types, files, bytesOf := map[string]int{}, 0, 0
	for ref, content := range m.Artifacts() {
		rec, ok := c.archives[ref.ArchiveID]
		if !ok || rec.MandateID != ref.MandateID || rec.OrderID != ref.OrderID || rec.FileJobID != ref.FileJobID || c.imports[ref.ArchiveID] != ref.Import {
			t.Fatalf("%+v belongs to %+v", ref, rec)
		}
		if c.jobs[ref.FileJobID].OrderID != ref.OrderID || c.orders[ref.OrderID].MandateID != ref.MandateID {
			t.Fatalf("%+v belongs to another order", ref)
		}
		if rec.ArchivedAt.After(now) {
			t.Errorf("archived at %s", rec.ArchivedAt)
		}
		file := rec.Files[ref.Index]
		sum := sha256.Sum256(content)
		if file != ref.ArchivedFile || file.SizeBytes != int64(len(content)) || file.SHA256 != hex.EncodeToString(sum[:]) {
			t.Fatalf("%s: the content is not that of the record", file.Filename)
		}
		if !bytes.Equal(content, again[ref.ArchiveID.String()+"/"+ref.Filename]) {
			t.Fatalf("%s differs in another market of the same seed", file.Filename)
		}
		if !bytes.Contains(content, []byte("simulated")) {
			t.Errorf("%s does not say that it is simulated", file.Filename)
		}
		ext := path.Ext(file.Filename)
		types[ext]++
		files++
		bytesOf += len(content)
		switch ext {
		case ".csv":
			readCSV(t, content)
		case ".xlsx":
			readXLSX(t, content)
		case ".zip":
			z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
			if err != nil || len(z.File) != 3 {
				t.Fatalf("%s: %v", file.Filename, err)
			}
			for _, f := range z.File {
				r := must.Get(f.Open())(t)
				inner := must.Get(io.ReadAll(r))(t) // checks the CRC
				switch path.Ext(f.Name) {
				case ".csv":
					readCSV(t, inner)
				case ".xlsx":
					readXLSX(t, inner)
				}
			}
		}
	}
	records, lost := 0, 0
	for _, a := range c.archives {
		if c.jobs[a.FileJobID].Name == "Archiv verloren" { // the demo of a missing content
			lost += len(a.Files)
			continue
		}
		records += len(a.Files)
	}
	if files != records || lost == 0 {
		t.Errorf("%d artifacts, %d files on record, and %d that are lost", files, records, lost)
	}
	for _, ext := range []string{".csv", ".xlsx", ".zip", ".txt"} {
		if types[ext] == 0 {
			t.Errorf("no file is a %s: %v", ext, types)
		}
	}
	t.Logf("%d files of %d bytes: %v", files, bytesOf, types)
}

func readCSV(t *testing.T, content []byte) [][]string {
	t.Helper()
	r := csv.NewReader(bytes.NewReader(content))
	r.Comma = ';'
	rows, err := r.ReadAll()
	if err != nil || len(rows) < 5 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	return rows
}

// readXLSX opens the workbook with a library that is not ours.
func readXLSX(t *testing.T, content []byte) {
	t.Helper()
	f := must.Get(excelize.OpenReader(bytes.NewReader(content)))(t)
	rows, err := f.GetRows("Preise (simulated)")
	if err != nil || len(rows) < 5 || rows[0][0] != "source" || rows[1][0] != "simulated" || len(rows[0]) != 12 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
}
