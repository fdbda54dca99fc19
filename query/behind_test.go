package query_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// restored is a store whose tables, after a restore, hold only the rows up to a
// watermark. Row n is of item n.
type restored struct {
	shelf
	access query.Access
}

func (r *restored) restore(reached uint64, snapshot query.Snapshot) {
	r.access.Watermark.Seq, r.access.Visibility.Snapshot = reached, snapshot
}

func (r *restored) Access(context.Context, contracts.AccountID) (*query.Access, error) {
	a := r.access
	return &a, nil
}

func (r *restored) Results(_ context.Context, _ query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) error {
	var rows []shelfRow
	for n := uint64(1); n <= min(q.Watermark.Seq, r.access.Watermark.Seq); n++ {
		if q.After == nil || contracts.ItemID(n) > q.After.Item {
			rows = append(rows, shelfRow{item: n, site: "a", outcome: contracts.Unavailable})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return each(blockOf(rows, noon.Add(-time.Hour)))
}

var noon = time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)

// TestACursorIsNotContinuedOnTablesBehindIt: while the tables catch up after a
// restore, a walk that had gone further is refused; then it goes on, and nothing
// that was read in the meantime is taken for complete.
func TestACursorIsNotContinuedOnTablesBehindIt(t *testing.T) {
	r := &restored{access: sees(1, true)}
	r.restore(3, 1)
	service := must.Get(query.New(config(), r, func() time.Time { return noon }))(t)
	one := 1
	read := query.ResultsRequest{Site: "a", Limit: &one}
	ask := func() (*query.ResultsPage, error) {
		return service.Results(t.Context(), query.Principal{Account: 1}, read)
	}
	first := must.Get(ask())(t)
	if first.Paging.NextCursor == "" {
		t.Fatalf("%+v", first)
	}
	walk := read
	walk.Cursor = first.Paging.NextCursor
	refused := func(when string) {
		t.Helper()
		read = walk
		_, err := ask()
		read.Limit = nil
		streams := service.StreamResults(t.Context(), query.Principal{Account: 1}, read, &taken{})
		for _, err := range []error{err, streams} {
			if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "behind the cursor") {
				t.Errorf("%s: %v", when, err)
			}
		}
	}
	r.restore(1, 2)
	refused("after the restore")
	read = query.ResultsRequest{Site: "a", Limit: &one}
	must.Get(ask())(t)
	refused("after a first page")
	r.restore(3, 2)
	read = walk
	page := must.Get(ask())(t)
	if rows := string(page.Rows.JSON()); !strings.Contains(rows, `"itemId":"2"`) || page.Paging.NextCursor == "" {
		t.Errorf("afterwards: %s, next %q", rows, page.Paging.NextCursor)
	}
}
