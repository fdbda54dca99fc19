package rest

import (
	"github.com/gin-gonic/gin"

	"preismon/query"
)

// exportRecord and importRecord are a job as callers see it.
type exportRecord struct {
	ExportName     string   `json:"exportName"`
	LastArchivedAt *instant `json:"lastArchivedAt"`
}

type importRecord struct {
	Name           string   `json:"name"`
	LastArchivedAt *instant `json:"lastArchivedAt"`
}

func exportOf(j query.FileJob) exportRecord {
	return exportRecord{j.Name, instantOf(&j.LastArchivedAt)}
}

func importOf(j query.FileJob) importRecord {
	return importRecord{j.Name, instantOf(&j.LastArchivedAt)}
}

// exportEntry and importEntry are an archived file as callers see it.
type exportEntry struct {
	Name        string  `json:"name"`
	ExportName  string  `json:"exportName"` // empty when the export is not known
	Filename    string  `json:"filename"`
	ContentType string  `json:"contentType"`
	SizeBytes   int64   `json:"sizeBytes"`
	ArchivedAt  instant `json:"archivedAt"`
}

type importEntry struct {
	Name        string  `json:"name"`
	Filename    string  `json:"filename"`
	ContentType string  `json:"contentType"`
	SizeBytes   int64   `json:"sizeBytes"`
	ArchivedAt  instant `json:"archivedAt"`
}

func exportEntryOf(e query.FileEntry) exportEntry {
	return exportEntry{
		Name: e.Name, ExportName: e.JobName, Filename: e.Filename, ContentType: e.ContentType(), SizeBytes: e.SizeBytes,
		ArchivedAt: instant(e.ArchivedAt),
	}
}

func importEntryOf(e query.FileEntry) importEntry {
	return importEntry{
		Name: e.Name, Filename: e.Filename, ContentType: e.ContentType(), SizeBytes: e.SizeBytes, ArchivedAt: instant(e.ArchivedAt),
	}
}

func (a *api) fileJobs(d query.Direction) reader {
	return func(c *gin.Context, p query.Principal) error {
		in := parseParams(c.Request.URL.RawQuery)
		req := query.FileJobsRequest{Direction: d, OrderID: orderIDOf(c), Limit: in.limit(), Cursor: in.cursor()}
		if d == query.Exports {
			req.Name = in.text("exportName")
		} else {
			req.Name = in.text("name")
		}
		if err := in.err(); err != nil {
			return err
		}
		page, err := a.service.FileJobs(c.Request.Context(), p, req)
		if err != nil {
			return err
		}
		if d == query.Exports {
			return a.writeJSON(c, shown(page, exportOf))
		}
		return a.writeJSON(c, shown(page, importOf))
	}
}

// historyFilters takes the parameters that all reads of a history have.
func historyFilters(c *gin.Context, in *params, d query.Direction) query.HistoryRequest {
	req := query.HistoryRequest{
		Direction: d, OrderID: orderIDOf(c), DateFrom: in.text("dateFrom"), DateTo: in.text("dateTo"), Name: in.text("name"),
	}
	if d == query.Exports {
		req.ExportName = in.text("exportName")
	}
	return req
}

func (a *api) history(d query.Direction) reader {
	return func(c *gin.Context, p query.Principal) error {
		in := parseParams(c.Request.URL.RawQuery)
		req := historyFilters(c, in, d)
		req.Limit, req.Cursor = in.limit(), in.cursor()
		if err := in.err(); err != nil {
			return err
		}
		page, err := a.service.History(c.Request.Context(), p, req)
		if err != nil {
			return err
		}
		if d == query.Exports {
			return a.writeJSON(c, shown(page, exportEntryOf))
		}
		return a.writeJSON(c, shown(page, importEntryOf))
	}
}

func (a *api) latestFile(d query.Direction) reader {
	return func(c *gin.Context, p query.Principal) error {
		in := parseParams(c.Request.URL.RawQuery)
		req := historyFilters(c, in, d)
		req.Latest = in.choice("latest")
		if err := in.err(); err != nil {
			return err
		}
		entry, err := a.service.LatestFile(c.Request.Context(), p, req)
		if err != nil {
			return err
		}
		if d == query.Exports {
			return a.writeJSON(c, exportEntryOf(*entry))
		}
		return a.writeJSON(c, importEntryOf(*entry))
	}
}
