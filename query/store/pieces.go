package store

import (
	"context"
	"time"

	"preismon/query"
	"preismon/query/admission"
)

const (
	shortWindow = 25 * time.Hour // is cut only when it turns out to be large: a day for a dashboard is one or two pieces

	firstRows = 8_192 // of a stream; then growth times as many in each piece, as long as the client keeps up
	growth    = 8
	leastRows = 2_048
)

// About how many bytes a row takes, before any rows have been read to measure
// it.
const (
	rowBytes       = 120
	exportRowBytes = 360
)

// piece is what one statement of a stream reads.
type piece struct {
	query   query.ResultsQuery
	options readOptions
	cut     cut // of a window that is cut; otherwise its rows are limited
	rows    int // to reserve memory for
	perRow  int64
}

func (p *piece) bytes() int64 { return int64(p.rows) * p.perRow }

// expected returns how many rows to make room for, given the number in the
// first block: a limit says little about a short answer.
func (p *piece) expected(first int) int {
	if p.query.Limit > 0 && first < leastRows/2 {
		return first
	}
	return p.rows
}

// pieces divides a stream. It begins with a few rows, by a limit, so that they
// are sent at once. The rest of a window that follows the key of
// observations_by_mandate is cut into parts, each read completely; any other
// read continues where the rows of the previous piece ended.
type pieces struct {
	store   *Store
	vis     query.Visibility
	query   query.ResultsQuery // starts where the next piece begins
	read    *admission.Read
	byPair  bool
	cuts    *cutter    // nil: rows are limited
	planned *cutter    // the cuts of the whole window, for when its first rows have been read; nil: made then
	plans   chan error // of the goroutine that makes them; nil: there is none
	passed  *int64     // time up to which the cuts are to be skipped
	rows    int        // of the next piece, about
	perRow  int64
	ended   bool
}

func (s *Store) pieces(v query.Visibility, q *query.ResultsQuery, byPair bool, read *admission.Read) *pieces {
	p := &pieces{store: s, vis: v, query: *q, read: read, byPair: byPair, rows: min(firstRows, int(s.sliceRows)), perRow: rowBytes}
	if q.Export {
		p.perRow = exportRowBytes
	}
	return p
}

// plan begins to cut a long window while its first rows are read.
func (p *pieces) plan(ctx context.Context) {
	if p.planned != nil || p.cuts != nil || p.byPair || !sliceable(&p.query) || short(&p.query) {
		return
	}
	planned, plans := p.store.cutter(p.vis, &p.query), make(chan error, 1)
	p.planned, p.plans = planned, plans
	go func() { plans <- planned.begin(ctx) }() // both may be taken from p before it runs
}

// wait waits until the cuts are made.
func (p *pieces) wait() (err error) {
	if p.plans != nil {
		err = <-p.plans
		p.plans = nil
	}
	return err
}

func short(q *query.ResultsQuery) bool {
	return !q.Window.From.IsZero() && q.Window.Length() <= shortWindow
}

// sliceable reports whether a read follows the key of observations_by_mandate
// to a known end.
func sliceable(q *query.ResultsQuery) bool {
	return q.Limit == 0 && q.Latest == query.AllRows && !q.Selectors.Product() && !q.Window.To.IsZero()
}

// room returns how many rows a piece may have, so that its account has room for
// its other reads.
func (p *pieces) room() int {
	least := min(leastRows, int(p.store.sliceRows))
	return max(least, min(p.rows, int(p.read.Part()/p.perRow)))
}

// next returns the next piece; not ok: there is none, or it is not known until
// the rows before it have been read.
func (p *pieces) next(ctx context.Context) (_ piece, ok bool, err error) {
	if p.ended {
		return piece{}, false, nil
	}
	if p.cuts == nil {
		p.ended = true // until its rows have been read
		q := p.query
		rows := p.room()
		q.Limit = rows
		return piece{query: q, options: readOptions{byPair: p.byPair}, rows: rows, perRow: p.perRow}, true, nil
	}
	if err := p.wait(); err != nil {
		return piece{}, false, err
	}
	if p.passed != nil {
		p.cuts.skip(*p.passed)
		p.passed = nil
	}
	p.cuts.rows = uint64(max(1, min(p.room()/2, int(p.store.sliceRows)))) // a cut has at most twice as many
	c, ok, err := p.cuts.next(ctx)
	if err != nil || !ok {
		return piece{}, false, err
	}
	q := p.query
	q.Window = c.window()
	return piece{query: q, options: readOptions{unsorted: true}, cut: c, rows: int(c.rows), perRow: p.perRow}, true, nil
}

// observe updates the plan from a piece that observe read.
func (p *pieces) observe(sl *slice) {
	b, of := &sl.block, &sl.piece
	if b.Len > 0 && b.Len >= of.rows/2 {
		p.perRow = max(1, sl.bytes()/int64(b.Len))
	}
	if of.options.unsorted || b.Len < of.query.Limit {
		return
	}
	last := b.Position(b.At(b.Len - 1))
	p.query.After, p.ended = &last, false
	if !sliceable(&p.query) || p.byPair || short(&p.query) && p.rows < int(p.store.sliceRows) {
		return
	}
	if p.cuts, p.planned = p.planned, nil; p.cuts == nil {
		p.cuts = p.store.cutter(p.vis, &p.query)
	}
	p.passed = &last.CapturedMs
	p.grow() // smaller ones would have to be counted first
}

// taken records that the client took all of a piece, and may get more at once.
func (p *pieces) taken() { p.grow() }

func (p *pieces) grow() { p.rows = min(growth*p.rows, 2*int(p.store.sliceRows)) }

// reclaimed records that what was read was dropped and must be read again in
// smaller pieces.
func (p *pieces) reclaimed() { p.rows = max(min(leastRows, p.rows), p.rows/4) }

// putBack puts back a piece whose rows after sent must still be read; nil: all of
// them. Of two pieces, the later one is put back first.
func (p *pieces) putBack(of piece, sent *query.Position) {
	if sent == nil {
		sent = of.query.After
	}
	if !of.options.unsorted { // discards all that was known about the rows after it
		p.query.After, p.ended, p.cuts, p.passed = sent, false, nil, nil
		return
	}
	p.cuts.ahead = append(p.cuts.ahead, of.cut)
	if sent != nil {
		p.query.After = sent
		p.cuts.skip(sent.CapturedMs)
	}
}
