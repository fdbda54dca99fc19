package store

import (
	"context"

	"preismon/query"
)

// silencesStatement builds the one statement of silent pairs.
func silencesStatement(n shards, v query.Visibility, q *query.SilencesQuery) statement {
	p, sh := shapeOf(n, v, &q.Rows, readOptions{})
	sh.ByPair = false // products are looked up among the pairs
	p.int("silent_ms", q.For.Milliseconds())
	st := render("silences.sql", sh, p)
	st.settings = briefly
	return st
}

// Silences implements query.Store.
func (s *Store) Silences(ctx context.Context, v query.Visibility, q *query.SilencesQuery, each func(*query.Block) error) error {
	return s.readFeed(ctx, silencesStatement(s.shards, v, q), columnsOf(&q.Rows), func(c *blockColumns) error { return each(c.filled()) })
}
