package query

import (
	"bytes"
	"context"
)

// sharedPage is a page of a tail as text, which is sent to all tails that
// follow the same rows from the same place.
type sharedPage struct {
	Text     []byte
	Rows     int
	At       FeedPlace // where it ends
	UpToDate bool
}

// sharedQuestion is what the text of a page depends on, besides what the caller
// sees.
type sharedQuestion struct {
	feedState
	Mark               Watermark
	Limit, AnswerBytes int
}

// shareable reports whether the text of a page depends on nothing but what its
// caller sees, so that it may be remembered. Reference prices, customer data
// and the other requested fields are read with each page.
func shareable(in *read, r FeedRequest) bool {
	return r.Lines && r.AnswerBytes > 0 && in.include == (Include{}) && in.vis.Snapshot != 0 && in.vis.Applied
}

// fillShared fills the page with the text that equal tails share, and returns
// the place that it ends at. The first of them reads and encodes it.
func (s *Service) fillShared(ctx context.Context, in *read, page *FeedPage, state *feedState, r FeedRequest) (FeedPlace, error) {
	question := sharedQuestion{*state, in.query.Watermark, page.Limit, r.AnswerBytes}
	shared, err := recall(ctx, s.store, "feed lines", in.vis, question, func(ctx context.Context) (sharedPage, error) {
		own := &FeedPage{Limit: page.Limit}
		at, err := s.fillRows(ctx, in, own, state.At, r, '\n')
		return sharedPage{bytes.Clone(own.Rows.buf), own.Rows.rows, at, own.Progress.UpToDate}, err
	})
	if err != nil {
		return FeedPlace{}, err
	}
	page.Rows = RowsJSON{buf: shared.Text, rows: shared.Rows, shared: true}
	page.Progress.UpToDate = shared.UpToDate
	return shared.At, nil
}
