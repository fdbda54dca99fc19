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
func (r *run) measureGrowth(ctx context.Context) error {
	for _, part := range []func(context.Context) error{r.growRows, r.growMandates, r.growMandate, r.growStream} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// grown is one size of the data that a page is read from.
type grown struct {
	database string
	x        float64
}

// growPages reads the page of a mandate at each size and draws the curve. It
// returns the series in the order of the sizes.
func (r *run) growPages(ctx context.Context, curve Curve, mandate uint64, sizes []grown) ([]Series, error) {
	query := window(r.data.from, r.data.to, "globalScope", "true", "limit", "10000")
	var contestants []contestant
	for _, g := range sizes {
		contestants = append(contestants, contestant{short(g.x) + " " + curve.X, r.paged(g.database, mandate, query)})
	}
	since := time.Now()
	series, err := r.interleave(ctx, r.size.warm, r.size.rounds, contestants...)
	if err != nil {
		return nil, err
	}
	line := Line{Name: "page of 10,000, p50 with least and greatest"}
	table := Table{Title: curve.Title, Series: series}
	for i, s := range series {
		line.Points = append(line.Points, Point{sizes[i].x, 1e3 * s.Median(), 1e3 * s.Least(), 1e3 * s.Greatest()})
		work, err := r.work(ctx, sizes[i].database, since, byMandate)
		if err != nil {
			return nil, err
		}
		for _, k := range work {
			k.Name = s.Name
			table.Work = append(table.Work, k)
		}
	}
	curve.Lines = []Line{line}
	r.result.Growth = append(r.result.Growth, curve)
	r.result.Tables = append(r.result.Tables, table)
	return series, nil
}

// growRows keeps a tenth and three tenths of all events.
func (r *run) growRows(ctx context.Context) error {
	if r.data.inWindow[1] < 110_000 {
		r.result.Missing = append(r.result.Missing, "a page at 10 x the rows: a tenth of so few observations fills no page")
		return nil
	}
	sizes := []grown{}
	for _, tenths := range []int{1, 3} {
		database := extraPrefix + strconv.Itoa(tenths) + "_tenths"
		if _, err := r.cut(ctx, database, "mandate = 1", fmt.Sprintf("seq %% 10 < %d", tenths)); err != nil {
			return err
		}
		sizes = append(sizes, grown{database, float64(r.data.inWindow[1]) * float64(tenths) / 10})
	}
	sizes = append(sizes, grown{r.world.database, float64(r.data.inWindow[1])})
	series, err := r.growPages(ctx, Curve{Title: "The same page, of 1 x and of 10 x the rows", X: "rows of the mandate in 168 h", Y: "ms", LogX: true}, 1, sizes)
	if err != nil {
		return err
	}
	r.result.put("page_growth", "page of 10,000: time at 10 x the rows of its mandate", "×", slower(series[len(series)-1], series[0]), 1.2, true, "")
	return nil
}

// growMandates reads the page of one mandate alone, alongside nine smaller ones,
// and alongside all.
func (r *run) growMandates(ctx context.Context) error {
	m := r.data.alone
	if m == 0 || m+9 > uint64(r.data.mandates) {
		r.result.Missing = append(r.result.Missing, "a page beside more and more mandates: with so few observations no small mandate fills a page")
		return nil
	}
	var sizes []grown
	for _, n := range []uint64{1, 10} {
		database := fmt.Sprintf("%sof_%d", extraPrefix, n)
		if _, err := r.cut(ctx, database, fmt.Sprintf("mandate BETWEEN %d AND %d", m, m+n-1), "1"); err != nil {
			return err
		}
		sizes = append(sizes, grown{database, float64(n)})
	}
	sizes = append(sizes, grown{r.world.database, float64(r.data.mandates)})
	series, err := r.growPages(ctx, Curve{Title: fmt.Sprintf("The same page, beside 1 to %d mandates", r.data.mandates), X: "mandates", Y: "ms", LogX: true}, m, sizes)
	if err != nil {
		return err
	}
	r.result.put("page_100_mandates", fmt.Sprintf("page of 10,000: time among %d mandates against alone", r.data.mandates), "×", slower(series[len(series)-1], series[0]), 1.2, true, "")
	return nil
}

// growMandate reads pages of mandates of all sizes.
func (r *run) growMandate(ctx context.Context) error {
	line := Line{Name: "page of 10,000, p50 with least and greatest"}
	query := window(r.data.from, r.data.to, "globalScope", "true", "limit", "10000")
	var contestants []contestant
	var at []int64
	for m := r.data.mandates; m >= 1; m-- {
		if n := r.data.inWindow[m]; n > 10_000 && (len(at) == 0 || n >= 2*at[len(at)-1] || m == 1) {
			at = append(at, n)
			contestants = append(contestants, contestant{strconv.Itoa(m), r.paged(r.world.database, uint64(m), query)})
		}
	}
	series, err := r.interleave(ctx, r.size.warm, r.size.readRounds, contestants...)
	if err != nil {
		return err
	}
	for i, s := range series {
		line.Points = append(line.Points, Point{float64(at[i]), 1e3 * s.Median(), 1e3 * s.Least(), 1e3 * s.Greatest()})
	}
	r.result.Growth = append(r.result.Growth, Curve{
		Title: "Pages of small and large mandates", X: "rows of the mandate in 168 h", Y: "ms", LogX: true, Lines: []Line{line},
	})
	return nil
}

// growStream reads streams of growing length, ours and ClickHouse's own.
func (r *run) growStream(ctx context.Context) error {
	streams := Curve{Title: "A stream by its rows", X: "rows", Y: "s"}
	for _, c := range []struct {
		name string
		do   func(ctx context.Context, from time.Time) (done, error)
	}{
		{"preismon stream", func(ctx context.Context, from time.Time) (done, error) {
			return r.stream(ctx, r.world.database, 1, r.exported(from), nil)
		}},
		{"ClickHouse JSONEachRow", func(ctx context.Context, from time.Time) (done, error) {
			return r.clickhouse(ctx, r.sql(selection{mandate: 1, from: from, export: true}), jsonEachRow)
		}},
	} {
		line := Line{Name: c.name}
		for _, rows := range []int{r.size.streamRows / 10, r.size.streamRows / 3, r.size.streamRows} {
			from, err := r.windowOf(ctx, rows)
			if err != nil {
				return err
			}
			series, err := r.interleave(ctx, 1, min(3, r.size.streamRounds), contestant{c.name, func(ctx context.Context) (done, error) { return c.do(ctx, from) }})
			if err != nil {
				return err
			}
			s := series[0]
			line.Points = append(line.Points, Point{float64(s.Rows), s.Median(), s.Least(), s.Greatest()})
		}
		streams.Lines = append(streams.Lines, line)
	}
	r.result.Growth = append(r.result.Growth, streams)
	return nil
}
