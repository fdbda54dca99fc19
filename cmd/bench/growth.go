package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// measureGrowth asks the same of more and more data: a page alongside more rows
// of its own mandate, a page alongside more mandates, pages of mandates of all
// sizes, and streams of growing length.
func (r *run) measureGrowth(ctx context.Context) {
	r.growRows(ctx)
	r.growMandates(ctx)
	r.growMandate(ctx)
	r.growStream(ctx)
}

// grown is one size of the data that a page is read from.
type grown struct {
	name     string
	database string
	x        float64
}

// readPages reads the page of a mandate at each size, as a table.
func (r *run) readPages(ctx context.Context, t *Table, mandate uint64, sizes []grown) []Series {
	var contestants []contestant
	for _, g := range sizes {
		contestants = append(contestants, contestant{g.name, r.pages(g.database, mandate, r.widePage())})
	}
	since := time.Now()
	series := r.compare(ctx, t, r.size.warm, r.size.rounds, contestants...)
	for _, g := range sizes {
		r.addWork(ctx, t, g.name, g.database, byMandate, since)
	}
	return series
}

// curve adds a curve to the result.
func (r *run) curve(title, x, y string, logX bool, lines ...Line) {
	if r.err == nil {
		r.result.Growth = append(r.result.Growth, Curve{Title: title, X: x, Y: y, LogX: logX, Lines: lines})
	}
}

// pageCurve adds a curve of pages by their size.
func (r *run) pageCurve(title, x string, sizes []grown, series []Series) {
	line := Line{Name: "page of 10,000, p50 with least and greatest"}
	for i, s := range series {
		line.Points = append(line.Points, s.point(sizes[i].x, 1e3))
	}
	r.curve(title, x, "ms", true, line)
}

// growPages reads the page of a mandate at each size and draws the curve. It puts
// the time at the last size against that at the first one.
func (r *run) growPages(ctx context.Context, title, x string, mandate uint64, sizes []grown, key, what string) {
	for i := range sizes {
		sizes[i].name = short(sizes[i].x) + " " + x
	}
	series := r.readPages(ctx, r.table(title, ""), mandate, sizes)
	r.pageCurve(title, x, sizes, series)
	r.put(key, what, "×", slower(series[len(series)-1], series[0]), 1.2, true, "")
}

// growRows keeps a tenth and three tenths of all events.
func (r *run) growRows(ctx context.Context) {
	rows := float64(r.data.inWindow[1])
	if rows < 110_000 {
		r.result.miss("a page at 10 x the rows: a tenth of so few observations fills no page")
		return
	}
	var sizes []grown
	for _, tenths := range []int{1, 3} {
		database := extraPrefix + strconv.Itoa(tenths) + "_tenths"
		r.cut(ctx, database, "mandate = 1", fmt.Sprintf("seq %% 10 < %d", tenths))
		sizes = append(sizes, grown{database: database, x: rows * float64(tenths) / 10})
	}
	r.growPages(ctx, "The same page, of 1 x and of 10 x the rows", "rows of the mandate in 168 h", 1,
		append(sizes, grown{database: r.world.database, x: rows}), "page_growth", "page of 10,000: time at 10 x the rows of its mandate")
}

// growMandates reads the page of one mandate alone, alongside nine smaller ones,
// and alongside all.
func (r *run) growMandates(ctx context.Context) {
	m, all := r.data.alone, r.data.mandates
	if m == 0 || m+9 > uint64(all) {
		r.result.miss("a page beside more and more mandates: with so few observations no small mandate fills a page")
		return
	}
	var sizes []grown
	for _, n := range []uint64{1, 10} {
		database := fmt.Sprintf("%sof_%d", extraPrefix, n)
		r.cut(ctx, database, fmt.Sprintf("mandate BETWEEN %d AND %d", m, m+n-1), "1")
		sizes = append(sizes, grown{database: database, x: float64(n)})
	}
	r.growPages(ctx, fmt.Sprintf("The same page, beside 1 to %d mandates", all), "mandates", m,
		append(sizes, grown{database: r.world.database, x: float64(all)}), "page_100_mandates", fmt.Sprintf("page of 10,000: time among %d mandates against alone", all))
}

// growMandate reads pages of mandates of all sizes.
func (r *run) growMandate(ctx context.Context) {
	var contestants []contestant
	var sizes []grown
	for m := r.data.mandates; m >= 1; m-- {
		if n := float64(r.data.inWindow[m]); n > 10_000 && (len(sizes) == 0 || n >= 2*sizes[len(sizes)-1].x || m == 1) {
			sizes = append(sizes, grown{x: n})
			contestants = append(contestants, contestant{strconv.Itoa(m), r.pages(r.world.database, uint64(m), r.widePage())})
		}
	}
	series := r.interleave(ctx, r.size.warm, r.size.readRounds, contestants...)
	r.pageCurve("Pages of small and large mandates", "rows of the mandate in 168 h", sizes, series)
}

// growStream reads streams of growing length, ours and ClickHouse's own.
func (r *run) growStream(ctx context.Context) {
	lines := []Line{{Name: "preismon stream"}, {Name: "ClickHouse JSONEachRow"}}
	for _, rows := range []int{r.size.streamRows / 10, r.size.streamRows / 3, r.size.streamRows} {
		s := selection{mandate: 1, from: r.data.starts[rows], export: true}
		for i, do := range []task{r.streams(1, r.exported(s.from), nil), r.clickhouse(r.sql(s), jsonEachRow)} {
			series := r.interleave(ctx, 1, min(3, r.size.streamRounds), contestant{lines[i].Name, do})
			lines[i].Points = append(lines[i].Points, series[0].point(float64(series[0].Rows), 1))
		}
	}
	r.curve("A stream by its rows", "rows", "s", false, lines...)
}
