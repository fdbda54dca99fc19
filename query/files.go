package query

import (
	"context"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Direction tells exports from imports.
type Direction string

// The directions, as the tables name them.
const (
	Exports Direction = "export"
	Imports Direction = "import"
)

// maxExportCandidates bounds the exports of an order that one request looks
// at (EXP-01b, LIM-06).
const maxExportCandidates = 10_000

// FileJob is an export or an import of an order.
type FileJob struct {
	ID             contracts.FileJobID
	Name           string
	LastArchivedAt time.Time // zero: none of its files was archived
}

// FileJobsRequest asks for the exports or the imports of an order.
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

// FilesOf names the files of one direction of one order.
type FilesOf struct {
	Direction Direction
	OrderID   contracts.OrderID
}

// FileJobsQuery is what the store is asked: jobs after an id, by id.
type FileJobsQuery struct {
	FilesOf
	Name    string              // empty: any
	After   contracts.FileJobID // 0: from the first
	Through contracts.FileJobID // the last one to look at; 0: no bound
	Limit   int
}

// FileJobs lists the exports or the imports of an order, by id. Exports are
// candidates that are looked at one after the other until the page is
// complete, at most 10,000 a request; imports are chosen by their name first
// (IMP-01b, IMP-01c).
func (s *Service) FileJobs(ctx context.Context, p Principal, r FileJobsRequest) (_ *Page[FileJob], err error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	limit, err := pageLimit(r.Limit, MaxLimit)
	if err != nil {
		return nil, err
	}
	defer func() { err = s.lateList(ctx, err, limit) }()
	giveBack, err := s.chargeList(ctx, limit)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	v, err := s.orderFiles(ctx, p, r.OrderID)
	if err != nil {
		return nil, err
	}
	q := FileJobsQuery{FilesOf: FilesOf{r.Direction, r.OrderID}, Name: r.Name, Limit: limit + 1}
	echo := FileJobsEcho{OrderID: r.OrderID, ExportName: r.Name}
	if r.Direction == Imports {
		echo.ExportName, echo.Name = "", r.Name
	}
	bound := binding{Account: p.Account, Route: string(r.Direction) + "s", Query: echo}
	if r.Cursor != "" {
		if err := s.seal.openCursor(bound, r.Cursor, &q.After); err != nil {
			return nil, err
		}
	}
	if r.Direction == Exports && r.Name != "" { // without a name a page is complete long before
		if q.Through, err = s.store.FileJobsThrough(ctx, v, q, maxExportCandidates); err != nil {
			return nil, err
		}
	}
	found, err := s.store.FileJobs(ctx, v, q)
	if err != nil {
		return nil, err
	}
	page := &Page[FileJob]{Data: []FileJob{}, Paging: Paging{Limit: limit}, Query: echo}
	next := contracts.FileJobID(0)
	switch {
	case len(found) > limit:
		found = found[:limit]
		next = found[limit-1].ID
	case q.Through != 0 && len(found) < limit:
		return nil, fault.New(fault.Invalid, CodeOrderTooBroad,
			"The page is not complete after %d exports of the order. Leave out exportName and follow the pages%s.", maxExportCandidates, unlessOne(limit, ", or lower the limit"))
	case q.Through != 0:
		next = q.Through
	}
	if next != 0 {
		if page.Paging.NextCursor, err = s.seal.sealCursor(bound, next); err != nil {
			return nil, err
		}
	}
	page.Data = append(page.Data, found...)
	page.Paging.Returned = len(found)
	return page, nil
}
