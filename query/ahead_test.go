package query_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// door is a shelf whose account changes between reads. The item of its rows is
// the mandate's number, and it records for which mandates rows were read.
type door struct {
	shelf
	access query.Access
	refuse error
	hold   bool // rows of mandate 1 come only when their reader has left
	reads  []contracts.MandateID
	left   []contracts.MandateID // reads that were cancelled
}

func (d *door) Access(context.Context, contracts.AccountID) (*query.Access, error) {
	a := d.access
	return &a, d.refuse
}

func (d *door) Results(ctx context.Context, v query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) error {
	d.reads = append(d.reads, v.Mandate)
	if d.hold && v.Mandate == 1 {
		<-ctx.Done()
		d.left = append(d.left, v.Mandate)
		return ctx.Err()
	}
	row := shelfRow{item: uint64(v.Mandate), site: "a", outcome: contracts.Unavailable}
	return each(blockOf([]shelfRow{row, row}, q.Window.To)) // more rows than the page has
}

// TestPagesReadAheadOfAccess reads a page, changes what the account may see,
// and reads again: the second page shows what the account may see now, and rows
// read ahead under the old access are never returned (VIS-05, AUTH-08).
func TestPagesReadAheadOfAccess(t *testing.T) {
	sees := func(m contracts.MandateID, version uint64, orders ...contracts.OrderID) query.Access {
		return query.Access{Account: 1, Permissions: contracts.Permissions(), Watermark: query.Watermark{Epoch: 1, Seq: 5}, Visibility: query.Visibility{
			Mandate: m, Versions: []uint64{version}, Applied: true,
			Scope: contracts.AccountScope{AllOrders: len(orders) == 0, Orders: orders, AllSites: true},
		}}
	}
	disabled, unpermitted, unapplied, oneSite, changed, behind := sees(1, 1), sees(1, 1), sees(1, 1), sees(1, 1), sees(1, 1), sees(1, 1)
	disabled.Disabled, unpermitted.Permissions, unapplied.Visibility.Applied = true, nil, false
	oneSite.Visibility.Scope.AllSites, oneSite.Visibility.Scope.Sites = false, []contracts.SiteKey{"a"}
	changed.Visibility.Snapshot, behind.Watermark.Seq = 2, 4
	for name, c := range map[string]struct {
		now    query.Access
		refuse error
		hold   bool
		reads  []contracts.MandateID // of the second page
		left   []contracts.MandateID
		kind   fault.Kind
	}{
		"the same":               {now: sees(1, 1), reads: []contracts.MandateID{1}},
		"another mandate":        {now: sees(2, 1), reads: []contracts.MandateID{1, 2}},
		"another mandate, slow":  {now: sees(2, 1), hold: true, reads: []contracts.MandateID{1, 2}, left: []contracts.MandateID{1}},
		"another scope":          {now: sees(1, 2), reads: []contracts.MandateID{1, 1}},
		"a scope not applied":    {now: unapplied, reads: []contracts.MandateID{1, 1}},
		"another catalogue":      {now: changed, reads: []contracts.MandateID{1, 1}},
		"tables behind":          {now: behind, reads: []contracts.MandateID{1}, kind: fault.Unavailable},
		"narrowed to an order":   {now: sees(1, 1, 7), reads: []contracts.MandateID{1, 1}},
		"narrowed to a site":     {now: oneSite, reads: []contracts.MandateID{1, 1}},
		"disabled":               {now: disabled, reads: []contracts.MandateID{1}, kind: fault.Unauthenticated},
		"disabled, slow":         {now: disabled, hold: true, reads: []contracts.MandateID{1}, left: []contracts.MandateID{1}, kind: fault.Unauthenticated},
		"without the permission": {now: unpermitted, reads: []contracts.MandateID{1}, kind: fault.Forbidden},
		"unknown":                {refuse: fault.New(fault.NotFound, "", "no"), reads: []contracts.MandateID{1}, kind: fault.Unauthenticated},
		"out of reach":           {refuse: fault.New(fault.Unavailable, "", "no"), hold: true, reads: []contracts.MandateID{1}, left: []contracts.MandateID{1}, kind: fault.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			d := &door{access: sees(1, 1)}
			service := must.Get(query.New(config(), d, func() time.Time { return time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC) }))(t)
			cursor := ""
			ask := func() (*query.ResultsPage, error) {
				one := 1
				return service.Results(t.Context(), query.Principal{Account: 1}, query.ResultsRequest{Site: "a", Limit: &one, Cursor: cursor})
			}
			first := must.Get(ask())(t)
			cursor = first.Paging.NextCursor
			d.access, d.refuse, d.hold, d.reads = c.now, c.refuse, c.hold, nil
			page, err := ask()
			if fault.KindOf(err) != c.kind || (err == nil) != (page != nil) {
				t.Fatalf("page %v, %v; want kind %v", page, err, c.kind)
			}
			if page != nil {
				want := fmt.Sprintf(`"itemId":"%d"`, c.now.Visibility.Mandate)
				if rows := string(page.Rows.JSON()); page.Rows.Len() != 1 || !strings.Contains(rows, want) {
					t.Errorf("rows %s, want one with %s", rows, want)
				}
			}
			if !slices.Equal(d.reads, c.reads) || !slices.Equal(d.left, c.left) {
				t.Errorf("rows read for mandates %v, broken off for %v; want %v, %v", d.reads, d.left, c.reads, c.left)
			}
			d.hold = false // the account may see now what was remembered
			once := 1
			if c.now.Visibility.Snapshot != 0 {
				once = 0 // so are its rows
			}
			if d.reads = nil; err == nil {
				if _, err := ask(); err != nil || len(d.reads) != once {
					t.Errorf("the page after: %v, rows read for mandates %v", err, d.reads)
				}
			}
		})
	}
}
