package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"
)

// costOf is something whose cost is measured by itself: what one of it takes of
// the CPU of a query node and of ClickHouse, and how many statements.
type costOf struct {
	key, title string
	do         func(ctx context.Context, n int) (units int64, err error) // the n-th time
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
	one := func(ask answer) func(context.Context, int) (int64, error) {
		return func(ctx context.Context, n int) (int64, error) { return 1, ask(ctx, n) }
	}
	for _, u := range []costOf{
		{"list", "a list that is remembered", one(r.ours(hot("sites_vs_healthz")))},
		{"latest", "the latest rows of a product, remembered", one(r.ours(hot("latest_item_vs_clickhouse")))},
		{"small_page", "10 rows of a product of 168 h, read for the first time", one(func(ctx context.Context, n int) error {
			q := hot("page_item_vs_clickhouse")
			return r.hotAnswer(ctx, q.path, r.unread(q.ask(n)))
		})},
		{"page", "a page of 10,000 rows, read for the first time", one(func(ctx context.Context, _ int) error {
			_, _, err := r.page(ctx, r.world.database, 1, r.unread(r.widePage()))
			return err
		})},
		{"streamed_row", "a row of a stream with export fields", func(ctx context.Context, _ int) (int64, error) {
			d, err := r.streams(1, r.unread(r.exported(r.data.starts[tableRows])), nil)(ctx)
			return d.rows, err
		}},
	} {
		if r.err == nil && r.failed(r.measureCost(ctx, u)) {
			r.err = fmt.Errorf("%s: %w", u.title, r.err)
		}
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
func (r *run) measureCost(ctx context.Context, u costOf) error {
	if _, err := u.do(ctx, 0); err != nil {
		return err
	}
	var all CPU
	var total int64
	var node, clickhouse []float64 // µs of one unit, by round
	since, n := time.Now(), 1
	for range r.size.costRounds {
		before, began, units := r.world.cpu(), time.Now(), int64(0)
		for ; time.Since(began) < r.size.costRound; n++ {
			done, err := u.do(ctx, n)
			if err != nil {
				return err
			}
			units += done
		}
		if units == 0 {
			return errors.New("nothing was read")
		}
		var round CPU
		round.add(r.world.cpu(), before)
		all.add(round, CPU{})
		total += units
		node, clickhouse = append(node, 1e6*round.Query/float64(units)), append(clickhouse, 1e6*round.ClickHouse/float64(units))
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
	return nil
}
