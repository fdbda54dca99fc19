package query

// Limits of page sizes (choices 21).
const (
	DefaultLimit    = 100
	MaxLimit        = 1_000
	MaxResultsLimit = 10_000
)

// Paging is where a page is in its list. NextCursor is empty on the last page.
type Paging struct {
	Limit      int    `json:"limit"`
	Returned   int    `json:"returned"`
	NextCursor string `json:"nextCursor,omitempty"`

	// after returns the cursor that continues after the first records of the
	// page.
	after func(records int) (cursor string, err error)
}

// Page is one page of a list.
type Page[T any] struct {
	Data   []T     `json:"data"`
	Paging Paging  `json:"paging"`
	Query  any     `json:"query"`
	Search *Search `json:"search,omitempty"` // of items, and only when requested
}

// Listed is where the page is in its list.
func (p *Page[T]) Listed() Paging { return p.Paging }

// Cut leaves the first n records on the page; its cursor continues after them.
func (p *Page[T]) Cut(n int) (err error) {
	p.Data, err = cutTo(n, p.Data, &p.Paging)
	return err
}

// Records is an answer of /ext/v1: records, and a description of what they
// cover. Paging is zero if the answer has no pages.
type Records[T, Q any] struct {
	Data   []T    `json:"data"`
	Paging Paging `json:"paging"`
	Query  Q      `json:"query"`
}

// Listed is where the page is in its list.
func (r *Records[T, Q]) Listed() Paging { return r.Paging }

// Cut leaves the first n records on the page; its cursor continues after them.
func (r *Records[T, Q]) Cut(n int) (err error) {
	r.Data, err = cutTo(n, r.Data, &r.Paging)
	return err
}

// cutTo leaves the first n records of a page, at least one.
func cutTo[T any](n int, data []T, paging *Paging) (_ []T, err error) {
	if n >= len(data) {
		return data, nil
	}
	paging.Returned = n
	paging.NextCursor, err = paging.after(n)
	return data[:n], err
}

// pageLimit checks the limit that a caller requested; nil: the default. Nothing
// is clamped.
func pageLimit(limit *int, max int) (int, error) {
	if limit == nil {
		return DefaultLimit, nil
	}
	if *limit < 1 || *limit > max {
		return 0, invalid("limit: %d is outside 1 to %d.", *limit, max)
	}
	return *limit, nil
}
