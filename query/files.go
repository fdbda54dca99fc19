package query

import (
	"context"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Direction distinguishes exports from imports.
type Direction string

// The directions, as the tables name them.
const (
	Exports Direction = "export"
	Imports Direction = "import"
)

// maxExportCandidates bounds the exports of an order that one request examines
// (EXP-01b, LIM-06).
const maxExportCandidates = 10_000

// FileJob is an export or an import of an order.
type FileJob struct {
	ID             contracts.FileJobID
	Name           string
	LastArchivedAt time.Time // zero: none of its files is archived
}

// FileJobsRequest requests the exports or the imports of an order.
type FileJobsRequest struct {
	Direction Direction
	OrderID   contracts.OrderID
	Limit     *int
	Cursor    string
	Name      string // of the job, exactly; empty: any
}

// FileJobsEcho is a FileJobsRequest as the answer repeats it.
type FileJobsEcho struct {
	OrderID    contracts.OrderID `json:"orderId"`
	ExportName string            `json:"exportName,omitempty"`
	Name       string            `json:"name,omitempty"`
}

// FilesOf identifies the files of one direction of one order.
type FilesOf struct {
	Direction Direction
	OrderID   contracts.OrderID
}

// FileJobsQuery is a query to the store: jobs after an id, by id.
type FileJobsQuery struct {
	FilesOf
	Name    string              // empty: any
	After   contracts.FileJobID // 0: from the first
	Through contracts.FileJobID // the last one to examine; 0: no bound
	Limit   int
}

// FileJobs lists the exports or the imports of an order, by id. Exports are
// candidates that are examined one after the other until the page is complete,
// at most 10,000 per request; imports are first selected by their name
// (IMP-01b, IMP-01c).
func (s *Service) FileJobs(ctx context.Context, p Principal, r FileJobsRequest) (*Page[FileJob], error) {
	q := FileJobsQuery{FilesOf: FilesOf{r.Direction, r.OrderID}, Name: r.Name}
	echo := FileJobsEcho{OrderID: r.OrderID, ExportName: r.Name}
	if r.Direction == Imports {
		echo.ExportName, echo.Name = "", r.Name
	}
	key := func(j FileJob) contracts.FileJobID { return j.ID }
	read := ahead(key,
		func(ctx context.Context, v Visibility, after contracts.FileJobID, limit int) ([]FileJob, error) {
			q.After, q.Limit = after, limit
			return s.store.FileJobs(ctx, v, q)
		})
	l := listing[FileJob, contracts.FileJobID]{
		route: string(r.Direction) + "s", area: contracts.ReadFiles, limit: r.Limit, cursor: r.Cursor, query: echo, of: s.ofOrder(r.OrderID), key: key, read: read,
	}
	if r.Direction == Exports && r.Name != "" { // without a name a page is complete long before
		l.read = func(ctx context.Context, v Visibility, after contracts.FileJobID, limit int) (_ []FileJob, next *contracts.FileJobID, err error) {
			q.After = after
			if q.Through, err = s.store.FileJobsThrough(ctx, v, q, maxExportCandidates); err != nil {
				return nil, nil, err
			}
			found, next, err := read(ctx, v, after, limit)
			if err != nil || next != nil || q.Through == 0 {
				return found, next, err
			}
			if len(found) < limit {
				return nil, nil, fault.New(fault.Invalid, CodeOrderTooBroad,
					"The page is not complete after %d exports of the order. Leave out exportName and follow the pages%s.", maxExportCandidates, unlessOne(limit, ", or lower the limit"))
			}
			return found, &q.Through, nil
		}
	} else {
		l.record = explainedJob
	}
	return list(ctx, s, p, l)
}
