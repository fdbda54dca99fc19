package query

import (
	"encoding/json"
	"math"

	"preismon/contracts"
	"preismon/contracts/event"
)

// untouchedBytes is the memory for noting since when questions have the same
// answer.
const (
	untouchedBytes = 2 << 20
	validityBytes  = 32
)

// A remembered answer stays right while the watermark moves, as long as nothing
// that it is about arrives. The projector reports what arrives: see
// contracts/decisions/072-what-no-row-touched-stays.md.

// sameSince returns a watermark up to the query's, at which the query has the
// same answer: the first one known since a row of it arrived.
func (r *remembering) sameSince(v Visibility, q *ResultsQuery) Watermark {
	if r.untouched == nil {
		return q.Watermark
	}
	asked := *q
	window := cutWindow(&asked.Window)
	asked.Watermark, asked.Read = Watermark{}, nil
	key := keyOf("untouched", v, []any{asked, window})
	known, ok := r.same.Get(key)
	switch {
	case ok && known.since.Compare(q.Watermark) > 0: // the page of a walk that began earlier
		return q.Watermark
	case ok && known.at.Compare(q.Watermark) >= 0:
		return known.since
	case ok && r.nothingSince(v, &q.Selectors, q.Window, known.at, q.Watermark):
		r.same.Put(key, validity{known.since, q.Watermark})
		return known.since
	}
	r.same.Put(key, validity{q.Watermark, q.Watermark})
	return q.Watermark
}

// nothingSince reports whether it is known that no row of a caller's became
// visible after one watermark and up to another.
func (r *remembering) nothingSince(v Visibility, sel *Selectors, w contracts.Window, after, upTo Watermark) bool {
	if r.untouched == nil {
		return false
	}
	s := event.Selection{Mandate: uint64(v.Mandate), Site: string(sel.Site), From: math.MinInt64, To: math.MaxInt64}
	if !w.From.IsZero() {
		s.From = w.From.UnixMilli()
	}
	if !w.To.IsZero() {
		s.To = w.To.UnixMilli()
	}
	if sel.Item != 0 {
		s.Items = []uint64{uint64(sel.Item)}
	} else if sel.Items != "" {
		if err := json.Unmarshal([]byte(sel.Items), &s.Items); err != nil {
			return false
		}
	}
	return r.untouched(event.Mark(after), event.Mark(upTo), &s)
}
