package wire

import "preismon/query"

// Explanation is what is known of a read before it runs; null: it does not
// apply, or is not known.
type Explanation struct {
	Request       string                 `json:"request"`
	Accepted      bool                   `json:"accepted"`
	Problem       *Problem               `json:"problem"`
	Window        *query.ExplainedWindow `json:"window"`
	Sealed        *bool                  `json:"sealed"`
	Pairs         *uint64                `json:"pairs"`
	RowsAtMost    *uint64                `json:"rowsAtMost"`
	ScannedAtMost *uint64                `json:"scannedAtMost"`
	BytesAtMost   *uint64                `json:"bytesAtMost"`
	ContentType   *string                `json:"contentType"`
	Narrower      []string               `json:"narrower"`
}

// Record returns the explanation as the one record of a table.
func (e *Explanation) Record() (*Records, error) {
	return recordsOf([]Explanation{*e}, query.Paging{Returned: 1}, nil)
}
