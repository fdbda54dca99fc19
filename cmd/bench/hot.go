package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// hotConnections are the numbers of concurrent clients. Each sends its next
// request as soon as it has an answer.
var hotConnections = []int{1, 8, 64}

// hotProducts is the number of products that are requested in turn.
const hotProducts = 100

// hotRead is a frequent read, with its alternative.
type hotRead struct {
	key, title string
	target     float64
	path       string
	ask        func(n int) url.Values // parameters of the n-th request
	statement  func(n int) string     // of ClickHouse; nil: the opponent is /healthz
}

// answer sends a request for the n-th time and reads its answer.
type answer func(ctx context.Context, n int)

// ours and theirs are the answers of a hot read and of its alternative.
func (r *run) ours(q hotRead) answer {
	return func(ctx context.Context, n int) { r.hotAnswer(ctx, q.path, q.ask(n)) }
}

func (r *run) theirs(q hotRead) answer {
	if q.statement == nil {
		return r.health
	}
	return func(ctx context.Context, n int) {
		if d := r.clickhouse(q.statement(n), jsonEachRow)(ctx); d.bytes == 0 {
			r.failed(errors.New("no rows: " + q.statement(n)))
		}
	}
}

// measureHot measures how many small reads per second are answered, for one
// client and for many at once, while no rows arrive, so that what a node
// remembers of the rows stays valid. Their opponents are the same rows by
// hand-written SQL over ClickHouse's HTTP interface and, for lists, which a node
// remembers as well, the fastest answer that this server has.
func (r *run) measureHot(ctx context.Context) {
	defer r.profileNode(ctx, "hot")()
	for _, q := range r.hotReads(ctx) {
		for n := range hotProducts { // repeated requests are measured, so each is sent once before
			r.ours(q)(ctx, n)
		}
		opponent, against := "ClickHouse over HTTP", "the same rows from ClickHouse over HTTP"
		if q.statement == nil {
			opponent, against = "/healthz", "/healthz"
		}
		t := r.table("Hot reads: "+q.title, "Rows are requests. No row arrives meanwhile.")
		ratios := r.compareRates(ctx, t, "preismon", opponent, r.ours(q), r.theirs(q))
		for i, ratio := range ratios {
			r.put(fmt.Sprintf("%s_%d", q.key, hotConnections[i]), fmt.Sprintf("%s: answers a second against %s, %d at once", q.title, against, hotConnections[i]), "×", ratio, 0, false, "")
		}
		r.put(q.key, q.title+": answers a second against "+against+", the least of 1, 8 and 64 clients", "×", least(ratios...), q.target, false, "")
	}
}

// compareRates compares answers a second, for each number of clients.
func (r *run) compareRates(ctx context.Context, t *Table, name, opponent string, ours, theirs answer) (ratios []spread) {
	for _, clients := range hotConnections {
		series := r.compare(ctx, t, 1, r.size.hotRounds,
			contestant{fmt.Sprintf("%s, %d at once", name, clients), r.atOnce(clients, ours)},
			contestant{fmt.Sprintf("%s, %d at once", opponent, clients), r.atOnce(clients, theirs)},
		)
		ratios = append(ratios, faster(series[0], series[1]))
	}
	return ratios
}

func (r *run) hotReads(ctx context.Context) []hotRead {
	const mandate = hotMandate
	products := r.rows(ctx, fmt.Sprintf(
		"SELECT DISTINCT item FROM latest_observations FINAL WHERE captured_at >= fromUnixTimestamp64Milli(%d) AND site = '%s' AND item IN (SELECT item FROM scope_pairs WHERE mandate = %d AND version = 1) ORDER BY item LIMIT %d",
		r.data.to.Add(-24*time.Hour).UnixMilli(), siteName(0), mandate, hotProducts))
	if len(products) == 0 {
		r.failed(errors.New("the data set is too small for hot reads; raise --observations"))
		return nil
	}
	product := func(n int) uint64 { return uint64(products[n%len(products)][0].(float64)) }
	always := func(v url.Values) func(int) url.Values { return func(int) url.Values { return v } }
	columns := "item, site, captured_at, epoch, seq, capture, offer, toUInt8(outcome), currency, price_minor, merchant"
	latest := func(where string) string {
		return "SELECT " + columns + " FROM latest_observations FINAL ARRAY JOIN offer, currency, price_minor, merchant WHERE " + where +
			fmt.Sprintf(" AND (item, site) IN (SELECT item, site FROM scope_pairs WHERE mandate = %d AND version = 1) ORDER BY captured_at DESC, item, site, offer LIMIT 1000", mandate)
	}
	site := siteName(0)
	week := window(r.data.from, r.data.to)
	day := r.data.to.Add(-24 * time.Hour)
	return []hotRead{
		{"sites_vs_healthz", "sites", 0.2, "/v1/sites", always(nil), nil},
		{"items_vs_healthz", "100 items", 0.2, "/v1/items", always(url.Values{"limit": {"100"}}), nil},
		{"orders_vs_healthz", "orders", 0.2, "/v1/orders", always(nil), nil},
		{
			"latest_item_vs_clickhouse", "latest of a product", 10, "/v1/results",
			func(n int) url.Values {
				return url.Values{"itemId": {fmt.Sprint(product(n))}, "latestObservationPerPair": {"true"}}
			},
			func(n int) string { return latest(fmt.Sprintf("item = %d", product(n))) },
		},
		{
			"latest_site_vs_clickhouse", "latest of a site", 5, "/v1/results",
			always(url.Values{"site": {site}, "latestObservationPerPair": {"true"}, "limit": {"1000"}}),
			func(int) string { return latest("site = '" + site + "'") },
		},
		{
			"page_item_vs_clickhouse", "10 rows of a product, 168 h", 1, "/v1/results",
			func(n int) url.Values { return with(with(week, "itemId", fmt.Sprint(product(n))), "limit", "10") },
			func(n int) string {
				return fmt.Sprintf("SELECT %s FROM observations WHERE item = %d AND captured_at BETWEEN fromUnixTimestamp64Milli(%d) AND fromUnixTimestamp64Milli(%d) AND (item, site) IN (SELECT item, site FROM scope_pairs WHERE mandate = %d AND version = 1 AND item = %[2]d) ORDER BY captured_at DESC, item, site, offer LIMIT 10",
					columns, product(n), r.data.from.UnixMilli(), r.data.to.UnixMilli(), mandate)
			},
		},
		{
			"page_site_vs_clickhouse", "200 rows of a site, 24 h", 1, "/v1/results",
			always(window(day, r.data.to, "site", site, "limit", "200")),
			func(int) string {
				return fmt.Sprintf("SELECT item, site, captured_desc, epoch, seq, capture, offer, toUInt8(outcome), currency, price_minor, merchant FROM observations_by_mandate WHERE mandate = %d AND captured_desc BETWEEN %d AND %d AND site = '%s' ORDER BY captured_desc, item, epoch, seq, capture, offer LIMIT 200",
					mandate, -r.data.to.UnixMilli(), -day.UnixMilli(), site)
			},
		},
	}
}

// hotMandate has some hundreds of pairs at a site.
const hotMandate = 2

// atOnce lets clients send requests for a while. Its rows are answers.
func (r *run) atOnce(clients int, ask answer) task {
	return func(ctx context.Context) done {
		var answers atomic.Int64
		var group sync.WaitGroup
		began := time.Now()
		for c := range clients {
			group.Go(func() {
				for n := c; time.Since(began) < r.size.hotRound && !r.failed(nil); n += clients {
					ask(ctx, n)
					answers.Add(1)
				}
			})
		}
		group.Wait()
		// Times are compared, so the result is the time for a fixed number of answers.
		const of = 1000
		took := time.Since(began)
		return done{rows: of, took: time.Duration(float64(took) * of / float64(max(1, answers.Load())))}
	}
}

func (r *run) hotAnswer(ctx context.Context, path string, query url.Values) {
	if d, _ := r.read(ctx, r.asked(r.world.database, hotMandate, path, query)); d.bytes < 100 {
		r.failed(errors.New(path + ": an answer of nothing"))
	}
}

// health asks whether the query service lives, which is its fastest answer.
func (r *run) health(ctx context.Context, _ int) {
	r.read(ctx, request{base: r.world.nodes[r.world.database].url, path: "/healthz"})
}
