package store

import (
	"context"

	"preismon/query"
)

// Reads of newest observations as if none came later. See
// contracts/decisions/071-newest-rows-are-read-once.md.

// tryCurrent reports whether a read should be tried as a current one. A walk
// that goes on is of an older moment.
func tryCurrent(q *query.ResultsQuery) bool { return fromLatest(q) && q.After == nil && q.Read == nil }

// current reads newest captures as if none of the pairs had one after the
// watermark, or after the window: with those it would have to look for the one
// before, which takes longer than all the rest. False: some had, and no row was
// passed on.
func (s *Store) current(ctx context.Context, v query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) (bool, error) {
	first, came := true, false
	err := s.eachRow(ctx, resultsStatement(s.shards, v, q, readOptions{current: true}), q, func(b *query.Block) error {
		if first {
			first, came = false, later(b, q)
		}
		if came { // the rest is read to its end, since a statement that is cancelled takes its connection with it
			return nil
		}
		return each(b)
	})
	return !came, err
}

// later reports whether the first row of a current read, which has those first,
// came after its watermark or its window.
func later(b *query.Block, q *query.ResultsQuery) bool {
	i := b.At(0)
	return query.Watermark{Epoch: b.Epoch[i], Seq: b.Seq[i]}.Compare(q.Watermark) > 0 ||
		!q.Window.To.IsZero() && b.CapturedMs[i] > q.Window.To.UnixMilli()
}
