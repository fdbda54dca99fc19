package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// sizes are the tables whose bytes a row are put, by name.
var sizes = map[string]struct {
	key    string
	target float64
}{
	"observations":            {"observations_bytes_per_row", 19},
	"observations_by_mandate": {"by_mandate_bytes_per_row", 30},
	"latest_observations":     {"latest_bytes_per_row", 0},
}

// measureSize measures the size on disk.
func (r *run) measureSize(ctx context.Context) {
	rows := r.rows(ctx, "SELECT table, sum(rows), sum(bytes_on_disk), count() FROM system.parts WHERE active AND database = '"+r.world.database+"' AND rows > 0 GROUP BY table ORDER BY table")
	t := r.table("Bytes on disk", "of the data set after its merges")
	for _, row := range rows {
		table, v := measured(row)
		n, size, parts := v[1], v[2], v[3]
		t.Series = append(t.Series, Series{Name: table, Rows: int64(n), Bytes: int64(size), Note: fmt.Sprintf("%.2f bytes a row in %.0f parts", size/n, parts)})
		if of, ok := sizes[table]; ok {
			r.put(of.key, "bytes a row of "+table, "B", exactly(size/n), of.target, true, "")
		}
	}
}

// measureStream compares a long sorted stream, in both directions.
func (r *run) measureStream(ctx context.Context) {
	from := r.data.starts[r.size.streamRows]
	plain, err := startPlain(ctx, r.world)
	if r.failed(err) {
		return
	}
	defer plain.close()
	defer r.profileNode(ctx, "stream")()
	var ratios, same, first []spread
	for _, sort := range []string{"desc", "asc"} {
		s := selection{mandate: 1, from: from, export: true, asc: sort == "asc"}
		t := r.table("Stream, export fields, sort="+sort, "Ours sends named API fields with money objects and reference prices joined in; the others send the bare columns, the last one the same fields as SQL can make them.")
		series := r.compareWork(ctx, t, r.world.database, byMandate, 1, r.size.streamRounds,
			contestant{"preismon stream", r.streams(1, with(r.exported(from), "sort", sort), nil)},
			r.overHTTP(r.sql(s)),
			contestant{"clickhouse-go rows.Scan and encoding/json", r.plainly(plain, r.sql(s))},
			contestant{"ClickHouse JSONEachRow over HTTP, same fields", r.clickhouse(r.sameFields(s), jsonEachRow)},
		)
		r.failed(sameRows(series))
		ratio := faster(series[0], series[1])
		ratios, same, first = append(ratios, ratio), append(same, faster(series[0], series[3])), append(first, slower(Series{Seconds: series[0].First}, series[0]))
		r.put("stream_"+sort+"_vs_clickhouse_json", "stream, "+sort+": speed against ClickHouse's sorted JSONEachRow", "×", ratio, 2, false, "")
		r.put("stream_"+sort+"_vs_rows_scan", "stream, "+sort+": speed against rows.Scan and encoding/json", "×", faster(series[0], series[2]), 0, false, "")
	}
	r.put("stream_vs_clickhouse_json", "the slower of the two sorts", "×", least(ratios...), 2, false, "")
	r.put("stream_vs_clickhouse_json_same_fields", "the same against a statement that gives the same fields", "×", least(same...), 0, false, "")
	r.put("stream_first_byte_share", "first byte of a long stream: share of its time, the larger of the two sorts", "×", greatest(first...), 0.05, true, "")
}

// sameRows returns an error if another contestant gave other rows than the first.
func sameRows(all []Series) error {
	for _, other := range all {
		if all[0].Rows != other.Rows {
			return fmt.Errorf("ours gave %d rows, and %s %d", all[0].Rows, other.Name, other.Rows)
		}
	}
	return nil
}

// widePage is a page of 10,000 rows of all of a mandate.
func (r *run) widePage() url.Values {
	return window(r.data.from, r.data.to, "globalScope", "true", "limit", "10000")
}

// measurePage compares the first and a far page of the largest mandate.
func (r *run) measurePage(ctx context.Context) {
	const mandate, limit, farthest = 1, 10_000, 100
	far := min(farthest, int(r.data.inWindow[mandate]/limit))
	if far < 2 {
		r.failed(fmt.Errorf("the data set is too small for a second page of %d; raise --observations", limit))
		return
	}
	query := r.widePage()
	next := query
	for n := 1; n < far; n++ {
		_, cursor := r.page(ctx, r.world.database, mandate, next)
		if cursor == "" {
			r.failed(fmt.Errorf("the walk ended at page %d of %d", n, far))
			return
		}
		next = with(query, "cursor", cursor)
	}
	first := selection{mandate: mandate, from: r.data.from, limit: limit}
	behind := first
	behind.after = r.lastOf(ctx, first, (far-1)*limit)
	var ratios []spread
	for _, p := range []struct {
		key, title string
		query      url.Values
		of         selection
	}{
		{"page_1_vs_clickhouse_http", "first page", query, first},
		{"page_100_vs_clickhouse_http", "page " + strconv.Itoa(far), next, behind},
	} {
		t := r.table("Page of 10,000, "+p.title, "Ours asks for the account's scope first, reads one row more, and seals a cursor.")
		series := r.compareWork(ctx, t, r.world.database, byMandate, r.size.warm, r.size.rounds,
			contestant{"preismon page", r.pages(r.world.database, mandate, p.query)}, r.overHTTP(r.sql(p.of)))
		ratio := slower(series[0], series[1])
		ratios = append(ratios, ratio)
		r.put(p.key, p.title+" of 10,000: time against the same SQL over ClickHouse HTTP", "×", ratio, 1.15, true, "")
	}
	r.put("page_vs_clickhouse_http", "the slower of the two pages", "×", greatest(ratios...), 1.15, true, "")
}

// with returns parameters with another value of one.
func with(v url.Values, name, value string) url.Values {
	c := maps.Clone(v)
	c.Set(name, value)
	return c
}

// lastOf returns the condition for rows after the first n of a selection.
func (r *run) lastOf(ctx context.Context, s selection, n int) string {
	rows := r.rows(ctx, fmt.Sprintf("SELECT captured_desc, toString((captured_desc, item, site, epoch, seq, capture, offer)) %s ORDER BY %s LIMIT 1 OFFSET %d",
		r.from(s), s.order(), n-1))
	if len(rows) == 0 {
		r.failed(errors.New("no such page"))
		return ""
	}
	return fmt.Sprintf(" AND captured_desc >= %.0f AND (captured_desc, item, site, epoch, seq, capture, offer) > %s", rows[0]...)
}

// measureReads times the other reads, only ours.
func (r *run) measureReads(ctx context.Context) {
	d := r.data
	most := r.number(ctx, "SELECT item FROM observations WHERE item IN (SELECT item FROM scope_pairs WHERE mandate = 1) GROUP BY item ORDER BY count() DESC LIMIT 1")
	popular := fmt.Sprintf("%.0f", most)
	hours := func(h int) time.Time { return d.to.Add(-time.Duration(h) * time.Hour) }
	t := r.table("Other reads, ours", "pages of 10,000 of the largest mandate, unless said otherwise")
	for _, q := range []struct {
		name    string
		mandate uint64
		query   url.Values
		like    string
	}{
		{"history of a product, 168 h", 1, window(d.from, d.to, "itemId", popular, "limit", "10000"), "%FROM observations%"},
		{"one site, 24 h", 1, window(hours(24), d.to, "site", siteName(0), "limit", "10000"), byMandate},
		{"one site, 168 h, small mandate", d.latestOf, window(d.from, d.to, "site", siteName(0), "limit", "10000"), byMandate},
		{"one order, 24 h", 1, window(hours(24), d.to, "orderId", "101", "limit", "10000"), byMandate},
		{"one order, 168 h, small mandate", d.latestOf, window(d.from, d.to, "orderId", fmt.Sprint(d.latestOf*100+1), "limit", "10000"), byMandate},
		{"global, 1 h", 1, window(hours(1), d.to, "globalScope", "true", "limit", "10000"), byMandate},
		{"global, 168 h", 1, r.widePage(), byMandate},
		{"global, 168 h, ascending", 1, window(d.from, d.to, "globalScope", "true", "limit", "10000", "sort", "asc"), byMandate},
		{"global, 168 h, all field groups", 1, window(d.from, d.to, "globalScope", "true", "limit", "10000", "includeExportFields", "true",
			"includeIdentity", "true", "includeOrderIds", "true", "includeCoverage", "true", "includeCustomerData", "true"), byMandate},
		{fmt.Sprintf("latest row per pair, %d pairs", d.pairs[d.latestOf]), d.latestOf, url.Values{"latestPerPair": {"true"}, "limit": {"10000"}}, "%FROM latest_observations%"},
		{fmt.Sprintf("latest set per pair, %d pairs", d.pairs[d.latestOf]), d.latestOf, url.Values{"latestObservationPerPair": {"true"}, "limit": {"10000"}}, "%FROM latest_observations%"},
		{"limit 100, global, 24 h", 1, window(hours(24), d.to, "globalScope", "true", "limit", "100"), byMandate},
	} {
		r.compareWork(ctx, t, r.world.database, q.like, r.size.warm, r.size.readRounds, contestant{q.name, r.pages(r.world.database, q.mandate, q.query)})
	}
}

// dashboards is the number of streams that are read at once.
const dashboards = 64

// dashboards runs one task for each of many mandates, all at once, and collects
// when their first bytes came.
func (r *run) dashboards(one func(mandate uint64) task, firsts *[]float64) task {
	return func(ctx context.Context) (total done) {
		var mu sync.Mutex
		var group sync.WaitGroup
		began := time.Now()
		for m := range dashboards {
			group.Go(func() {
				d := one(uint64(m%r.data.mandates + 1))(ctx)
				mu.Lock()
				defer mu.Unlock()
				total.rows += d.rows
				total.bytes += d.bytes
				*firsts = append(*firsts, d.first.Seconds())
			})
		}
		group.Wait()
		total.took = time.Since(began)
		return total
	}
}

// lastDay selects the last day of a mandate.
func (r *run) lastDay(mandate uint64) selection {
	return selection{mandate: mandate, from: r.data.to.Add(-24 * time.Hour), export: true}
}

// measureDashboards streams the last day of many mandates at once.
func (r *run) measureDashboards(ctx context.Context) {
	var waits, theirs, made []float64
	t := r.table(fmt.Sprintf("%d dashboards streaming 24 h at once", dashboards), "")
	series := r.compare(ctx, t, 1, min(5, r.size.streamRounds),
		contestant{"preismon stream", r.dashboards(func(m uint64) task { return r.streams(m, r.exported(r.lastDay(m).from), nil) }, &waits)},
		contestant{"ClickHouse JSONEachRow over HTTP", r.dashboards(func(m uint64) task { return r.clickhouse(r.sql(r.lastDay(m)), jsonEachRow) }, &theirs)},
		contestant{"ClickHouse JSONEachRow over HTTP, same fields", r.dashboards(func(m uint64) task { return r.clickhouse(r.sameFields(r.lastDay(m)), jsonEachRow) }, &made)},
	)
	p99 := func(of []float64) float64 { return quantile(of, 0.99) }
	t.Note = fmt.Sprintf("first byte of ours: p50 %s, p99 %s; of ClickHouse: p50 %s, p99 %s", milliseconds(quantile(waits, 0.5)), milliseconds(p99(waits)),
		milliseconds(quantile(theirs, 0.5)), milliseconds(p99(theirs)))
	r.put("dashboards_vs_clickhouse_json", "64 streams at once: speed against ClickHouse's JSONEachRow", "×", faster(series[0], series[1]), 1.5, false, "")
	r.put("dashboards_vs_clickhouse_json_same_fields", "the same against a statement that gives the same fields", "×", faster(series[0], series[2]), 0, false, "")
	r.put("dashboards_first_byte_p99_seconds", "64 streams at once: first byte, p99", "s", exactly(p99(waits)), 0, true, "")
	r.put("dashboards_first_byte_vs_clickhouse", "64 streams at once: p99 of the first byte against ClickHouse's", "×", exactly(p99(waits)/p99(theirs)), 0.333, true, "")
	r.put("dashboards_first_byte_vs_clickhouse_same_fields", "the same against a statement that gives the same fields", "×", exactly(p99(waits)/p99(made)), 0, true, "")
}
