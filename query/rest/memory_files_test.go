package rest_test

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"preismon/archive"
	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query"
)

// What the store in memory knows of files: order 5 has one job in each
// direction; of its archived files, one has its content, one has lost it, and
// one is too large.

var (
	heldContent = []byte("item;price\n11;9.99\n")
	heldFiles   = []query.FileEntry{
		memoryFile(1, "held", int64(len(heldContent)), archive.RefOf(archive.Key{}, heldContent).SHA256),
		memoryFile(2, "lost", 9, strings.Repeat("0", 64)),
		memoryFile(3, "huge", 1<<40, strings.Repeat("1", 64)),
	}
)

func memoryFile(id contracts.ArchiveID, name string, size int64, sum string) query.FileEntry {
	return query.FileEntry{
		Artifact: query.Artifact{Mandate: 1, Archive: id, SizeBytes: size, SHA256: sum},
		Name:     name, JobName: "Daily", Filename: name + ".csv", ArchivedAt: time.Date(2026, 3, 1, 5, 0, int(id), 0, time.UTC),
	}
}

func (m *memory) SeesWholeOrder(context.Context, query.Visibility, contracts.OrderID) (bool, error) {
	return true, m.ask("SeesWholeOrder")
}

func (m *memory) FileJobsThrough(context.Context, query.Visibility, query.FileJobsQuery, int) (contracts.FileJobID, error) {
	return 0, m.ask("FileJobsThrough")
}

func (m *memory) FileJobs(_ context.Context, _ query.Visibility, q query.FileJobsQuery) (found []query.FileJob, err error) {
	if q.OrderID == 5 && q.After < 1 && (q.Name == "" || q.Name == "Daily") {
		found = []query.FileJob{{ID: 1, Name: "Daily", LastArchivedAt: heldFiles[2].ArchivedAt}}
	}
	return found, m.ask("FileJobs")
}

func (m *memory) CountFiles(context.Context, query.Visibility, query.FilesOf, int) (documents, files int, err error) {
	return len(heldFiles), len(heldFiles), m.ask("CountFiles")
}

func (m *memory) CountFilesOf(_ context.Context, _ query.Visibility, orders []contracts.OrderID, _ int) (counts []query.FileCount, err error) {
	if slices.Contains(orders, 5) {
		for _, d := range []query.Direction{query.Exports, query.Imports} {
			counts = append(counts, query.FileCount{FilesOf: query.FilesOf{Direction: d, OrderID: 5}, Documents: len(heldFiles), Files: len(heldFiles)})
		}
	}
	return counts, m.ask("CountFilesOf")
}

func (m *memory) NewestFiles(_ context.Context, _ query.Visibility, orders []contracts.OrderID, each, limit int) (found []query.FileEntry, err error) {
	for _, f := range slices.Backward(heldFiles) {
		for _, d := range []query.Direction{query.Exports, query.Imports} {
			f.FilesOf = query.FilesOf{Direction: d, OrderID: 5}
			if slices.Contains(orders, 5) && len(found) < min(limit, 2*each) {
				found = append(found, f)
			}
		}
	}
	return found, m.ask("NewestFiles")
}

func (m *memory) FileEntries(_ context.Context, _ query.Visibility, q query.FileEntriesQuery) (found []query.FileEntry, err error) {
	for _, f := range slices.Backward(heldFiles) {
		if q.OrderID == 5 && (q.Name == "" || q.Name == f.Name) && q.After == nil && len(found) < q.Limit {
			f.FilesOf = q.FilesOf
			found = append(found, f)
		}
	}
	return found, m.ask("FileEntries")
}

// memoryArchive holds the content of the first of heldFiles.
type memoryArchive struct{}

func (memoryArchive) Open(_ context.Context, a query.Artifact, offset int64) (io.ReadCloser, error) {
	if a.Archive != heldFiles[0].Archive {
		return nil, fault.New(fault.NotFound, "", "no such content")
	}
	return io.NopCloser(bytes.NewReader(heldContent[offset:])), nil
}
