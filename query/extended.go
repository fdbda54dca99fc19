package query

import (
	"context"
	"time"

	"preismon/contracts"
)

// AtMost are bounds of a read: of the rows that it gives without a limit, and of
// those that are looked at for them. Nil: it is not known.
type AtMost struct{ Rows, Scanned *uint64 }

// ExtStore is the part of a Store that /ext/v1 alone asks.
type ExtStore interface {
	// ItemsNamed gives the visible items that any of some identifiers name, by
	// id, with their identifiers alone.
	ItemsNamed(ctx context.Context, v Visibility, names ItemNames) ([]contracts.Item, error)
	// Statistics sums the rows of a window up by group and part of it, after a
	// place, at most the query's limit; first comes what they come to in all.
	Statistics(ctx context.Context, v Visibility, q *StatisticsQuery) ([]Statistic, error)
	// Feed gives rows block by block in the order in which they became visible.
	// A block is valid until each returns.
	Feed(ctx context.Context, v Visibility, q *FeedQuery, each func(*Block) error) error
	// Windows counts the rows of each part of a window, by bucket; parts without
	// any are left out.
	Windows(ctx context.Context, v Visibility, q *WindowsQuery) ([]WindowRows, error)
	// RowsAtMost bounds what Results gives and looks at, coarsely, by the index.
	RowsAtMost(ctx context.Context, v Visibility, q *ResultsQuery) (AtMost, error)
	// EventIDs gives the ids of the events at some places, of those that are known.
	EventIDs(ctx context.Context, places []Watermark) (map[Watermark]string, error)
	// VisibleTimes gives when some places became visible, to within a second or so
	// and not too early; those of before it was kept are left out.
	VisibleTimes(ctx context.Context, places []Watermark) (map[Watermark]time.Time, error)
	// Edge tells how far the tables are, as of a moment after the call.
	Edge(ctx context.Context) (Edge, error)
}
