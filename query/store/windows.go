package store

import (
	"context"

	"preismon/query"
)

func windowsStatement(n shards, v query.Visibility, q *query.WindowsQuery, few bool) statement {
	rows := q.Rows
	rows.Latest, rows.After, rows.Limit = query.AllRows, nil, 0
	rows.Window = q.Span()
	p, sh := shapeOf(n, v, &rows, readOptions{byPair: few})
	ints(p, "edges", q.Edges)
	return render("windows.sql", sh, p).of(ofSums)
}

// Windows implements query.Store.
func (s *Store) Windows(ctx context.Context, v query.Visibility, q *query.WindowsQuery) ([]query.WindowRows, error) {
	counted := q.Rows
	counted.Window = q.Span() // of which RowsAtMost is asked, too
	few, err := s.ofFewPairs(ctx, v, &counted)
	if err != nil {
		return nil, err
	}
	return rows(ctx, s, windowsStatement(s.shards, v, q, few), into(func(w *query.WindowRows) []any {
		return []any{&w.Bucket, &w.Rows, &w.Sum, &w.Newest.Epoch, &w.Newest.Seq}
	}))
}
