package store

import (
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/query"
)

// TestQuestions: the key of a remembered question is short, however long the
// question is, and different questions have different keys.
func TestQuestions(t *testing.T) {
	long := contracts.SiteKey(strings.Repeat("s", 10_000))
	asked := map[question]int{}
	for i, c := range []struct {
		v   query.Visibility
		sel query.Selectors
	}{
		{},
		{v: query.Visibility{Mandate: 1}},
		{v: query.Visibility{Versions: []uint64{1}}},
		{v: query.Visibility{Versions: []uint64{1, 2}}},
		{v: query.Visibility{Scope: contracts.AccountScope{AllOrders: true}}},
		{v: query.Visibility{Scope: contracts.AccountScope{Orders: []contracts.OrderID{1}}}},
		{v: query.Visibility{Scope: contracts.AccountScope{Sites: []contracts.SiteKey{"a b"}}}},
		{v: query.Visibility{Scope: contracts.AccountScope{Sites: []contracts.SiteKey{"a", "b"}}}},
		{v: query.Visibility{Scope: contracts.AccountScope{Sites: []contracts.SiteKey{long}}}},
		{sel: query.Selectors{Site: long}},
		{sel: query.Selectors{Site: "a"}},
		{sel: query.Selectors{Order: 1}},
		{sel: query.Selectors{Item: 1}},
	} {
		q := questionOf(c.v, c.sel)
		if before, known := asked[q]; known {
			t.Errorf("questions %d and %d are one", before, i)
		}
		if asked[q] = i; q != questionOf(c.v, c.sel) || len(q) > 32 {
			t.Errorf("question %d is remembered as %d bytes, or as others", i, len(q))
		}
	}
}

// TestByPair: the measured cases (contracts/decisions/006-layout.md). The large
// mandate has 100,000 pairs, the middle 10,000, the small 1,000.
func TestByPair(t *testing.T) {
	const week, day = 168 * time.Hour, 24 * time.Hour
	for _, c := range []struct {
		wanted, pairs uint64
		window        time.Duration
		limit         int
		want          bool
	}{
		{10, 100_000, week, 10_001, true}, // 765 ms of CPU against 32
		{10, 100_000, day, 10_001, true},  // 106 against 30
		{10, 100_000, time.Hour, 10_001, false},
		{100, 100_000, week, 0, true},
		{999, 100_000, day, 10_001, false}, // 134 against 524
		{1_000, 100_000, week, 10_001, false},
		{50_000, 100_000, week, 10_001, false},
		{10, 1_000, week, 10_001, false},
		{0, 100_000, week, 101, true},
		{500, 100_000, week, 101, false}, // the limit is reached long before
		{500, 100_000, week, 0, true},
	} {
		if got := (pairCounts{c.wanted, c.pairs}).byPair(c.window, c.limit, pairRows); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestFilled: the part of a window after now has no rows.
func TestFilled(t *testing.T) {
	now := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	hour := now.Add(-time.Hour)
	for _, c := range []struct {
		w    contracts.Window
		want time.Duration
	}{
		{contracts.Window{From: hour, To: now}, time.Hour},
		{contracts.Window{From: hour.Add(-time.Hour), To: hour}, time.Hour},
		{contracts.Window{From: hour, To: now.AddDate(273, 0, 0)}, time.Hour},
		{contracts.Window{From: hour}, openWindow},
		{contracts.Window{To: now}, openWindow},
	} {
		equals.Is(t, c.want, filled(c.w, now), "%v", c.w)
	}
}
