package store

import (
	"testing"
	"time"

	"preismon/contracts"
	"preismon/query"
)

// TestFileStatements shows the SQL and the values of reads of exports, imports
// and their history.
func TestFileStatements(t *testing.T) {
	whole := query.Visibility{Mandate: 7, Versions: []uint64{3}, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
	narrow := query.Visibility{Mandate: 7, Versions: []uint64{3}, Scope: contracts.AccountScope{Orders: []contracts.OrderID{1, 2}, AllSites: true}}
	exports, imports := query.FilesOf{Direction: query.Exports, OrderID: 2}, query.FilesOf{Direction: query.Imports, OrderID: 2}
	someSites := query.Visibility{Mandate: 7, Versions: []uint64{3}, Scope: contracts.AccountScope{AllOrders: true, Sites: []contracts.SiteKey{"a.example"}}}
	day := contracts.Window{From: time.UnixMilli(1_000_000), To: time.UnixMilli(2_000_000)}
	for name, st := range map[string]statement{
		"file_jobs":            fileJobs(whole, query.FileJobsQuery{FilesOf: imports, Limit: 101}),
		"file_jobs_named":      fileJobs(narrow, query.FileJobsQuery{FilesOf: exports, Name: "it's\t\\", After: 5, Through: 99, Limit: 101}),
		"file_jobs_through":    fileJobsThrough(narrow, query.FileJobsQuery{FilesOf: exports, After: 5}, 10_000),
		"sees_whole_order":     seesWholeOrder(someSites, 2),
		"count_files":          countFiles(narrow, exports, 1_001),
		"count_files_of":       countFilesOf(narrow, []contracts.OrderID{2, 1}, 1_001),
		"newest_files":         newestFiles(narrow, []contracts.OrderID{2, 1}, 5, 10_001),
		"file_entries":         fileEntries(whole, query.FileEntriesQuery{FilesOf: imports, Limit: 1}),
		"file_entries_filters": fileEntries(narrow, query.FileEntriesQuery{FilesOf: exports, Window: day, ExportName: "E", Name: "it's\t\\", After: &query.FilePosition{ArchivedMs: 1_500_000, Archive: 8, File: 0}, Limit: 101}),
	} {
		t.Run(name, func(t *testing.T) { goldenStatement(t, name, st) })
	}
}
