package store

import (
	"context"
	"slices"

	"preismon/contracts"
	"preismon/query"
)

// feedShape is what feed.sql depends on.
type feedShape struct {
	resultsShape
	OneEpoch bool // of both positions
	Between  bool // the first position is between two events
}

// feedStatement builds the one statement of a feed. Together are the mandates
// that share it; none: it is for one caller. Whole reports that the caller sees
// all rows of its mandate, so that the statement may be shared.
func feedStatement(n shards, v query.Visibility, q *query.FeedQuery, together []contracts.MandateID) (st statement, whole bool) {
	rows := q.Rows
	rows.Latest, rows.After, rows.Limit = query.AllRows, nil, q.Limit
	p, sh := shapeOf(n, v, &rows, readOptions{})
	sh.ByPair = false // products are looked up among the pairs
	if whole = !sh.Pairs; whole && len(together) > 0 {
		sh.Mandates = true
		uints(p, "mandates", together)
	}
	of := feedShape{sh, q.After.Epoch == rows.Watermark.Epoch, q.After.BetweenEvents()}
	p.uint("after_seq", q.After.Seq)
	if !of.OneEpoch {
		p.uint("after_epoch", uint64(q.After.Epoch))
	}
	if !of.OneEpoch || !of.Between {
		p.uint("after_capture", uint64(q.After.Capture))
		p.uint("after_offer", uint64(q.After.Offer))
	}
	st = render("feed.sql", of, p)
	if st.settings = briefly; sh.Mandates {
		st.settings = slices.Concat(briefly, inSmallBlocks) // because no row limit makes them small
	}
	return st, whole
}

// Feed implements query.Store.
func (s *Store) Feed(ctx context.Context, v query.Visibility, q *query.FeedQuery, each func(*query.Block) error) error {
	st, whole := feedStatement(s.shards, v, q, nil)
	if whole {
		return s.feeds.readShared(ctx, v, q, st, each)
	}
	return s.readFeed(ctx, st, columnsOf(&q.Rows), func(c *blockColumns) error { return each(c.filled()) })
}

func (s *Store) readFeed(ctx context.Context, st statement, columns columnSet, each func(*blockColumns) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := s.read(ctx, st, columns, blocksAhead)
	err := r.eachColumns(each)
	cancel()
	r.drain()
	return err
}

// Edge implements query.Store.
func (s *Store) Edge(ctx context.Context) (query.Edge, error) {
	now, err := s.moments.ask(ctx, struct{}{})
	return query.Edge{Watermark: now.watermark, Generation: now.generation, Snapshot: now.snapshot, Floor: now.floor}, err
}
