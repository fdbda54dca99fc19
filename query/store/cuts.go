package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/query"
)

const (
	// densityParts is the number of parts that a window is divided into to
	// measure it.
	densityParts = 4096
	// estimatedRows is how many rows a cut has at least if its number is
	// estimated by the index, which counts granules and not rows.
	estimatedRows = 32_768
	// countedRows is the number of rows, by the index, up to which a part of a
	// window is measured by counting them.
	countedRows = 16 * estimatedRows
)

// earliest is before any capture that is accepted; it stands for an open lower
// bound.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// latest is after any capture that is accepted.
var latest = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// cut is a part of a window, both ends included.
type cut struct {
	from, to int64  // ms
	rows     uint64 // to reserve memory for: about the number scanned in it
	unseen   uint64 // of these, how many may be in the cuts beside it instead
	whole    bool   // must be measured and cut itself
	few      bool   // its rows may be counted
}

func (c cut) window() contracts.Window {
	return contracts.Window{From: time.UnixMilli(c.from), To: time.UnixMilli(c.to)}
}

// part is a step of a window that contains n rows. Steps are numbered from 0,
// the newest.
type part struct {
	at int64
	n  uint64
}

// cutter cuts the window of a read, in the order of the read, so that about
// equally many rows are scanned in each cut, and in none more than twice as
// many. A part that holds more than that is measured on its own when its turn
// comes, because rows may be crowded into any corner of a long window. Only
// captures of one instant cannot be cut. A long window is measured with the
// primary index, which reads no rows, and only to the index's precision;
// smaller parts are counted.
type cutter struct {
	estimate  func(ctx context.Context, from, to, step int64) (_ []part, unseen uint64, _ error) // up to unseen more rows are in any part
	count     func(ctx context.Context, from, to, step int64) ([]part, error)                    // parts with rows, newest first
	rows      uint64                                                                             // of a cut
	least     uint64                                                                             // of a cut that is estimated
	ascending bool
	ahead     []cut // the next one last
}

// cutter returns the cutter of a read whose window has an upper bound.
func (s *Store) cutter(v query.Visibility, q *query.ResultsQuery) *cutter {
	whole := cut{from: earliest.UnixMilli(), to: min(q.Window.To.UnixMilli(), latest.UnixMilli())}
	if !q.Window.From.IsZero() {
		whole.from = q.Window.From.UnixMilli()
	}
	if a := q.After; a != nil && q.Ascending {
		whole.from = max(whole.from, a.CapturedMs)
	} else if a != nil {
		whole.to = min(whole.to, a.CapturedMs)
	}
	whole.whole = whole.from < whole.to
	return &cutter{
		estimate: func(ctx context.Context, from, to, step int64) ([]part, uint64, error) {
			return s.granules(ctx, v.Mandate, from, to, step)
		},
		count: func(ctx context.Context, from, to, step int64) ([]part, error) {
			return s.density(ctx, "density.sql", v.Mandate, from, to, step)
		},
		rows: s.sliceRows, least: estimatedRows, ascending: q.Ascending, ahead: []cut{whole},
	}
}

// granules estimates with the primary index. Rows of a granule that begins in
// one part of the window may lie in the following ones: at most one granule for
// each part of the table can be missing anywhere.
func (s *Store) granules(ctx context.Context, m contracts.MandateID, from, to, step int64) (parts []part, unseen uint64, err error) {
	if s.shards.Several() { // this server has no index of their rows
		parts, err = s.density(ctx, "density.sql", m, from, to, step)
		return parts, 0, err
	}
	parts, err = s.density(ctx, "granules.sql", m, from, to, step)
	if len(parts) > 0 && parts[0].at < 0 {
		unseen, parts = parts[0].n, parts[1:]
	}
	return parts, unseen, err
}

func (s *Store) density(ctx context.Context, file string, m contracts.MandateID, from, to, step int64) ([]part, error) {
	p := params{}
	p.uint("mandate", uint64(m))
	p.int("low", -to)
	p.int("high", -from)
	p.int("step", step)
	p.text("first_quarter", quarterOf(from))
	p.text("last_quarter", quarterOf(to))
	return rows(ctx, s, render(file, s.shards, p), into(func(p *part) []any { return []any{&p.at, &p.n} }))
}

// quarterOf returns the partition of a capture time, in the form that the names
// of its parts begin with.
func quarterOf(ms int64) string {
	t := time.UnixMilli(ms).UTC()
	return fmt.Sprintf("%04d%02d01", t.Year(), (t.Month()-1)/3*3+1)
}

// begin measures the window as a whole.
func (c *cutter) begin(ctx context.Context) error {
	whole := c.ahead[0]
	if !whole.whole {
		return nil
	}
	cuts, err := c.divide(ctx, whole)
	c.ahead = cuts
	return err
}

// skip drops what lies before a time, in the order of the read.
func (c *cutter) skip(ms int64) {
	for len(c.ahead) > 0 {
		next := &c.ahead[len(c.ahead)-1]
		if c.ascending && next.to >= ms {
			next.from = max(next.from, ms)
			return
		} else if !c.ascending && next.from <= ms {
			next.to = min(next.to, ms)
			return
		}
		c.ahead = c.ahead[:len(c.ahead)-1]
	}
}

// next returns the next cut; not ok: there is none.
func (c *cutter) next(ctx context.Context) (_ cut, ok bool, err error) {
	for len(c.ahead) > 0 {
		last := len(c.ahead) - 1
		next := c.ahead[last]
		c.ahead = c.ahead[:last]
		if next.rows > 2*c.rows && next.from < next.to {
			next.whole, next.few = true, true // cut when more rows were allowed at once
		}
		if !next.whole {
			next = c.joined(next)
			next.rows = min(next.rows, 2*c.rows) // a single instant may have more
			return next, true, nil
		}
		cuts, err := c.divide(ctx, next)
		if err != nil {
			return cut{}, false, err
		}
		c.ahead = append(c.ahead, cuts...)
	}
	return cut{}, false, nil
}

// joined merges a cut with the following ones that it has room for: they were
// cut when fewer rows were allowed at once, or as finely as the index can.
func (c *cutter) joined(next cut) cut {
	for len(c.ahead) > 0 {
		last := c.ahead[len(c.ahead)-1]
		unseen := min(next.unseen, last.unseen)
		if last.whole || next.rows-next.unseen >= c.rows || next.rows+last.rows-unseen >= 2*c.rows { // it may stand for more
			break
		}
		c.ahead = c.ahead[:len(c.ahead)-1]
		next = cut{from: min(next.from, last.from), to: max(next.to, last.to), rows: next.rows + last.rows - unseen, unseen: unseen}
	}
	return next
}

// divide measures a part of the window and cuts it; the next cut is last. The
// key is newest first: a cut ends with the part that fills it.
func (c *cutter) divide(ctx context.Context, w cut) (cuts []cut, err error) {
	step := (w.to-w.from)/densityParts + 1
	rows := c.rows
	var parts []part
	var unseen uint64
	if w.few {
		parts, err = c.count(ctx, w.from, w.to, step)
	} else {
		parts, unseen, err = c.estimate(ctx, w.from, w.to, step)
		rows = c.least // of the first, small pieces; cuts are joined as pieces grow
	}
	if err != nil {
		return nil, err
	}
	limit := 2 * max(rows, c.rows)
	to, n := w.to, uint64(0)
	end := func(from int64) {
		most := n + unseen
		cuts = append(cuts, cut{from: from, to: to, rows: most, unseen: unseen, whole: most > limit && from < to && (step > 1 || !w.few), few: n <= countedRows})
		to, n = from-1, 0
	}
	for _, p := range parts {
		if newest := w.to - p.at*step; n+p.n > 2*rows && newest < to {
			end(newest + 1) // without this part
		}
		if n += p.n; n >= rows {
			end(max(w.from, w.to-(p.at+1)*step+1))
		}
	}
	if to >= w.from {
		end(w.from)
	}
	if !c.ascending {
		slices.Reverse(cuts)
	}
	return cuts, nil
}
