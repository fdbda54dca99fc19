package query_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/alert"
)

// crowded is a store whose items all have a long past at sequence 1, and a lower
// price at the sequence that is their id.
type crowded struct {
	clerk
	access query.Access
	past   *query.Block // of whichever item
	most   int          // rows that were passed in one read
}

func (s *crowded) Access(context.Context, contracts.AccountID) (*query.Access, error) {
	a := s.access
	return &a, nil
}

func (s *crowded) Feed(_ context.Context, _ query.Visibility, q *query.FeedQuery, each func(*query.Block) error) error {
	var rows []shelfRow
	for n := q.After.Seq + 1; n <= q.Rows.Watermark.Seq && len(rows) < q.Limit; n++ {
		rows = append(rows, cheap(n))
	}
	if len(rows) == 0 {
		return nil
	}
	return each(atSequences(rows))
}

func cheap(item uint64) shelfRow { return shelfRow{item, "a", contracts.PriceObserved, "EUR", 500} }

// atSequences is a block of one capture for each item.
func atSequences(rows []shelfRow) *query.Block {
	b := blockOf(rows, noon)
	copy(b.Seq, b.Item)
	return b
}

func (s *crowded) Results(_ context.Context, _ query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) error {
	passed := 0
	defer func() { s.most = max(s.most, passed) }()
	for _, id := range strings.Split(strings.Trim(string(q.Selectors.Items), "[]"), ",") {
		item, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			return err
		}
		for i := range s.past.Item {
			s.past.Item[i] = item
		}
		passed += s.past.Len
		if err := each(s.past); err != nil {
			return err
		}
		if err := each(atSequences([]shelfRow{cheap(item)})); err != nil {
			return err
		}
	}
	return nil
}

// pastOf is a block of so many captures at a higher price.
func pastOf(captures int) *query.Block {
	rows := make([]shelfRow, captures)
	for i := range rows {
		rows[i] = cheap(0)
		rows[i].price = 1000
	}
	b := blockOf(rows, noon.Add(-time.Hour))
	for i := range b.Capture {
		b.Capture[i] = uint16(i)
	}
	return b
}

// TestAlertsOfALongPast: a page of alerts whose pairs have too many past captures
// ends earlier, so that the feed goes on, with each alert once; only a single
// capture may have too many.
func TestAlertsOfALongPast(t *testing.T) {
	for _, c := range []struct{ past, limit, pages int }{
		{past: 10, limit: 4, pages: 2},
		{past: 25_000, limit: 4, pages: 8},  // one at a time: 41,600 are read
		{past: 50_000, limit: 4, pages: 0},  // more than are read
		{past: 25_000, limit: 30, pages: 5}, // 52,000: two at a time, or one
	} {
		s := &crowded{access: sees(1, true), past: pastOf(c.past)}
		s.access.Visibility.Snapshot = 1
		service := must.Get(query.New(config(), s, func() time.Time { return noon }))(t)
		next := query.FeedRequest{Alerts: true, Lines: true, Limit: &c.limit, Rule: &alert.Rule{Kind: alert.PriceBelow, Price: 600, Currency: "EUR", Confirm: 1}}
		ask := func() *query.FeedPage {
			page, err := service.Feed(t.Context(), query.Principal{Account: 1}, next)
			if c.pages == 0 && next.Since != "" {
				if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "Send a higher one") {
					t.Errorf("%+v: %v", c, err)
				}
				return nil
			}
			must.Do(t, err)
			next = query.FeedRequest{Alerts: true, Lines: true, Limit: &c.limit, Since: page.Progress.Token}
			return page
		}
		ask()
		s.access.Watermark.Seq, s.access.Visibility.Snapshot = 9, 2
		pages, item := 0, contracts.ItemID(1)
		for page := ask(); page != nil; page = ask() {
			pages++
			for line := range strings.Lines(string(page.Rows.JSON())) {
				var one query.Alert
				must.Do(t, json.Unmarshal([]byte(line), &one))
				if item++; one.ItemID != item {
					t.Errorf("%+v: item %d, want %d", c, one.ItemID, item)
				}
			}
			page.Rows.Release()
			if page.Progress.UpToDate {
				break
			}
		}
		if c.pages > 0 && (pages != c.pages || item != 9) {
			t.Errorf("%+v: %d pages, up to item %d", c, pages, item)
		}
		if bound := (c.limit+100)*400 + 50_000; s.most > bound {
			t.Errorf("%+v: %d rows were read, after %d there were too many", c, s.most, bound)
		}
	}
}
