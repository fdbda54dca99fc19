package store

import (
	"context"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"preismon/deploy/testserver/must"
)

// captures measures windows as ClickHouse does, from the capture times of rows.
type captures struct {
	at       []int64   // newest first
	table    [][]int64 // the same, in the parts of a table, each divided into granules
	granule  int
	measured int
}

// estimate measures by the first rows of granules.
func (c *captures) estimate(_ context.Context, from, to, step int64) (parts []part, unseen uint64, _ error) {
	c.measured++
	n := map[int64]uint64{}
	for _, at := range c.table {
		for i := 0; i < len(at); i += c.granule {
			if rows := min(c.granule, len(at)-i); at[i] >= from && at[i] <= to {
				n[(to-at[i])/step] += uint64(rows)
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, part{at: k, n: n[k]})
	}
	return parts, c.unseen(), nil
}

// unseen is how many rows may be in another part of a window than estimated.
func (c *captures) unseen() (n uint64) {
	for _, at := range c.table {
		n += uint64(min(c.granule, len(at)))
	}
	return n
}

func (c *captures) count(_ context.Context, from, to, step int64) (parts []part, err error) {
	c.measured++
	for _, at := range c.at { // newest first
		if at < from || at > to {
			continue
		}
		k := (to - at) / step
		if n := len(parts); n == 0 || parts[n-1].at != k {
			parts = append(parts, part{at: k})
		}
		parts[len(parts)-1].n++
	}
	return parts, nil
}

func (c *captures) in(w cut) (n int) {
	for _, at := range c.at {
		if at >= w.from && at <= w.to {
			n++
		}
	}
	return n
}

func (c *captures) cutter(from, to int64, rows, least uint64, ascending bool) *cutter {
	return &cutter{estimate: c.estimate, count: c.count, rows: rows, least: least, ascending: ascending, ahead: []cut{{from: from, to: to, whole: from < to}}}
}

func (c *captures) cuts(t must.TB, cutter *cutter) (all []cut) {
	for {
		next, ok, err := cutter.next(context.Background())
		must.Do(t, err)
		if !ok {
			return all
		}
		all = append(all, next)
	}
}

// TestCuts: the cuts are the window without gaps or overlaps, in the order of
// the read; none but those of one instant has more than twice the rows, however
// crowded they are, and there are no more cuts than necessary.
func TestCuts(t *testing.T) {
	const century = 100 * 365 * 24 * 3600 * 1000 // ms
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Int64Range(-century, century).Draw(t, "from")
		to := from + rapid.OneOf(rapid.Int64Range(0, 20_000), rapid.Int64Range(0, century)).Draw(t, "length")
		var c captures
		for range rapid.IntRange(0, 5).Draw(t, "crowds") {
			at := rapid.Int64Range(from, to).Draw(t, "at")
			spread := rapid.SampledFrom([]int64{1, 2, 100, 10_000, century}).Draw(t, "spread")
			for range rapid.IntRange(1, 100).Draw(t, "captures") {
				c.at = append(c.at, min(to, at+rapid.Int64Range(0, spread-1).Draw(t, "later")))
			}
		}
		slices.SortFunc(c.at, func(a, b int64) int { return int(max(-1, min(1, b-a))) })
		c.granule = rapid.IntRange(1, 20).Draw(t, "granule")
		c.table = make([][]int64, rapid.IntRange(1, 4).Draw(t, "parts of the table"))
		for _, at := range c.at {
			n := rapid.IntRange(0, len(c.table)-1).Draw(t, "part")
			c.table[n] = append(c.table[n], at)
		}
		rows := rapid.Uint64Range(1, 50).Draw(t, "rows")
		least := rapid.Uint64Range(1, 200).Draw(t, "rows that are estimated")
		ascending := rapid.Bool().Draw(t, "ascending")
		cutter := c.cutter(from, to, rows, least, ascending)
		if rapid.Bool().Draw(t, "begun before the first rows are known") {
			must.Do(t, cutter.begin(context.Background()))
			after := rapid.Int64Range(from, to).Draw(t, "place of the last of them")
			if cutter.skip(after); ascending {
				from = after
			} else {
				to = after
			}
		}
		cuts := c.cuts(t, cutter)
		each := rows // that a cut has at least, or two together
		if c.unseen() > rows {
			each = min(rows, least) // what may be in either of two cuts does not let them be joined
		}
		if most := 2*len(c.at)/int(each) + 2*c.measured + 1; len(cuts) > most {
			t.Fatalf("%d cuts of %d rows, at most %d", len(cuts), len(c.at), most)
		}
		if ascending {
			slices.Reverse(cuts)
		}
		edge := to
		for _, w := range cuts {
			if w.to != edge || w.from > w.to {
				t.Fatalf("a cut from %d to %d where one up to %d follows", w.from, w.to, edge)
			}
			edge = w.from - 1
			if n := c.in(w); n > int(2*rows) && w.from < w.to || w.rows > 2*rows || w.rows < min(uint64(n), 2*rows) && from < to {
				t.Fatalf("%d rows, room for %d, in a cut of %d ms; slices have %d", n, w.rows, w.to-w.from+1, rows)
			}
		}
		if edge != from-1 {
			t.Fatalf("the cuts end at %d, the window begins at %d", edge+1, from)
		}
	})
}

// TestCutsAreMeasuredInTheirTurn: the first rows of a long read do not wait
// until all of it is measured.
func TestCutsAreMeasuredInTheirTurn(t *testing.T) {
	const day = 24 * 3600 * 1000
	var c captures
	for d := int64(100); d >= 0; d-- { // a crowd each day
		for i := range int64(40) {
			c.at = append(c.at, d*day-i)
		}
	}
	c.granule, c.table = 7, [][]int64{c.at}
	cutter := c.cutter(-day, 200*day, 5, 20, false)
	for n := range 4 { // including the empty days before the first crowd
		if _, ok, err := cutter.next(t.Context()); !ok || err != nil {
			t.Fatalf("cut %d: %v, %v", n, ok, err)
		}
	}
	if c.measured > 5 { // the window by its granules, a part of it counted, one of hours, one of minutes, one of instants
		t.Errorf("measured %d times", c.measured)
	}
}

// TestSmallCutsAreNotCounted: cuts for the first, small pieces of a stream come
// from the one estimate of the window, and are joined as pieces grow. Where rows
// are crowded, or the table has many parts, only the first are counted.
func TestSmallCutsAreNotCounted(t *testing.T) {
	const rows, granule, least = 100_000, 50, 500
	for name, of := range map[string]struct{ parts, burst, measured int }{
		"even": {4, 1, 1}, "in bursts": {4, least * 9 / 10, 2}, "many parts": {30, 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			c := &captures{granule: granule, table: make([][]int64, of.parts)}
			for i := range rows {
				at := 10*int64(rows-i/of.burst*of.burst) - int64(i%of.burst)/100
				c.at = append(c.at, at)
				c.table[i%of.parts] = append(c.table[i%of.parts], at)
			}
			cutter := c.cutter(0, 10*rows, 4*least, least, false)
			must.Do(t, cutter.begin(t.Context()))
			var read, cuts int
			for allowed := uint64(least); ; allowed = min(8*allowed, 4*least) {
				cutter.rows = allowed
				next, ok, err := cutter.next(t.Context())
				must.Do(t, err)
				if !ok {
					break
				}
				n := c.in(next)
				if uint64(n) > 2*allowed || uint64(n) > next.rows {
					t.Errorf("%d rows, with room for %d, where %d are allowed", n, next.rows, allowed)
				}
				read += n
				cuts++
			}
			if c.measured > of.measured || read != rows || cuts > rows/(3*least) {
				t.Errorf("measured %d times, %d rows in %d cuts", c.measured, read, cuts)
			}
		})
	}
}
