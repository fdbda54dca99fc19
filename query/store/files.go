package store

import (
	"context"
	"time"

	"preismon/contracts"
	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// filesOf binds what the queries about an order's files have in common.
func filesOf(v query.Visibility, of query.FilesOf) (params, scope) {
	p, sc := visible(v, query.Selectors{Order: of.OrderID})
	p.text("direction", string(of.Direction))
	return p, sc
}

// SeesWholeOrder implements query.Store.
func (s *Store) SeesWholeOrder(ctx context.Context, v query.Visibility, order contracts.OrderID) (whole bool, err error) {
	err = row(ctx, s, seesWholeOrder(v, order), &whole)
	return whole, err
}

func seesWholeOrder(v query.Visibility, order contracts.OrderID) statement {
	p, sc := visible(v, query.Selectors{})
	p.uint("held", uint64(order))
	return render("sees_whole_order.sql", sc, p)
}

// FileJobsThrough implements query.Store.
func (s *Store) FileJobsThrough(ctx context.Context, v query.Visibility, q query.FileJobsQuery, n int) (id contracts.FileJobID, err error) {
	err = row(ctx, s, fileJobsThrough(v, q, n), (*uint64)(&id))
	return id, err
}

func fileJobsThrough(v query.Visibility, q query.FileJobsQuery, n int) statement {
	p, sc := filesOf(v, q.FilesOf)
	p.uint("after", uint64(q.After))
	p.uint("n", uint64(n))
	return render("file_jobs_through.sql", sc, p)
}

// FileJobs implements query.Store.
func (s *Store) FileJobs(ctx context.Context, v query.Visibility, q query.FileJobsQuery) ([]query.FileJob, error) {
	return rows(ctx, s, fileJobs(v, q), func(r driver.Rows) (j query.FileJob, err error) {
		var newest *time.Time
		if err = r.Scan((*uint64)(&j.ID), &j.Name, &newest); newest != nil {
			j.LastArchivedAt = *newest
		}
		return j, err
	})
}

func fileJobs(v query.Visibility, q query.FileJobsQuery) statement {
	p, sc := filesOf(v, q.FilesOf)
	data := struct {
		scope
		Through, Name bool
	}{sc, q.Through != 0, q.Name != ""}
	p.uint("after", uint64(q.After))
	if data.Through {
		p.uint("through", uint64(q.Through))
	}
	if data.Name {
		p.text("name", q.Name)
	}
	p.uint("limit", uint64(q.Limit))
	return render("file_jobs.sql", data, p)
}

// CountFiles implements query.Store.
func (s *Store) CountFiles(ctx context.Context, v query.Visibility, of query.FilesOf, most int) (documents, files int, err error) {
	var d, f uint64
	err = row(ctx, s, countFiles(v, of, most), &d, &f)
	return int(d), int(f), err
}

func countFiles(v query.Visibility, of query.FilesOf, most int) statement {
	p, sc := filesOf(v, of)
	p.uint("most", uint64(most))
	return render("count_files.sql", sc, p)
}

// CountFilesOf implements query.Store.
func (s *Store) CountFilesOf(ctx context.Context, v query.Visibility, orders []contracts.OrderID, most int) ([]query.FileCount, error) {
	return rows(ctx, s, countFilesOf(v, orders, most), func(r driver.Rows) (c query.FileCount, err error) {
		var documents, files uint64
		err = r.Scan((*string)(&c.Direction), (*uint64)(&c.OrderID), &documents, &files)
		c.Documents, c.Files = int(documents), int(files)
		return c, err
	})
}

func countFilesOf(v query.Visibility, orders []contracts.OrderID, most int) statement {
	p, sc := ofOrders(v, orders, "")
	p.uint("most", uint64(most))
	return render("count_files.sql", sc, p)
}

// FileEntries implements query.Store.
func (s *Store) FileEntries(ctx context.Context, v query.Visibility, q query.FileEntriesQuery) ([]query.FileEntry, error) {
	return rows(ctx, s, fileEntries(v, q), func(r driver.Rows) (query.FileEntry, error) {
		e, err := scanFile(r, v)
		e.FilesOf = q.FilesOf
		return e, err
	})
}

// NewestFiles implements query.Store.
func (s *Store) NewestFiles(ctx context.Context, v query.Visibility, orders []contracts.OrderID, each, limit int) ([]query.FileEntry, error) {
	return rows(ctx, s, newestFiles(v, orders, each, limit), func(r driver.Rows) (query.FileEntry, error) {
		var of query.FilesOf
		e, err := scanFile(r, v, (*string)(&of.Direction), (*uint64)(&of.OrderID))
		e.FilesOf = of
		return e, err
	})
}

// scanFile reads a file from the columns that follow before.
func scanFile(r driver.Rows, v query.Visibility, before ...any) (e query.FileEntry, err error) {
	var position uint32
	err = r.Scan(append(before, (*uint64)(&e.Archive), &position, &e.ArchivedAt, &e.Name, &e.Filename, &e.SizeBytes, &e.SHA256, &e.JobName)...)
	e.Mandate, e.File = v.Mandate, int(position)-1
	return e, err
}

// entriesShape is what file_entries.sql depends on.
type entriesShape struct {
	scope
	From, To, Name, ExportName, After bool
}

func newestFiles(v query.Visibility, orders []contracts.OrderID, each, limit int) statement {
	p, sc := ofOrders(v, orders, "")
	p.uint("each", uint64(each))
	p.uint("limit", uint64(limit))
	return render("file_entries.sql", entriesShape{scope: sc}, p)
}

func fileEntries(v query.Visibility, q query.FileEntriesQuery) statement {
	p, sc := filesOf(v, q.FilesOf)
	data := entriesShape{sc, !q.Window.From.IsZero(), !q.Window.To.IsZero(), q.Name != "", q.ExportName != "", q.After != nil}
	if data.From {
		p.int("from_ms", q.Window.From.UnixMilli())
	}
	if data.To {
		p.int("to_ms", q.Window.To.UnixMilli())
	}
	if data.Name {
		p.text("name", q.Name)
	}
	if data.ExportName {
		p.text("export_name", q.ExportName)
	}
	if data.After {
		p.int("after_ms", q.After.ArchivedMs)
		p.uint("after_archive", uint64(q.After.Archive))
		p.uint("after_place", uint64(q.After.File)+1)
	}
	p.uint("limit", uint64(q.Limit))
	return render("file_entries.sql", data, p)
}
