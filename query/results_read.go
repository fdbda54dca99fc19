package query

import (
	"context"
	"math"
	"sync"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query/admission"
)

// RowsJSON holds the rows of a page as JSON objects.
type RowsJSON struct {
	buf    []byte // the objects, with a separator between two
	rows   int
	shared bool   // others use buf, too
	held   func() // returns their charge; nil: none
}

// Pages of results are megabytes, so their buffers are reused.
var rowBuffers = sync.Pool{New: func() any { return new([]byte) }}

// keptLeast and keptMost bound the size of the buffers that are kept.
const (
	keptLeast = 64 << 10
	keptMost  = 16 << 20
)

// Len is the number of rows.
func (r *RowsJSON) Len() int { return r.rows }

// bytes is the memory that rows hold, or the table that received them; nil: none
// did.
func (r *RowsJSON) bytes(table RowTable) int64 {
	if table == nil {
		return int64(cap(r.buf))
	}
	return int64(cap(r.buf)) + table.Bytes()
}

// JSON returns the rows as one JSON array without its brackets, or one per
// line; it is valid until Release.
func (r *RowsJSON) JSON() []byte { return r.buf }

// Release returns the room of the rows.
func (r *RowsJSON) Release() {
	if buf := r.buf[:0]; !r.shared && cap(buf) >= keptLeast && cap(buf) <= keptMost {
		rowBuffers.Put(&buf)
	}
	if r.held != nil {
		r.held()
	}
	*r = RowsJSON{}
}

// ResultsPage is one page of observations.
type ResultsPage struct {
	Rows   RowsJSON
	Paging Paging
	Query  Echo
	Ending Ending
	// Summary is nil unless the request asked for it.
	Summary *Summary
}

// Ending is why a page ended where it did. Every one except NothingMore comes
// with a cursor.
type Ending string

const (
	NothingMore    Ending = ""
	AtLimit        Ending = "limit"
	AtSoftDeadline Ending = "soft deadline"
	AtAnswerBudget Ending = "answer budget"
)

// fill reads the rows of a page and records where it ended.
func (s *Service) fill(ctx context.Context, in *read, c *pageCollector, start time.Time) error {
	page := c.page
	page.Rows.buf = *rowBuffers.Get().(*[]byte)
	next, err := s.readPage(ctx, in, c, start)
	if err != nil {
		return err
	}
	page.Paging.Returned = page.Rows.rows
	if next != nil {
		page.Ending = c.ending()
		page.Paging.NextCursor, err = s.cursorAfter(in.resultsPlan, *next)
	}
	return err
}

// pageCollector encodes rows as long as the page has room, and notices the
// extra row which shows that more exist.
type pageCollector struct {
	in          *read
	page        *ResultsPage
	room        int // for so many more rows
	last        Position
	more        bool
	maxBytes    int      // of a response; more is an error
	answerBytes int      // of the rows of this page; 0: not bounded
	tally       *tally   // nil: no summary
	between     byte     // separates two rows of JSON
	table       RowTable // nil: JSON
	batches     *batcher
}

func newPageCollector(in *read, page *ResultsPage, r ResultsRequest, maxBytes int) *pageCollector {
	c := &pageCollector{in: in, page: page, room: in.limit, maxBytes: maxBytes, answerBytes: r.AnswerBytes, between: ','}
	if r.Lines {
		c.between = '\n'
	}
	if r.Fields != nil && !in.empty {
		in.encoder.choose(*r.Fields)
	}
	if r.Table != nil {
		r.Table.Begin(Columns(in.include.Fields()))
	}
	if r.Table != nil && !in.empty {
		c.table, c.batches = r.Table, newBatcher(in.encoder, r.Table.Flat())
	}
	return c
}

func (c *pageCollector) take(ctx context.Context, b *Block) error {
	n := min(b.Len, c.room)
	if n > 0 {
		if err := c.in.encoder.rich.load(ctx, b); err != nil {
			return err
		}
		if c.table != nil {
			if err := c.tabulate(b, n); err != nil {
				return err
			}
		} else {
			c.in.encoder.begin(b)
			var err error
			if n, err = c.encode(b, n); err != nil {
				return err
			}
		}
		if c.tally != nil {
			c.tally.add(b, n)
		}
		c.last = b.Position(b.At(n - 1))
	}
	// The store was queried for one row more than fits, so the read ends by
	// itself: aborting it would cost its connection.
	c.more = c.more || n < b.Len
	return nil
}

// encode adds at most n rows of the block, and returns how many: fewer when
// they reach the answer budget, which leaves no room for more.
func (c *pageCollector) encode(b *Block, n int) (int, error) {
	rows := &c.page.Rows
	for i := range n {
		if rows.rows > 0 {
			rows.buf = append(rows.buf, c.between)
		}
		rows.buf = c.in.encoder.append(rows.buf, b, b.At(i))
		rows.rows++
		if err := c.fits(len(rows.buf)); err != nil {
			return 0, err
		}
		if c.answerBytes > 0 && len(rows.buf) >= c.answerBytes {
			c.room = 0
			return i + 1, nil
		}
	}
	c.room -= n
	return n, nil
}

// tabulate adds n rows of the block to the table.
func (c *pageCollector) tabulate(b *Block, n int) error {
	c.batches.begin(b)
	for from := 0; from < n; {
		batch, to := c.batches.make(from, n)
		if err := c.table.Write(batch); err != nil {
			return err
		}
		if err := c.fits(c.table.Len()); err != nil {
			return err
		}
		from = to
	}
	c.page.Rows.rows += n
	c.room -= n
	return nil
}

// fits refuses a page as soon as it is known to be too large.
func (c *pageCollector) fits(bytes int) error {
	if bytes > c.maxBytes {
		return tooLarge(c.maxBytes, c.in.limit > 1, c.in.include != Include{})
	}
	return nil
}

// ending returns why a page that is not the last ended.
func (c *pageCollector) ending() Ending {
	switch {
	case !c.more:
		return AtSoftDeadline
	case c.page.Rows.rows == c.in.limit:
		return AtLimit
	}
	return AtAnswerBudget
}

// tooLarge refuses an answer, with advice by what the request can still reduce,
// records or field groups.
func tooLarge(max int, records, groups bool) error {
	return fault.New(fault.Invalid, CodeResponseTooLarge, "The complete response would be larger than %d bytes.%s", max, AskForLess(records, groups))
}

// AskForLess advises how to get a smaller answer, by what the request can
// reduce.
func AskForLess(records, groups bool) string {
	switch {
	case records && groups:
		return " Send a new request with a lower limit or fewer field groups."
	case records:
		return " Send a new request with a lower limit."
	case groups:
		return " Send a new request with fewer field groups."
	}
	return ""
}

// The optimistic part of the soft deadline: one read of the whole range. Only a
// read that does not finish within it is cut into slices of time.
const (
	optimisticShare = 0.4
	firstSliceShare = 256 // of the window
	sliceGrowth     = 4
	quickSlice      = 20 // divisor of the soft deadline: slices that take less time grow
)

// readPage fills the collector and returns the position where the next page
// continues; nil: there is none.
func (s *Service) readPage(ctx context.Context, in *read, c *pageCollector, start time.Time) (*Position, error) {
	sliceable := in.query.Latest == AllRows
	q := in.query
	q.Limit = c.room + 1
	first, cancel := ctx, context.CancelFunc(func() {})
	if sliceable {
		first, cancel = context.WithTimeout(ctx, time.Duration(optimisticShare*float64(s.cfg.SoftDeadline)))
	}
	err := s.store.Results(first, in.vis, &q, func(b *Block) error { return c.take(first, b) })
	cancel()
	if err == nil || c.more {
		return c.next(), nil
	}
	if !sliceable || ctx.Err() != nil || fault.KindOf(err) != fault.Timeout && !(admission.Refused(err) && first.Err() != nil) {
		return nil, err
	}
	return s.readSlices(ctx, in, c, start)
}

func (c *pageCollector) next() *Position {
	if !c.more {
		return nil
	}
	return &c.last
}

// readSlices continues a read that was too slow in one piece: slice after slice
// of its window in the order of the page, until the page is full, the window
// ends, or the soft deadline is over. It reads at least one slice, so that the
// page makes progress.
func (s *Service) readSlices(ctx context.Context, in *read, c *pageCollector, start time.Time) (*Position, error) {
	q := in.query
	q.FromNow, q.ToNow = false, false // the slices have fixed bounds
	if c.page.Rows.rows > 0 {
		q.After = &c.last
	}
	lo, hi := earliestSlice(q.Window), q.Window.To.UnixMilli()
	if q.Window.To.IsZero() {
		hi = s.now().UnixMilli()
	}
	if q.After != nil {
		if q.Ascending {
			lo = max(lo, q.After.CapturedMs)
		} else {
			hi = min(hi, q.After.CapturedMs)
		}
	}
	width := max(2, (hi-lo)/firstSliceShare) // a single instant may be that of the cursor, and no progress
	for lo <= hi {
		from, to := lo, min(hi, lo+width-1)
		if !q.Ascending {
			from, to = max(lo, hi-width+1), hi
		}
		q.Window = contracts.Window{From: fromMs(from), To: fromMs(to)}
		q.Limit = c.room + 1
		began := time.Now()
		err := s.store.Results(ctx, in.vis, &q, func(b *Block) error { return c.take(ctx, b) })
		if c.more {
			return c.next(), nil
		}
		if err != nil {
			return nil, err
		}
		q.After = nil
		if q.Ascending {
			lo = to + 1
		} else {
			hi = from - 1
		}
		if lo <= hi && time.Since(start) > s.cfg.SoftDeadline {
			edge := sliceEdge(from, to, q.Ascending)
			return &edge, nil
		}
		if time.Since(began) < s.cfg.SoftDeadline/quickSlice {
			width *= sliceGrowth
		}
	}
	return c.next(), nil
}

// earliestSlice is where the slices of a window without a lower bound end:
// before any capture that is accepted.
func earliestSlice(w contracts.Window) int64 {
	if w.From.IsZero() {
		return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	}
	return w.From.UnixMilli()
}

// sliceEdge is the position after every row of the slice in the order of the read:
// its last instant with the last key that an instant can have. Within an
// instant, ascending goes from the largest key to the smallest.
func sliceEdge(from, to int64, ascending bool) Position {
	if ascending {
		return Position{CapturedMs: to, Item: 1} // ids begin with 1
	}
	return Position{
		CapturedMs: from, Item: math.MaxUint64, Site: "\U0010ffff", Epoch: math.MaxUint32, Seq: math.MaxUint64,
		Capture: math.MaxUint16, Offer: math.MaxUint16,
	}
}
