package query

// Limits of page sizes (choices 21).
const (
	DefaultLimit    = 100
	MaxLimit        = 1_000
	MaxResultsLimit = 10_000
)

// Paging tells where a page stands. NextCursor is empty on the last page.
type Paging struct {
	Limit      int    `json:"limit"`
	Returned   int    `json:"returned"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// Page is one page of a list.
type Page[T any] struct {
	Data   []T     `json:"data"`
	Paging Paging  `json:"paging"`
	Query  any     `json:"query"`
	Search *Search `json:"search,omitempty"` // of items, and only when asked for
}

// pageLimit takes the limit a caller asked for; nil: the default. Nothing is
// clamped.
func pageLimit(asked *int, max int) (int, error) {
	if asked == nil {
		return DefaultLimit, nil
	}
	if *asked < 1 || *asked > max {
		return 0, invalid("limit: %d is outside 1 to %d.", *asked, max)
	}
	return *asked, nil
}
