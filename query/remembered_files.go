package query

import (
	"context"

	"preismon/contracts"
)

// Files and memberships are records of the catalogue: they change only with the
// snapshot.

// Memberships implements Store, as do all methods below.
func (r *remembering) Memberships(ctx context.Context, v Visibility, orders []contracts.OrderID, items []contracts.ItemID) (map[contracts.OrderID]map[contracts.ItemID]contracts.Membership, error) {
	question := []any{orders, items}
	return recall(ctx, r, "memberships", v, question, func(ctx context.Context) (map[contracts.OrderID]map[contracts.ItemID]contracts.Membership, error) {
		return r.Store.Memberships(ctx, v, orders, items)
	})
}

func (r *remembering) FileJobs(ctx context.Context, v Visibility, q FileJobsQuery) ([]FileJob, error) {
	return recall(ctx, r, "file jobs", v, q, func(ctx context.Context) ([]FileJob, error) { return r.Store.FileJobs(ctx, v, q) })
}

type filesAtMost struct {
	FilesOf
	Most int
}

func (r *remembering) CountFiles(ctx context.Context, v Visibility, of FilesOf, most int) (documents, files int, err error) {
	found, err := recall(ctx, r, "count of files", v, filesAtMost{of, most}, func(ctx context.Context) (c FileCount, err error) {
		c.Documents, c.Files, err = r.Store.CountFiles(ctx, v, of, most)
		return c, err
	})
	return found.Documents, found.Files, err
}

func (r *remembering) FileEntries(ctx context.Context, v Visibility, q FileEntriesQuery) ([]FileEntry, error) {
	asked := q
	window := cutWindow(&asked.Window)
	return recall(ctx, r, "file entries", v, []any{asked, window}, func(ctx context.Context) ([]FileEntry, error) { return r.Store.FileEntries(ctx, v, q) })
}
