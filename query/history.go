package query

import (
	"context"
	"path"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Budgets of a read of the history of an order's files: all documents of the
// direction count, whatever the filters (HIST-01a, HIST-01b, LIM-07).
const (
	maxArchiveDocuments = 1_000
	maxNestedFiles      = 10_000
)

// FileEntry is one archived file.
type FileEntry struct {
	Artifact
	Name       string // of the file
	JobName    string // of the export or import; empty: not known
	Filename   string
	ArchivedAt time.Time
}

// ContentType is the media type of the file, by its filename only (ART-02).
func (e *FileEntry) ContentType() string {
	switch strings.ToLower(path.Ext(e.Filename)) {
	case ".csv":
		return "text/csv; charset=utf-8"
	case ".xlsx":
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	case ".zip":
		return "application/zip"
	}
	return "application/octet-stream"
}

// position is where the entry is in the order of the history.
func (e *FileEntry) position() FilePosition {
	return FilePosition{ArchivedMs: e.ArchivedAt.UnixMilli(), Archive: e.Archive, File: e.File}
}

// FilePosition is a position in the history: newest first, then by document and
// index in it.
type FilePosition struct {
	ArchivedMs int64               `json:"t"`
	Archive    contracts.ArchiveID `json:"a"`
	File       int                 `json:"f"`
}

// HistoryRequest requests archived files of an order. The filters combine as an
// intersection. DateFrom and DateTo are dates or RFC 3339, both included, in
// UTC (choices 20).
type HistoryRequest struct {
	Direction        Direction
	OrderID          contracts.OrderID
	Limit            *int   // of History
	Cursor           string // of History
	DateFrom, DateTo string
	ExportName       string // of the export, exactly; empty: any
	Name             string // of the file, exactly; empty: any
	Latest           *bool  // of LatestFile and Download
}

// HistoryEcho is a HistoryRequest as the answer repeats it, with the instants
// that the bounds stand for.
type HistoryEcho struct {
	OrderID    contracts.OrderID `json:"orderId"`
	DateFrom   *string           `json:"dateFrom,omitempty"`
	DateTo     *string           `json:"dateTo,omitempty"`
	ExportName string            `json:"exportName,omitempty"`
	Name       string            `json:"name,omitempty"`
}

// FileEntriesQuery is a query to the store: entries after a position, newest
// first.
type FileEntriesQuery struct {
	FilesOf
	Window           contracts.Window // a zero end is open
	ExportName, Name string           // empty: any
	After            *FilePosition
	Limit            int
}

// FileCount is how many archive documents, and files in them, an order has in a
// direction.
type FileCount struct {
	FilesOf
	Documents, Files int
}

// History lists the archived files of an order, newest first.
func (s *Service) History(ctx context.Context, p Principal, r HistoryRequest) (*Page[FileEntry], error) {
	q, wrong := historyQuery(r)
	said := shownWindow(q.Window)
	q.Window = q.Window.Whole()
	key := func(e FileEntry) FilePosition { return e.position() }
	return list(ctx, s, p, listing[FileEntry, FilePosition]{
		route: string(r.Direction) + "s/history", area: contracts.ReadFiles, limit: r.Limit, cursor: r.Cursor, wrong: wrong,
		query: HistoryEcho{
			OrderID: r.OrderID, DateFrom: formatBound(said.From, time.UTC), DateTo: formatBound(said.To, time.UTC),
			ExportName: r.ExportName, Name: r.Name,
		},
		of: func(ctx context.Context, v Visibility) error {
			if _, err := s.readOrder(ctx, v, r.OrderID); err != nil {
				return err
			}
			return s.checkHistory(ctx, v, q.FilesOf)
		},
		key: key, record: explainedFile,
		read: ahead(key,
			func(ctx context.Context, v Visibility, after FilePosition, limit int) ([]FileEntry, error) {
				if after != (FilePosition{}) {
					q.After = &after
				}
				q.Limit = limit
				return s.store.FileEntries(ctx, v, q)
			}),
	})
}

// LatestFile returns the newest archived file that matches.
func (s *Service) LatestFile(ctx context.Context, p Principal, r HistoryRequest) (*FileEntry, error) {
	if r.Latest != nil && !*r.Latest {
		return nil, invalid("latest: here it may be left out or true, but not false.")
	}
	r.Latest = new(true)
	return s.oneFile(ctx, p, r, false)
}

// oneFile returns the newest match if the request says so, otherwise the only
// one. With content, the caller must be allowed to read what is in it.
func (s *Service) oneFile(ctx context.Context, p Principal, r HistoryRequest, content bool) (_ *FileEntry, err error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	defer func() { err = s.listBudget(ctx, err, 1) }()
	q, err := historyQuery(r)
	if err != nil {
		return nil, err
	}
	v, err := s.orderFiles(ctx, p, r.OrderID)
	if err != nil {
		return nil, err
	}
	if content {
		if err := s.orderContent(ctx, v, r.OrderID); err != nil {
			return nil, err
		}
	}
	q.Window = q.Window.Whole()
	newest := r.Latest != nil && *r.Latest
	if q.Limit = 1; !newest {
		q.Limit = 2
	}
	if err := s.checkHistory(ctx, v, q.FilesOf); err != nil {
		return nil, err
	}
	found, err := s.store.FileEntries(ctx, v, q)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fault.New(fault.NotFound, CodeArtifactNotFound, "No archived file of the order matches.")
	case len(found) > 1:
		return nil, invalid("Several archived files match. Narrow with name%s, dateFrom and dateTo to one of them, or ask for the newest with latest=true.",
			map[Direction]string{Exports: ", exportName"}[r.Direction])
	}
	return &found[0], nil
}

// historyQuery parses a request; its window is as exact as it was written.
func historyQuery(r HistoryRequest) (q FileEntriesQuery, err error) {
	var wrong faults
	q = FileEntriesQuery{FilesOf: FilesOf{r.Direction, r.OrderID}, ExportName: r.ExportName, Name: r.Name}
	if r.DateFrom != "" {
		q.Window.From, err = contracts.ParseLower(r.DateFrom, time.UTC)
		wrong.check(err == nil, "dateFrom: %s.", err)
	}
	if r.DateTo != "" {
		q.Window.To, err = contracts.ParseUpper(r.DateTo, time.UTC)
		wrong.check(err == nil, "dateTo: %s.", err)
	}
	wrong.check(wrong.err != nil || !q.Window.Empty(), "dateFrom: after dateTo.")
	return q, wrong.err
}

// checkHistory refuses an order's history beyond the budgets (HIST-02), before
// any file is looked at.
func (s *Service) checkHistory(ctx context.Context, v Visibility, of FilesOf) error {
	documents, files, err := s.store.CountFiles(ctx, v, of, maxArchiveDocuments+1)
	if err == nil && (FileCount{of, documents, files}).tooBroad() {
		err = historyTooBroad()
	}
	return err
}

// tooBroad reports whether a history exceeds the budgets.
func (n FileCount) tooBroad() bool {
	return n.Documents > maxArchiveDocuments || n.Files > maxNestedFiles
}

func historyTooBroad() *fault.Error {
	return fault.New(fault.Invalid, CodeHistoryTooBroad,
		"The order has more than %d archive documents or more than %d archived files, which is too many to search. Filters do not help; ask whoever manages the order to have old files removed.",
		maxArchiveDocuments, maxNestedFiles)
}
