package query

import (
	"context"
	"errors"
	"time"

	"preismon/contracts"
)

// Explanation is what is known of a read before any of its rows is read. Nil
// pointers: not applicable, or not known.
type Explanation struct {
	Window *ExplainedWindow
	Pairs  *uint64 // item-site pairs that it covers
	// Sealed: its window had ended, so that few captures, if any, still arrive
	// in it. Nil without a window.
	Sealed *bool
	// Rows bounds the records of the answer, Scanned the rows that are examined
	// for it, Bytes the answer as JSON.
	Rows, Scanned, Bytes *uint64

	given    int    // records of an answer at most; 0: no limit
	more     bool   // the answer needs more statements than the explained one, and examines more
	open     bool   // its window ends now, although as an instant
	first    uint64 // bytes that are sent before the rows at most
	row      uint64 // bytes of a row at most
	maxBytes uint64 // of an answer that is built before it is sent
}

// ExplainedWindow is a window of captures; nil bounds are open.
type ExplainedWindow struct {
	CapturedFrom *string `json:"capturedFrom" column:"instant"`
	CapturedTo   *string `json:"capturedTo" column:"instant"`
	Timezone     string  `json:"timezone"`
}

// ErrExplained ends an explained read where its rows would be read. Every check
// that does not depend on rows has passed by then.
var ErrExplained = errors.New("the read is explained, not made")

type explanationKey struct{}

// Explain makes reads with ctx proceed as usual except for their rows: they
// record what they find in the explanation, and end with ErrExplained. Reads
// that need no rows of observations are carried out.
func Explain(ctx context.Context, e *Explanation) context.Context {
	return context.WithValue(ctx, explanationKey{}, e)
}

// withoutExplanation returns the context of a read whose explanation is not recorded, because
// that of another read for the same answer is.
func withoutExplanation(ctx context.Context) context.Context {
	if explaining(ctx) == nil {
		return ctx
	}
	return Explain(ctx, &Explanation{})
}

// explaining returns the explanation that a read is for; nil: it is a real
// read.
func explaining(ctx context.Context) *Explanation {
	e, _ := ctx.Value(explanationKey{}).(*Explanation)
	return e
}

// noting returns the explanation that a read notes in what it knows of itself; what
// a real read notes is lost.
func noting(ctx context.Context) *Explanation {
	if e := explaining(ctx); e != nil {
		return e
	}
	return &Explanation{}
}

// noteOpen records whether the window of a read ends when it is made, although the
// read writes its end as an instant.
func (e *Explanation) noteOpen(open bool) { e.open = e.open || open }

// noteWindow records the window of a read, and whether it ended before now.
func (e *Explanation) noteWindow(in *read, shown ExplainedWindow, now time.Time) {
	q := &in.query
	e.Window, e.Sealed = &shown, new(!e.open && !q.ToNow && !q.Window.To.IsZero() && q.Window.To.Before(now))
}

// noteRead records a read whose scope is known.
func (s *Service) noteRead(ctx context.Context, in *read) {
	e := explaining(ctx)
	if e == nil {
		return
	}
	maxBytes := s.cfg.MaxResponseBytes
	e.noteWindow(in, ExplainedWindow{in.echo.CapturedFrom, in.echo.CapturedTo, in.echo.Timezone}, s.now())
	e.Pairs, e.maxBytes = new(in.size.Pairs), uint64(maxBytes)
	e.row = in.include.rowBytes(in.vis, e.maxBytes)
	if in.empty {
		e.Rows, e.Scanned = new(uint64), new(uint64)
	}
}

// rows ends a read of results.
func (e *Explanation) rows(ctx context.Context, from Store, v Visibility, q *ResultsQuery) error {
	most, err := from.RowsAtMost(ctx, v, q)
	if err != nil {
		return err
	}
	if !e.more {
		e.Scanned = most.Scanned
	}
	rows, known := uint64(0), most.Rows != nil
	if known {
		rows = *most.Rows
	}
	if q.Limit > 0 { // one more than is returned, to detect that there are more
		e.given = q.Limit - 1
	}
	switch q.Latest {
	case NewestRow:
		rows, known = *e.Pairs, true
	case NewestWhole:
		rows, known = *e.Pairs*contracts.MaxOffersPerObservation, true
	}
	if e.given > 0 && (!known || rows > uint64(e.given)) {
		rows, known = uint64(e.given), true
	}
	if known {
		e.Rows = &rows
	}
	e.bytes(q.Read != nil)
	return ErrExplained
}

// sums ends a read that returns other records than the rows it examines.
func (e *Explanation) sums(ctx context.Context, from Store, v Visibility, q ResultsQuery) error {
	most, err := from.RowsAtMost(ctx, v, &q)
	if err != nil {
		return err
	}
	if !e.more {
		e.Scanned = most.Scanned
	}
	if e.given > 0 {
		e.Rows = new(uint64(e.given))
	}
	e.Bytes = &e.maxBytes
	return ErrExplained
}

// explainFeed ends the read of a feed, whose rows are placed by when they became
// visible: no index tells how many are examined.
func (s *Service) explainFeed(ctx context.Context, e *Explanation, in *read, limit int) error {
	e.noteWindow(in, ExplainedWindow{formatBound(in.query.Window.From, in.zone), formatBound(in.query.Window.To, in.zone), in.echo.Timezone}, s.now())
	e.Pairs, e.Rows, e.Bytes = new(uint64), new(uint64(limit)), new(uint64(s.cfg.MaxResponseBytes))
	if !in.vis.Nothing() {
		size, err := s.store.CountPairs(ctx, in.vis, in.query.Selectors)
		if err != nil {
			return err
		}
		e.Pairs = &size.Pairs
	}
	return ErrExplained
}

// explainWindows ends a read of windows, which counts the rows of all of them.
func (s *Service) explainWindows(ctx context.Context, e *Explanation, in *read, edges []int64) error {
	if err := s.explainFeed(ctx, e, in, len(edges)-1); !errors.Is(err, ErrExplained) {
		return err
	}
	if in.vis.Nothing() || in.query.nothing(in.vis) {
		e.Scanned = new(uint64)
		return ErrExplained
	}
	rows := WindowsQuery{Rows: in.query, Edges: edges}
	rows.Rows.Window = rows.Span()
	most, err := s.store.RowsAtMost(ctx, in.vis, &rows.Rows)
	if err != nil {
		return err
	}
	e.Scanned = most.Scanned
	return ErrExplained
}

// explainLookup ends a lookup: it has a record for each identifier.
func (s *Service) explainLookup(ctx context.Context, e *Explanation, in *read, keys []LookupKey, n named) error {
	e.Rows, e.Scanned = new(uint64(len(keys))), new(uint64)
	e.Bytes = new(min(lookupBytes(keys, n, *e.Pairs, e.row), e.maxBytes))
	if in.empty || len(n.ids) == 0 {
		return ErrExplained
	}
	most, err := s.store.RowsAtMost(ctx, in.vis, &in.query)
	if err != nil {
		return err
	}
	e.Scanned = most.Scanned
	return ErrExplained
}

// list ends the read of a list, whose records have at most so many bytes.
func (e *Explanation) list(record uint64, maxBytes int) error {
	e.Bytes = new(min(explainedPage+*e.Rows*record, uint64(maxBytes)))
	return ErrExplained
}

// Statistics implements Store. What ends now is not remembered: prices are held
// until then, so that no other request has the same answer.
func (r *remembering) Statistics(ctx context.Context, v Visibility, q *StatisticsQuery) ([]Statistic, error) {
	rows := q.Rows // all that are read
	rows.Latest, rows.Limit, rows.After = AllRows, 0, nil
	rows.Window.From = rows.Window.From.Add(-HeldAtMost)
	if e := explaining(ctx); e != nil {
		return nil, e.sums(ctx, r.Store, v, rows)
	}
	rows.FromNow, rows.ToNow = false, q.Until <= q.Rows.Window.To.UnixMilli()
	asked := *q
	asked.Rows.Watermark, asked.Rows.FromNow, asked.Rows.ToNow = Watermark{}, false, false
	window := cutWindow(&asked.Rows.Window)
	return recallCounts(ctx, r, "statistics", v, &rows, []any{asked, window}, func(ctx context.Context) ([]Statistic, error) { return r.Store.Statistics(ctx, v, q) })
}

// OrderPairs implements Store. Newest captures have no watermark: they are those
// of the tables until a row arrives after the caller's.
func (r *remembering) OrderPairs(ctx context.Context, v Visibility, q OrderPairsQuery) ([]OrderPair, error) {
	if explaining(ctx) != nil {
		return nil, ErrExplained
	}
	if v.Snapshot == 0 || !v.Applied || v.Watermark == (Watermark{}) {
		return r.Store.OrderPairs(ctx, v, q)
	}
	const name = "order pairs"
	since := r.sameSince(v, &ResultsQuery{Selectors: Selectors{Site: q.Site}, Watermark: v.Watermark})
	return recallKey(ctx, r, name, r.nothingWritten(v), keyOf(name, v, []any{q, since}), func(ctx context.Context) ([]OrderPair, error) { return r.Store.OrderPairs(ctx, v, q) })
}

// AtMost holds upper bounds of a read: of the rows that it returns without a
// limit, and of those that are examined for them. Nil: not known.
type AtMost struct{ Rows, Scanned *uint64 }
