package store

import (
	"context"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// densityParts is into how many parts a window is divided to measure it.
const densityParts = 4096

// earliest is before any capture that is accepted; it stands for an open
// lower bound.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// cut is a part of a window, both ends included.
type cut struct {
	from, to int64  // ms
	rows     uint64 // to make room for: about those that are scanned in it
	whole    bool   // is to be measured and cut itself
}

func (c cut) window() contracts.Window {
	return contracts.Window{From: time.UnixMilli(c.from), To: time.UnixMilli(c.to)}
}

// part is a step of a window in which there are n rows. They are counted from
// 0, the newest.
type part struct {
	at int64
	n  uint64
}

// cutter cuts the window of a read so that about as many rows are scanned in
// each cut, in the order of the read, and in none more than twice as many. A
// part that holds more than that is measured by itself when its turn comes:
// rows may be crowded into any corner of a long window. Only captures of one
// instant cannot be cut.
type cutter struct {
	measure   func(ctx context.Context, from, to, step int64) ([]part, error) // parts with rows, newest first
	rows      uint64                                                          // of a cut
	ascending bool
	ahead     []cut // the next one last
}

// cutter is of a read whose window has an upper bound.
func (s *Store) cutter(v query.Visibility, q *query.ResultsQuery) *cutter {
	whole := cut{from: earliest.UnixMilli(), to: q.Window.To.UnixMilli()}
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
		measure: func(ctx context.Context, from, to, step int64) ([]part, error) {
			return s.density(ctx, v.Mandate, from, to, step)
		},
		rows: s.sliceRows, ascending: q.Ascending, ahead: []cut{whole},
	}
}

func (s *Store) density(ctx context.Context, m contracts.MandateID, from, to, step int64) ([]part, error) {
	p := params{}
	p.uint("mandate", uint64(m))
	p.int("low", -to)
	p.int("high", -from)
	p.int("step", step)
	return rows(ctx, s, render("density.sql", s.shards, p), func(r driver.Rows) (pt part, err error) {
		err = r.Scan(&pt.at, &pt.n)
		return pt, err
	})
}

// next gives the next cut; not ok: there is none.
func (c *cutter) next(ctx context.Context) (_ cut, ok bool, err error) {
	for len(c.ahead) > 0 {
		last := len(c.ahead) - 1
		next := c.ahead[last]
		c.ahead = c.ahead[:last]
		if next.rows > 2*c.rows && next.from < next.to {
			next.whole = true // cut when more was asked for at once
		}
		if !next.whole {
			return c.joined(next), true, nil
		}
		cuts, err := c.divide(ctx, next)
		if err != nil {
			return cut{}, false, err
		}
		if !c.ascending {
			slices.Reverse(cuts)
		}
		c.ahead = append(c.ahead, cuts...)
	}
	return cut{}, false, nil
}

// joined is a cut with those behind it that it has room for: they were cut
// when less was asked for at once.
func (c *cutter) joined(next cut) cut {
	for len(c.ahead) > 0 {
		last := c.ahead[len(c.ahead)-1]
		if last.whole || next.rows >= c.rows || next.rows+last.rows >= 2*c.rows { // which may stand for more
			break
		}
		c.ahead = c.ahead[:len(c.ahead)-1]
		next = cut{from: min(next.from, last.from), to: max(next.to, last.to), rows: next.rows + last.rows}
	}
	return next
}

// divide measures a part of the window and cuts it, newest first, as the key
// is: a cut ends with the part that fills it.
func (c *cutter) divide(ctx context.Context, w cut) ([]cut, error) {
	step := (w.to-w.from)/densityParts + 1
	parts, err := c.measure(ctx, w.from, w.to, step)
	if err != nil {
		return nil, err
	}
	var cuts []cut
	to, n := w.to, uint64(0)
	end := func(from int64) {
		cuts = append(cuts, cut{from: from, to: to, rows: min(n, 2*c.rows), whole: n > 2*c.rows && step > 1})
		to, n = from-1, 0
	}
	for _, p := range parts {
		if newest := w.to - p.at*step; n+p.n > 2*c.rows && newest < to {
			end(newest + 1) // without this part
		}
		if n += p.n; n >= c.rows {
			end(max(w.from, w.to-(p.at+1)*step+1))
		}
	}
	if to >= w.from {
		end(w.from)
	}
	return cuts, nil
}
