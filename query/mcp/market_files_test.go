package mcp_test

import (
	"context"
	"slices"

	"preismon/contracts"
	"preismon/query"
)

func (m *market) CountFiles(_ context.Context, _ query.Visibility, of query.FilesOf, _ int) (documents, files int, err error) {
	for _, f := range m.files {
		if f.FilesOf == of {
			documents, files = documents+1, files+1
		}
	}
	return documents, files, nil
}

func (m *market) FileEntries(_ context.Context, v query.Visibility, q query.FileEntriesQuery) (found []query.FileEntry, err error) {
	for _, f := range slices.Backward(m.files) {
		at := query.FilePosition{ArchivedMs: f.ArchivedAt.UnixMilli(), Archive: f.Archive}
		if f.FilesOf == q.FilesOf && f.Mandate == v.Mandate && (q.Name == "" || q.Name == f.Name) && (q.ExportName == "" || q.ExportName == f.JobName) &&
			(q.After == nil || at.ArchivedMs < q.After.ArchivedMs) &&
			!(f.ArchivedAt.Before(q.Window.From) || !q.Window.To.IsZero() && f.ArchivedAt.After(q.Window.To)) && len(found) < q.Limit {
			found = append(found, f)
		}
	}
	return found, nil
}

func (m *market) SeesWholeOrder(context.Context, query.Visibility, contracts.OrderID) (bool, error) {
	return true, nil
}
