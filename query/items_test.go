package query

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
)

// candidateStore has n candidates, some of them visible, and records what a
// search reads of them.
type candidateStore struct {
	Store
	candidates []contracts.ItemID
	visible    map[contracts.ItemID]bool
	batches    []int // candidates authorized at a time, for one page
	held       int   // items returned for one page
}

func (c *candidateStore) Access(context.Context, contracts.AccountID) (*Access, error) {
	return &Access{Permissions: contracts.Permissions(), Visibility: Visibility{Mandate: 1, Versions: []uint64{1}, Scope: contracts.AccountScope{AllSites: true, Orders: []contracts.OrderID{1}}}}, nil
}

func (c *candidateStore) ItemCandidates(_ context.Context, _ Visibility, q ItemsQuery) ([]contracts.ItemID, error) {
	from, _ := slices.BinarySearch(c.candidates, q.After+1)
	return c.candidates[from:min(from+q.Limit, len(c.candidates))], nil
}

func (c *candidateStore) Categories(_ context.Context, _ Visibility, q CategoriesQuery) ([]string, error) {
	return []string{q.Category}, nil
}

func (c *candidateStore) VisibleItems(_ context.Context, _ Visibility, items []contracts.ItemID, limit int) (found []contracts.Item, _ error) {
	c.batches = append(c.batches, len(items))
	for _, id := range items {
		if c.visible[id] && len(found) < limit {
			found = append(found, contracts.Item{ItemID: id})
		}
	}
	c.held += len(found)
	return found, nil
}

func (c *candidateStore) inspected() (n int) {
	for _, b := range c.batches {
		n += b
	}
	return n
}

// TestItemSearchBudget walks searches over random candidates: every page is
// complete within 10,000 candidates or refused, all batches but the last have
// the same size, no page holds more than its items and one more, and the walk
// misses no visible item: ITEM-01a, ITEM-01b, ITEM-02, ITEM-03, LIM-04.
func TestItemSearchBudget(t *testing.T) {
	refusals, walks := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 1_999, 2_000, 2_001, 9_999, 10_000, 10_001, 12_000, 25_000}).Draw(rt, "candidates")
		c := &candidateStore{visible: map[contracts.ItemID]bool{}}
		for i := range n {
			c.candidates = append(c.candidates, contracts.ItemID(i*3+1))
		}
		var want []contracts.ItemID
		for range rapid.SampledFrom([]int{0, 1, 3, 40}).Draw(rt, "visible") {
			if n > 0 {
				c.visible[c.candidates[rapid.OneOf(rapid.IntRange(0, n-1), rapid.SampledFrom([]int{0, n - 1})).Draw(rt, "place")]] = true
			}
		}
		for _, id := range c.candidates {
			if c.visible[id] {
				want = append(want, id)
			}
		}
		cfg := Defaults()
		cfg.CursorKey = contracts.Secret(strings.Repeat("k", 32))
		s := must.Get(New(cfg, c, time.Now))(rt)
		limit := rapid.SampledFrom([]int{1, 2, 10}).Draw(rt, "limit")
		r := ItemsRequest{Limit: &limit, ASINLocale: "de"}
		if rapid.Bool().Draw(rt, "by category") {
			r.ASINLocale, r.Category = "", "Garden"
		}
		var got []contracts.ItemID
		after := 0 // candidates before the page
		for {
			c.batches, c.held = nil, 0
			page, err := s.Items(context.Background(), Principal{}, r)
			ahead := c.candidates[after:]
			reach := ahead[:min(len(ahead), 10_000)]
			seen := 0
			for _, id := range reach {
				if c.visible[id] {
					seen++
				}
			}
			if c.inspected() > 10_000 || c.held > limit+1 {
				rt.Fatalf("inspected %d, kept %d", c.inspected(), c.held)
			}
			for i, b := range c.batches {
				if b != itemBatch && i < len(c.batches)-1 {
					rt.Fatalf("batches of %v", c.batches)
				}
			}
			if refused := seen < limit && len(ahead) > 10_000; refused != (err != nil) {
				rt.Fatalf("%d of %d seen, %d ahead: %v", seen, limit, len(ahead), err)
			}
			if err != nil {
				if !strings.Contains(err.Error(), "10000 candidates") {
					rt.Fatal(err)
				}
				refusals++
				return
			}
			for _, i := range page.Data {
				got = append(got, i.ItemID)
			}
			if page.Paging.NextCursor == "" {
				break
			}
			if len(page.Data) != limit {
				rt.Fatalf("a page of %d with a cursor", len(page.Data))
			}
			r.Cursor = page.Paging.NextCursor
			var place contracts.ItemID
			must.Do(rt, s.seal.openCursor(binding{Route: "items", Query: r}, r.Cursor, &place))
			from, _ := slices.BinarySearch(c.candidates, place+1)
			if from <= after {
				rt.Fatalf("no progress from %d to %d", after, from)
			}
			after = from
		}
		walks++
		if !slices.Equal(want, got) {
			rt.Fatalf("walked %v, want %v", got, want)
		}
	})
	if refusals == 0 || walks == 0 {
		t.Errorf("%d refusals, %d walks to the end", refusals, walks)
	}
}
