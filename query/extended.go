package query

import (
	"context"
	"time"

	"preismon/contracts"
)

// AtMost holds upper bounds of a read: of the rows that it returns without a
// limit, and of those that are examined for them. Nil: not known.
type AtMost struct{ Rows, Scanned *uint64 }

// ExtStore is the part of a Store that only /ext/v1 uses.
type ExtStore interface {
	// ItemsNamed returns the visible items that any of some identifiers name,
	// by id, with only their identifiers.
	ItemsNamed(ctx context.Context, v Visibility, names ItemNames) ([]contracts.Item, error)
	// Statistics sums up the rows of a window by group and part of the window,
	// after a place, at most the query's limit; the totals come first.
	Statistics(ctx context.Context, v Visibility, q *StatisticsQuery) ([]Statistic, error)
	// Feed passes rows to each, block by block, in the order in which they
	// became visible. A block is valid until each returns.
	Feed(ctx context.Context, v Visibility, q *FeedQuery, each func(*Block) error) error
	// Windows counts the rows of each part of a window, by bucket; parts
	// without any are absent.
	Windows(ctx context.Context, v Visibility, q *WindowsQuery) ([]WindowRows, error)
	// RowsAtMost bounds what Results returns and examines, coarsely, by the
	// index.
	RowsAtMost(ctx context.Context, v Visibility, q *ResultsQuery) (AtMost, error)
	// EventIDs returns the ids of the events at some places, as far as they are
	// known.
	EventIDs(ctx context.Context, places []Watermark) (map[Watermark]string, error)
	// VisibleTimes returns when some places became visible, to within about a
	// second and never too early; places from before these times were kept are
	// absent.
	VisibleTimes(ctx context.Context, places []Watermark) (map[Watermark]time.Time, error)
	// CatalogueVersions returns the versions of sites, reference prices and
	// customer data, as far as they are included: what is read of them later is
	// of these versions or newer.
	CatalogueVersions(ctx context.Context, v Visibility, include Include) ([]uint64, error)
	// Edge returns how far the tables are, as of a moment after the call began.
	Edge(ctx context.Context) (Edge, error)
}
