package query

import "context"

// fillFeed fills the page with what follows the position of a state, and returns
// the position that it ends at.
func (s *Service) fillFeed(ctx context.Context, in *read, page *FeedPage, state *feedState, r FeedRequest) (at FeedPosition, err error) {
	between := r.between()
	if state.Rule != nil {
		return s.fillAlerts(ctx, in, page, state, between)
	}
	if shareable(in, r) {
		return s.fillShared(ctx, in, page, state, r)
	}
	return s.fillRows(ctx, in, page, state.At, r, between)
}

// between is what separates the rows.
func (r FeedRequest) between() byte {
	if r.Lines {
		return '\n'
	}
	return ','
}

// fillRows fills the page with rows after a position, and returns the position that
// it ends at.
func (s *Service) fillRows(ctx context.Context, in *read, page *FeedPage, from FeedPosition, r FeedRequest, between byte) (at FeedPosition, err error) {
	if in.encoder, err = s.encoder(ctx, in.resultsPlan, in.vis); err != nil {
		return at, err
	}
	id := &field{Column: rowIDColumn, made: rowID{s.rowIDs.of(in.vis.Mandate)}}
	rows := &ResultsPage{}
	defer func() { page.Rows = rows.Rows }()
	c := &pageCollector{in: in, page: rows, room: page.Limit, maxBytes: s.cfg.MaxResponseBytes, answerBytes: r.AnswerBytes, between: between}
	switch {
	case r.Table != nil:
		c.table, c.batches = r.Table, newBatcher(in.encoder, r.Table.Flat())
		c.batches.add(id)
	case r.AnswerBytes > 0: // the reused buffers have the size of large pages
		rows.Rows.buf = make([]byte, 0, r.AnswerBytes)
		in.encoder.add(id)
	default:
		rows.Rows.buf = *rowBuffers.Get().(*[]byte)
		in.encoder.add(id)
	}
	at, page.Progress.UpToDate, err = s.readFeed(ctx, in, from, c)
	return at, err
}

// feedTaker collects rows of a feed.
type feedTaker interface {
	take(context.Context, *Block) error
	// taken returns for how many more rows there is room, the last row that was
	// taken (nil: none), and whether there was one more.
	taken() (room int, last *Position, more bool)
}

func (c *pageCollector) taken() (room int, last *Position, more bool) {
	if c.page.Rows.rows > 0 {
		last = &c.last
	}
	return c.room, last, c.more
}

// firstFeedSlice is how many sequences the first statement of a page reads. A
// statement with a limit sorts everything it finds; in slices, even a feed that
// is far behind reads little more than it returns.
const (
	firstFeedSlice  = 4_000
	feedSliceGrowth = 4
)

// readFeed passes the rows after a position to t, and returns the position that it
// ends at.
func (s *Service) readFeed(ctx context.Context, in *read, at FeedPosition, t feedTaker) (_ FeedPosition, upToDate bool, err error) {
	mark := in.query.Watermark
	for width := uint64(firstFeedSlice); at != positionAfter(mark); width *= feedSliceGrowth {
		room, _, _ := t.taken()
		q := FeedQuery{Rows: in.query, After: at, Limit: room + 1}
		if at.Epoch == mark.Epoch && mark.Seq-at.Seq > width {
			q.Rows.Watermark.Seq = at.Seq + width
		}
		if err := s.store.Feed(ctx, in.vis, &q, func(b *Block) error { return t.take(ctx, b) }); err != nil {
			return at, false, err
		}
		if _, last, more := t.taken(); more {
			if last != nil {
				at = FeedPosition{last.Epoch, last.Seq, last.Capture, last.Offer}
			}
			return at, false, nil
		}
		at = positionAfter(q.Rows.Watermark)
	}
	return at, true, nil
}
