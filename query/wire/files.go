package wire

import (
	"context"

	"preismon/query"
)

// jobRecord is an export or an import as callers see it.
type jobRecord struct {
	ExportName     *string  `json:"exportName,omitempty"`
	Name           *string  `json:"name,omitempty"`
	LastArchivedAt *instant `json:"lastArchivedAt"`
}

// fileRecord is an archived file as callers see it.
type fileRecord struct {
	Name        string  `json:"name"`
	ExportName  *string `json:"exportName,omitempty"` // of an export; empty if it is not known
	Filename    string  `json:"filename"`
	ContentType string  `json:"contentType"`
	SizeBytes   int64   `json:"sizeBytes"`
	ArchivedAt  instant `json:"archivedAt"`
}

// FileRecord returns an archived file as callers see it.
func FileRecord(e query.FileEntry) any {
	r := fileRecord{
		Name: e.Name, Filename: e.Filename, ContentType: e.ContentType(), SizeBytes: e.SizeBytes, ArchivedAt: instant(e.ArchivedAt),
	}
	if e.Direction == query.Exports {
		r.ExportName = &e.JobName
	}
	return r
}

// FileJobs lists the exports or the imports of an order.
func FileJobs(d query.Direction) Operation {
	return func(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
		req := query.FileJobsRequest{Direction: d, OrderID: in.orderID(), Limit: in.limit(), Cursor: in.cursor()}
		if d == query.Exports {
			req.Name = in.text("exportName")
			return list(ctx, p, in, req, s.FileJobs, func(j query.FileJob) jobRecord {
				return jobRecord{ExportName: &j.Name, LastArchivedAt: instantOf(&j.LastArchivedAt)}
			})
		}
		req.Name = in.text("name")
		return list(ctx, p, in, req, s.FileJobs, func(j query.FileJob) jobRecord {
			return jobRecord{Name: &j.Name, LastArchivedAt: instantOf(&j.LastArchivedAt)}
		})
	}
}

// historyFilters reads the parameters that all reads of a history have.
func historyFilters(in *Params, d query.Direction) query.HistoryRequest {
	req := query.HistoryRequest{
		Direction: d, OrderID: in.orderID(), DateFrom: in.text("dateFrom"), DateTo: in.text("dateTo"), Name: in.text("name"),
	}
	if d == query.Exports {
		req.ExportName = in.text("exportName")
	}
	return req
}

// downloadFilters reads those of a read of one file.
func downloadFilters(in *Params, d query.Direction) query.HistoryRequest {
	req := historyFilters(in, d)
	req.Latest = in.choice("latest")
	return req
}

// History lists archived files of an order, newest first.
func History(d query.Direction) Operation {
	return func(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
		req := historyFilters(in, d)
		req.Limit, req.Cursor = in.limit(), in.cursor()
		return list(ctx, p, in, req, s.History, FileRecord)
	}
}

// LatestFile returns the newest archived file of an order.
func LatestFile(d query.Direction) Operation {
	return func(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
		req := downloadFilters(in, d)
		if err := in.refused(req); err != nil {
			return nil, err
		}
		entry, err := s.LatestFile(ctx, p, req)
		if err != nil {
			return nil, err
		}
		return FileRecord(*entry), nil
	}
}

// DecodeDownload reads the parameters of a download.
func DecodeDownload(in *Params, d query.Direction) (query.HistoryRequest, error) {
	req := downloadFilters(in, d)
	return req, in.Err()
}

// FilePart is how much of a file an answer shows. The zero value leaves it to
// the surface.
type FilePart struct {
	Whole    bool
	From, To int // lines, counted from 1, both included; 0: not given
}

// DecodeFilePart reads the parameters of a download and the requested part of
// the file.
func DecodeFilePart(in *Params, d query.Direction) (query.HistoryRequest, FilePart, error) {
	req := downloadFilters(in, d)
	part := FilePart{Whole: in.flag("whole")}
	part.From, part.To = in.lines("lines")
	if part.Whole && part.From > 0 {
		in.fault("lines: whole asks for all of them.")
	}
	return req, part, in.Err()
}
