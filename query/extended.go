package query

import (
	"context"

	"preismon/contracts"
)

// ExtStore is the part of a Store that /ext/v1 alone asks.
type ExtStore interface {
	// ItemsNamed gives the visible items that any of some identifiers name, by
	// id, with their identifiers alone.
	ItemsNamed(ctx context.Context, v Visibility, names ItemNames) ([]contracts.Item, error)
	// Statistics sums the rows of a window up by group and part of it, after a
	// place, at most the query's limit; first comes what they come to in all.
	Statistics(ctx context.Context, v Visibility, q *StatisticsQuery) ([]Statistic, error)
}
