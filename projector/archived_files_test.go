package projector_test

import (
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/projector"
)

// TestArchivedFiles: every file of the catalogue is returned exactly once,
// in order, over any number of pages; of a record that was sent again, the
// files of the newest version are returned.
func TestArchivedFiles(t *testing.T) {
	w := newWorld(t)
	var want []projector.ArchivedFile
	add := func(m contracts.MandateID, imported bool, o contracts.OrderID, id contracts.ArchiveID, n int, hash string) *event.Batch {
		d := &contracts.FileArchive{ArchiveID: id, FileJobID: 4, MandateID: m, OrderID: o, ArchivedAt: start}
		for i := range n {
			d.Files = append(d.Files, contracts.ArchivedFile{Name: "n", Filename: "f.csv", SizeBytes: int64(i), SHA256: hash})
			want = append(want, projector.ArchivedFile{Mandate: m, Import: imported, Order: o, Archive: id, File: i, Filename: "f.csv", SizeBytes: int64(i), SHA256: hash})
		}
		b := w.catalog(d)
		if b.Messages[0].Event.Kind = event.KindExportArchive; imported {
			b.Messages[0].Event.Kind = event.KindImportArchive
		}
		return b
	}
	old, newer := strings.Repeat("0", 64), strings.Repeat("a", 64)
	w.apply(add(1, false, 2, 9, 700, old))
	want = want[:0]
	w.apply(add(1, false, 2, 9, 600, newer))
	w.apply(add(1, false, 2, 10, 1, newer))
	w.apply(add(1, false, 3, 1, 700, newer))
	w.apply(add(1, true, 2, 9, 701, newer))
	w.apply(add(2, false, 1, 1, 0, newer))
	w.apply(add(2, false, 1, 2, 2000, newer))
	files := projector.ArchivedFiles{Conn: w.conn, StatementTimeout: time.Minute}
	var got []projector.ArchivedFile
	for f, err := range files.All(t.Context()) {
		must.Do(t, err)
		got = append(got, f)
	}
	equals.Slices(t, want, got, "%d files, want %d", len(got), len(want))
	bytes := uint64(0)
	for _, f := range want {
		bytes += uint64(f.SizeBytes)
	}
	if n, size, err := files.Total(t.Context()); err != nil || n != uint64(len(want)) || size != bytes {
		t.Errorf("%d files with %d bytes, %v", n, size, err)
	}
}
