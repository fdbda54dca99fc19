package store

import (
	"context"

	"preismon/query"
)

func feedStatement(n shards, v query.Visibility, q *query.FeedQuery) statement {
	rows := q.Rows
	rows.Latest, rows.After, rows.Limit = query.AllRows, nil, q.Limit
	p := params{}
	sh := shapeOf(p, n, v, &rows, readOptions{})
	sh.ByPair = false // products are found among the pairs
	p.uint("after_epoch", uint64(q.After.Epoch))
	p.uint("after_seq", q.After.Seq)
	p.uint("after_capture", uint64(q.After.Capture))
	p.uint("after_offer", uint64(q.After.Offer))
	st := render("feed.sql", sh, p)
	st.settings = briefly
	return st
}

// Feed implements query.ExtStore.
func (s *Store) Feed(ctx context.Context, v query.Visibility, q *query.FeedQuery, each func(*query.Block) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := s.read(ctx, feedStatement(s.shards, v, q), columnsOf(&q.Rows), blocksAhead)
	err := r.each(each)
	cancel()
	r.drain()
	return err
}

// Edge implements query.ExtStore.
func (s *Store) Edge(ctx context.Context) (query.Edge, error) {
	now, err := s.moments.ask(ctx, struct{}{})
	return query.Edge{Watermark: now.watermark, Generation: now.generation, Snapshot: now.snapshot}, err
}
