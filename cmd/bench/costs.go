package main

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"
)

// costOf is something whose cost is measured by itself: what one of it takes of
// the CPU of a query node and of ClickHouse, and how many statements.
type costOf struct {
	key, title string
	do         func(ctx context.Context, n int) (units int64) // the n-th time
}

// measureCosts measures what a capacity plan needs: the cost of a request and of
// a row that is read, by one client that sends one request at a time. What it
// reads again is remembered, and what it reads for the first time is not: such
// requests differ by a millisecond of their window.
func (r *run) measureCosts(ctx context.Context) {
	reads := r.hotReads(ctx)
	if r.err != nil {
		return
	}
	hot := func(key string) hotRead {
		return reads[slices.IndexFunc(reads, func(q hotRead) bool { return q.key == key })]
	}
	one := func(ask answer) func(context.Context, int) int64 {
		return func(ctx context.Context, n int) int64 {
			ask(ctx, n)
			return 1
		}
	}
	for _, u := range []costOf{
		{"list", "a list that is remembered", one(r.ours(hot("sites_vs_healthz")))},
		{"latest", "the latest rows of a product, remembered", one(r.ours(hot("latest_item_vs_clickhouse")))},
		{"small_page", "10 rows of a product of 168 h, read for the first time", one(func(ctx context.Context, n int) {
			q := hot("page_item_vs_clickhouse")
			r.hotAnswer(ctx, q.path, r.unread(q.ask(n)))
		})},
		{"page", "a page of 10,000 rows, read for the first time", one(func(ctx context.Context, _ int) {
			r.page(ctx, r.world.database, 1, r.unread(r.widePage()))
		})},
		{"streamed_row", "a row of a stream with export fields", func(ctx context.Context, _ int) int64 {
			return r.streams(1, r.unread(r.exported(r.data.starts[tableRows])), nil)(ctx).rows
		}},
	} {
		r.measureCost(ctx, u)
	}
}

// unread moves the start of a request by some milliseconds, other ones each time:
// a question that nobody has sent before.
func (r *run) unread(query url.Values) url.Values {
	from, err := time.Parse(time.RFC3339Nano, query.Get("capturedFrom"))
	if err != nil {
		panic("bench: a window without a start") // a mistake in a request of this program
	}
	r.unreadSoFar++
	return with(query, "capturedFrom", from.Add(time.Duration(r.unreadSoFar)*time.Millisecond).Format(time.RFC3339Nano))
}

// measureCost repeats one thing for some rounds and puts its cost.
func (r *run) measureCost(ctx context.Context, u costOf) {
	n := 0
	once := func(ctx context.Context) (d done) {
		d.rows, n = u.do(ctx, n), n+1
		return d
	}
	r.interleave(ctx, 1, 0, contestant{u.title, once})
	var all CPU
	var total int64
	var node, clickhouse []float64 // µs of one unit, by round
	since := time.Now()
	for range r.size.costRounds {
		s := r.interleave(ctx, 0, 1, contestant{u.title, func(ctx context.Context) (d done) {
			for began := time.Now(); time.Since(began) < r.size.costRound && r.err == nil; {
				d.rows += once(ctx).rows
			}
			if d.rows == 0 {
				r.failed(errors.New("nothing was read"))
			}
			return d
		}})[0]
		all.add(s.CPU, CPU{})
		total += s.Rows
		node, clickhouse = append(node, 1e6*s.CPU.Query/float64(s.Rows)), append(clickhouse, 1e6*s.CPU.ClickHouse/float64(s.Rows))
	}
	each := func(seconds float64, rounds []float64) spread {
		return spread{1e6 * seconds / float64(total), slices.Min(rounds), slices.Max(rounds)}
	}
	r.put("cost_"+u.key+"_node_cpu_us", u.title+": CPU of the query node", "µs", each(all.Query, node), 0, true, "")
	r.put("cost_"+u.key+"_clickhouse_cpu_us", u.title+": CPU of ClickHouse", "µs", each(all.ClickHouse, clickhouse), 0, true, "")
	for _, w := range r.work(ctx, r.world.database, since, "%") {
		if w.Name == "ours" {
			r.put("cost_"+u.key+"_statements", u.title+": statements", "", exactly(float64(w.Queries)/float64(total)), 0, true, "")
		}
	}
}
