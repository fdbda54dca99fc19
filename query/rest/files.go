package rest

import (
	"time"

	"github.com/gin-gonic/gin"

	"preismon/contracts"
	"preismon/query"
)

// instant is how times of records are written.
const instant = "2006-01-02T15:04:05.000Z07:00"

// pathOrder takes the order of a path. A text that is no id is an order that
// does not exist (ERR-06).
func pathOrder(c *gin.Context) contracts.OrderID {
	order, err := contracts.ParseID[contracts.OrderID](c.Param("orderId"))
	if err != nil {
		return 0
	}
	return order
}

// exportRecord and importRecord are a job as callers see it.
type exportRecord struct {
	ExportName     string  `json:"exportName"`
	LastArchivedAt *string `json:"lastArchivedAt"`
}

type importRecord struct {
	Name           string  `json:"name"`
	LastArchivedAt *string `json:"lastArchivedAt"`
}

func exportOf(j query.FileJob) exportRecord {
	return exportRecord{j.Name, instantOrNull(j.LastArchivedAt)}
}

func importOf(j query.FileJob) importRecord {
	return importRecord{j.Name, instantOrNull(j.LastArchivedAt)}
}

func instantOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(instant)
	return &text
}

// exportEntry and importEntry are an archived file as callers see it.
type exportEntry struct {
	Name        string `json:"name"`
	ExportName  string `json:"exportName"` // empty when the export is not known
	Filename    string `json:"filename"`
	ContentType string `json:"contentType"`
	SizeBytes   int64  `json:"sizeBytes"`
	ArchivedAt  string `json:"archivedAt"`
}

type importEntry struct {
	Name        string `json:"name"`
	Filename    string `json:"filename"`
	ContentType string `json:"contentType"`
	SizeBytes   int64  `json:"sizeBytes"`
	ArchivedAt  string `json:"archivedAt"`
}

func exportEntryOf(e query.FileEntry) exportEntry {
	return exportEntry{
		Name: e.Name, ExportName: e.JobName, Filename: e.Filename, ContentType: e.ContentType(), SizeBytes: e.SizeBytes,
		ArchivedAt: e.ArchivedAt.UTC().Format(instant),
	}
}

func importEntryOf(e query.FileEntry) importEntry {
	return importEntry{
		Name: e.Name, Filename: e.Filename, ContentType: e.ContentType(), SizeBytes: e.SizeBytes, ArchivedAt: e.ArchivedAt.UTC().Format(instant),
	}
}

func (a *api) fileJobs(d query.Direction) reader {
	return func(c *gin.Context, p query.Principal) error {
		in := parseParams(c.Request.URL.RawQuery)
		req := query.FileJobsRequest{Direction: d, OrderID: pathOrder(c), Limit: in.limit(), Cursor: in.cursor()}
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
		Direction: d, OrderID: pathOrder(c), DateFrom: in.text("dateFrom"), DateTo: in.text("dateTo"), Name: in.text("name"),
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
