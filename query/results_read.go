package query

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// RowsJSON are the rows of a page as JSON objects.
type RowsJSON struct {
	buf  []byte // the objects, a comma between two
	rows int
}

// Pages of results are megabytes: their buffers are used again.
var rowBuffers = sync.Pool{New: func() any { return new([]byte) }}

// keptBuffer is the size up to which a buffer is kept.
const keptBuffer = 16 << 20

// Len is the number of rows.
func (r *RowsJSON) Len() int { return r.rows }

// JSON gives the rows as one JSON array without its brackets; it is good
// until Release.
func (r *RowsJSON) JSON() []byte { return r.buf }

// Release gives the rows' room back.
func (r *RowsJSON) Release() {
	if buf := r.buf[:0]; cap(buf) > 0 && cap(buf) <= keptBuffer {
		rowBuffers.Put(&buf)
	}
	*r = RowsJSON{}
}

// ResultsPage is one page of observations.
type ResultsPage struct {
	Rows   RowsJSON
	Paging Paging
	Query  Echo
}

// ResultsStream takes a stream of observations. Start is called once, when
// the first rows are there or the read turned out to have none; Lines takes
// NDJSON, whole lines, which may not be kept.
type ResultsStream interface {
	Start(scope string) error
	Lines(ndjson []byte, rows int) error
}

// read is an accepted results read: allowed, measured, and at its place.
type read struct {
	*resultsPlan
	vis     Visibility
	encoder *rowEncoder
	empty   bool // no row can match
}

// accept does everything that may refuse a read, for pages and streams alike
// (RES-14a).
func (s *Service) accept(ctx context.Context, p Principal, r ResultsRequest) (*read, error) {
	plan, err := s.plan(p, r)
	if err != nil {
		return nil, err
	}
	a, err := s.access(ctx, p, contracts.ReadResults)
	if err != nil {
		return nil, err
	}
	if err := s.resume(plan, r.Cursor, a.Watermark); err != nil {
		return nil, err
	}
	in := &read{resultsPlan: plan, vis: a.Visibility}
	if in.empty = a.Visibility.Nothing(); in.empty {
		return in, nil
	}
	if plan.query.Latest != AllRows || s.cfg.ScanGuardMaxPairs > 0 || s.cfg.ScanGuardMaxHours > 0 {
		size, err := s.store.CountPairs(ctx, in.vis, plan.query.Selectors)
		if err != nil {
			return nil, err
		}
		if err := s.guard(plan, size); err != nil {
			return nil, err
		}
	}
	if in.empty = plan.query.nothing(a.Visibility); in.empty { // only now: a filter bypasses no refusal
		return in, nil
	}
	facts := siteFacts{}
	if r.Include.ExportFields {
		sites, err := s.store.SiteRecords(ctx)
		if err != nil {
			return nil, err
		}
		for _, site := range sites {
			facts[site.Site] = site
		}
	}
	in.encoder = newRowEncoder(plan, facts, newEnrichment(r.Include, s.store, in.vis))
	return in, nil
}

// Results reads one page, whose rows the caller releases. A page that the soft deadline ends has fewer rows
// than its limit, maybe none, and a cursor (RES-11b).
func (s *Service) Results(ctx context.Context, p Principal, r ResultsRequest) (*ResultsPage, error) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.HardBudget)
	defer cancel()
	in, err := s.accept(ctx, p, r)
	if err != nil {
		return nil, budget(err)
	}
	page := &ResultsPage{Paging: Paging{Limit: in.limit}, Query: in.echo}
	if in.empty {
		return page, nil
	}
	page.Rows.buf = *rowBuffers.Get().(*[]byte)
	c := &pageCollector{in: in, page: page, maxBytes: s.cfg.MaxResponseBytes}
	next, err := s.readPage(ctx, in, c, start)
	if err != nil {
		page.Rows.Release()
		return nil, budget(err)
	}
	page.Paging.Returned = page.Rows.rows
	if next != nil {
		page.Paging.NextCursor, err = s.cursorAfter(in.resultsPlan, *next)
	}
	return page, err
}

// pageCollector encodes rows up to the page's limit and notices the one that
// tells that more exist.
type pageCollector struct {
	in       *read
	page     *ResultsPage
	last     Position
	more     bool
	maxBytes int
}

func (c *pageCollector) take(ctx context.Context, b *Block) error {
	n := min(b.Len, c.in.limit-c.page.Rows.rows)
	if n > 0 {
		if err := c.in.encoder.rich.load(ctx, b); err != nil {
			return err
		}
		c.in.encoder.begin(b)
		rows := &c.page.Rows
		for i := range n {
			if rows.rows > 0 {
				rows.buf = append(rows.buf, ',')
			}
			rows.buf = c.in.encoder.append(rows.buf, b, b.At(i))
			rows.rows++
		}
		if len(rows.buf) > c.maxBytes {
			return tooLarge(c.maxBytes)
		}
		c.last = b.Position(b.At(n - 1))
	}
	// The store was asked for one row more than fits, so the read ends by
	// itself: breaking it off would cost its connection.
	c.more = c.more || n < b.Len
	return nil
}

func tooLarge(max int) error {
	return fault.New(fault.Invalid, CodeResponseTooLarge,
		"The complete response would be larger than %d bytes. Send a new request with a lower limit or fewer field groups.", max)
}

// The optimistic part of the soft deadline: one read of the whole range. Only
// a read that does not end in it is cut into slices of time.
const (
	optimisticShare = 0.4
	firstSliceShare = 256 // of the window
	sliceGrowth     = 4
	quickSlice      = 20 // the part of the soft deadline below which slices grow
)

// readPage fills the collector and gives the place where the next page goes
// on; nil: there is none.
func (s *Service) readPage(ctx context.Context, in *read, c *pageCollector, start time.Time) (*Position, error) {
	sliceable := in.query.Latest == AllRows
	q := in.query
	q.Limit = in.limit + 1
	first, cancel := ctx, context.CancelFunc(func() {})
	if sliceable {
		first, cancel = context.WithTimeout(ctx, time.Duration(optimisticShare*float64(s.cfg.SoftDeadline)))
	}
	err := s.store.Results(first, in.vis, &q, func(b *Block) error { return c.take(first, b) })
	cancel()
	if err == nil || c.more {
		return c.next(), nil
	}
	if !sliceable || ctx.Err() != nil || fault.KindOf(err) != fault.Timeout {
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

// readSlices goes on with a read that was too slow in one piece: slice after
// slice of its window in the order of the page, until the page is full, the
// window ends, or the soft deadline is over. At least one slice is read, so
// that the page makes progress.
func (s *Service) readSlices(ctx context.Context, in *read, c *pageCollector, start time.Time) (*Position, error) {
	q := in.query
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
	width := max(2, (hi-lo)/firstSliceShare) // one instant alone may be that of the cursor, and no progress
	for lo <= hi {
		from, to := lo, min(hi, lo+width-1)
		if !q.Ascending {
			from, to = max(lo, hi-width+1), hi
		}
		q.Window = contracts.Window{From: fromMs(from), To: fromMs(to)}
		q.Limit = in.limit + 1 - c.page.Rows.rows
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

// sliceEdge is the place after every row of the slice in the order of the
// read: its last instant with the last key that an instant can have. Within
// an instant ascending is from the largest key to the smallest.
func sliceEdge(from, to int64, ascending bool) Position {
	if ascending {
		return Position{CapturedMs: to, Item: 1} // ids begin with 1
	}
	return Position{
		CapturedMs: from, Item: math.MaxUint64, Site: "\U0010ffff", Epoch: math.MaxUint32, Seq: math.MaxUint64,
		Capture: math.MaxUint16, Offer: math.MaxUint16,
	}
}

// StreamResults reads all rows of the window in order. It has no deadline as
// a whole, but none of its waits for the store may be longer than the hard
// budget.
func (s *Service) StreamResults(ctx context.Context, p Principal, r ResultsRequest, w ResultsStream) error {
	in, err := func() (*read, error) {
		ctx, cancel := context.WithTimeout(ctx, s.cfg.HardBudget)
		defer cancel()
		return s.accept(ctx, p, r)
	}()
	if err != nil {
		return budget(err)
	}
	if in.empty {
		return w.Start(in.echo.Scope)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(s.cfg.HardBudget, func() { cancel(context.DeadlineExceeded) })
	defer watch.Stop()

	c := &streamer{in: in, w: w, maxLine: s.cfg.MaxResponseBytes}
	err = s.store.Results(ctx, in.vis, &in.query, func(b *Block) error {
		watch.Stop() // the client may be slow; only the store's time counts
		defer watch.Reset(s.cfg.HardBudget)
		return c.take(ctx, b)
	})
	if err != nil {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			err = context.DeadlineExceeded
		}
		return budget(err)
	}
	return c.start()
}

// streamer encodes blocks as NDJSON.
type streamer struct {
	in      *read
	w       ResultsStream
	buf     []byte
	started bool
	maxLine int
}

// A stream hands its lines on in chunks of about this size.
const chunkBytes = 512 << 10

func (c *streamer) start() error {
	if c.started {
		return nil
	}
	c.started = true
	return c.w.Start(c.in.echo.Scope)
}

func (c *streamer) take(ctx context.Context, b *Block) error {
	if b.Len == 0 {
		return nil
	}
	if err := c.in.encoder.rich.load(ctx, b); err != nil {
		return err
	}
	c.in.encoder.begin(b)
	c.buf = c.buf[:0]
	from := 0
	for i := range b.Len {
		line := len(c.buf)
		c.buf = append(c.in.encoder.append(c.buf, b, b.At(i)), '\n')
		if len(c.buf)-line > c.maxLine {
			return tooLarge(c.maxLine)
		}
		if len(c.buf) >= chunkBytes || i == b.Len-1 {
			if err := c.start(); err != nil { // only now: a first line that is too large is refused as a page is
				return err
			}
			if err := c.w.Lines(c.buf, i+1-from); err != nil {
				return err
			}
			c.buf, from = c.buf[:0], i+1
		}
	}
	return nil
}
