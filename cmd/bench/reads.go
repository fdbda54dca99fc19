package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"
)

// measureSize measures the size on disk.
func (r *run) measureSize(ctx context.Context) error {
	rows, err := r.world.rows(ctx, r.world.database, "SELECT table, sum(rows), sum(bytes_on_disk), count() FROM system.parts WHERE active AND database = '"+r.world.database+"' AND rows > 0 GROUP BY table ORDER BY table")
	if err != nil {
		return err
	}
	t := Table{Title: "Bytes on disk", Note: "of the data set after its merges"}
	for _, row := range rows {
		table, n, size, parts := row[0].(string), row[1].(float64), row[2].(float64), row[3].(float64)
		t.Series = append(t.Series, Series{Name: table, Rows: int64(n), Bytes: int64(size), Note: fmt.Sprintf("%.2f bytes a row in %.0f parts", size/n, parts)})
		target := map[string]float64{"observations": 19, "observations_by_mandate": 30}[table]
		key := map[string]string{"observations": "observations_bytes_per_row", "observations_by_mandate": "by_mandate_bytes_per_row", "latest_observations": "latest_bytes_per_row"}[table]
		if key != "" {
			r.result.put(key, "bytes a row of "+table, "B", exactly(size/n), target, true, "")
		}
	}
	r.result.Tables = append(r.result.Tables, t)
	return nil
}

// measureStream compares a long sorted stream, in both directions.
func (r *run) measureStream(ctx context.Context) error {
	const mandate = 1
	from, err := r.windowOf(ctx, r.size.streamRows)
	if err != nil {
		return err
	}
	plain, err := startPlain(ctx, r.world)
	if err != nil {
		return err
	}
	defer plain.close()
	stop := r.profileNode(ctx, "stream")
	defer stop()
	worst, same, first := spread{value: math.Inf(1)}, spread{value: math.Inf(1)}, spread{}
	for _, sort := range []string{"desc", "asc"} {
		s := selection{mandate: mandate, from: from, export: true, asc: sort == "asc"}
		query := with(r.exported(from), "sort", sort)
		series, work, err := r.compare(ctx, r.world.database, byMandate, 1, r.size.streamRounds,
			contestant{"preismon stream", func(ctx context.Context) (done, error) {
				return r.stream(ctx, r.world.database, mandate, query, nil)
			}},
			r.overHTTP(r.sql(s)),
			contestant{"clickhouse-go rows.Scan and encoding/json", func(ctx context.Context) (done, error) { return plain.stream(ctx, r.sql(s)) }},
			contestant{"ClickHouse JSONEachRow over HTTP, same fields", func(ctx context.Context) (done, error) {
				return r.clickhouse(ctx, r.sameFields(s), jsonEachRow)
			}},
		)
		if err != nil {
			return err
		}
		for _, other := range series[1:] {
			if series[0].Rows != other.Rows {
				return fmt.Errorf("ours gave %d rows, and %s %d", series[0].Rows, other.Name, other.Rows)
			}
		}
		r.result.Tables = append(r.result.Tables, Table{
			Title: "Stream, export fields, sort=" + sort, Series: series, Work: work,
			Note: "Ours sends named API fields with money objects and reference prices joined in; the others send the bare columns, the last one the same fields as SQL can make them.",
		})
		ratio := faster(series[0], series[1])
		worst, same, first = least(worst, ratio), least(same, faster(series[0], series[3])), greatest(first, firstShare(series[0]))
		r.result.put("stream_"+sort+"_vs_clickhouse_json", "stream, "+sort+": speed against ClickHouse's sorted JSONEachRow", "×", ratio, 2, false, "")
		r.result.put("stream_"+sort+"_vs_rows_scan", "stream, "+sort+": speed against rows.Scan and encoding/json", "×", faster(series[0], series[2]), 0, false, "")
	}
	r.result.put("stream_vs_clickhouse_json", "the slower of the two sorts", "×", worst, 2, false, "")
	r.result.put("stream_vs_clickhouse_json_same_fields", "the same against a statement that gives the same fields", "×", same, 0, false, "")
	r.result.put("stream_first_byte_share", "first byte of a long stream: share of its time, the larger of the two sorts", "×", first, 0.05, true, "")
	return nil
}

// firstShare returns the share of its time that an answer took until its first byte.
func firstShare(s Series) spread {
	return slower(Series{Seconds: s.First}, s)
}

// measurePage compares the first and a far page of the largest mandate.
func (r *run) measurePage(ctx context.Context) error {
	const mandate, limit = 1, 10_000
	from := r.data.from
	far := min(r.size.pages, int(r.data.inWindow[mandate]/limit))
	if far < 2 {
		return fmt.Errorf("the data set is too small for a second page of %d; raise --observations", limit)
	}
	query := window(from, r.data.to, "globalScope", "true", "limit", strconv.Itoa(limit))
	cursor := ""
	for n := 1; n < far; n++ {
		q := query
		if cursor != "" {
			q = with(query, "cursor", cursor)
		}
		_, next, err := r.page(ctx, r.world.database, mandate, q)
		if err != nil {
			return err
		}
		if cursor = next; next == "" {
			return fmt.Errorf("the walk ended at page %d of %d", n, far)
		}
	}
	base := selection{mandate: mandate, from: from, limit: limit}
	after, err := r.lastOf(ctx, base, (far-1)*limit)
	if err != nil {
		return err
	}
	behind := base
	behind.after = after
	worst := spread{}
	for _, p := range []struct {
		key, title string
		query      url.Values
		sql        string
	}{
		{"page_1_vs_clickhouse_http", "first page", query, r.sql(base)},
		{"page_100_vs_clickhouse_http", "page " + strconv.Itoa(far), with(query, "cursor", cursor), r.sql(behind)},
	} {
		series, work, err := r.compare(ctx, r.world.database, byMandate, r.size.warm, r.size.rounds,
			contestant{"preismon page", r.paged(r.world.database, mandate, p.query)}, r.overHTTP(p.sql))
		if err != nil {
			return err
		}
		r.result.Tables = append(r.result.Tables, Table{
			Title: "Page of 10,000, " + p.title, Series: series, Work: work,
			Note: "Ours asks for the account's scope first, reads one row more, and seals a cursor.",
		})
		ratio := slower(series[0], series[1])
		r.result.put(p.key, p.title+" of 10,000: time against the same SQL over ClickHouse HTTP", "×", ratio, 1.15, true, "")
		worst = greatest(worst, ratio)
	}
	r.result.put("page_vs_clickhouse_http", "the slower of the two pages", "×", worst, 1.15, true, "")
	return nil
}

func with(v url.Values, name, value string) url.Values {
	c := url.Values{}
	for k, list := range v {
		c[k] = slices.Clone(list)
	}
	c.Set(name, value)
	return c
}

// lastOf returns the condition for rows after the first n of a selection.
func (r *run) lastOf(ctx context.Context, s selection, n int) (string, error) {
	if n == 0 {
		return "", nil
	}
	rows, err := r.world.rows(ctx, r.world.database, fmt.Sprintf(
		"SELECT captured_desc, item, site, epoch, seq, capture, offer FROM observations_by_mandate WHERE mandate = %d AND captured_desc <= %d AND captured_desc >= %d ORDER BY captured_desc, item, site, epoch, seq, capture, offer LIMIT 1 OFFSET %d",
		s.mandate, -s.from.UnixMilli(), -r.data.to.UnixMilli(), n-1))
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", errors.New("no such page")
	}
	v := rows[0]
	return fmt.Sprintf(" AND captured_desc >= %.0f AND (captured_desc, item, site, epoch, seq, capture, offer) > (%.0f, %.0f, '%s', %.0f, %.0f, %.0f, %.0f)",
		v[0], v[0], v[1], v[2], v[3], v[4], v[5], v[6]), nil
}

// measureReads times the other reads, only ours.
func (r *run) measureReads(ctx context.Context) error {
	d := r.data
	rows, err := r.world.rows(ctx, r.world.database, "SELECT item, count() AS n FROM observations WHERE item IN (SELECT item FROM scope_pairs WHERE mandate = 1) GROUP BY item ORDER BY n DESC LIMIT 1")
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return errors.New("no rows")
	}
	popular := fmt.Sprintf("%.0f", rows[0][0])
	hours := func(h int) time.Time { return d.to.Add(-time.Duration(h) * time.Hour) }
	t := Table{Title: "Other reads, ours", Note: "pages of 10,000 of the largest mandate, unless said otherwise"}
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
		{"global, 168 h", 1, window(d.from, d.to, "globalScope", "true", "limit", "10000"), byMandate},
		{"global, 168 h, ascending", 1, window(d.from, d.to, "globalScope", "true", "limit", "10000", "sort", "asc"), byMandate},
		{"global, 168 h, all field groups", 1, window(d.from, d.to, "globalScope", "true", "limit", "10000", "includeExportFields", "true",
			"includeIdentity", "true", "includeOrderIds", "true", "includeCoverage", "true", "includeCustomerData", "true"), byMandate},
		{fmt.Sprintf("latest row per pair, %d pairs", d.pairs[d.latestOf]), d.latestOf, url.Values{"latestPerPair": {"true"}, "limit": {"10000"}}, "%FROM latest_observations%"},
		{fmt.Sprintf("latest set per pair, %d pairs", d.pairs[d.latestOf]), d.latestOf, url.Values{"latestObservationPerPair": {"true"}, "limit": {"10000"}}, "%FROM latest_observations%"},
		{"limit 100, global, 24 h", 1, window(hours(24), d.to, "globalScope", "true", "limit", "100"), byMandate},
	} {
		series, work, err := r.compare(ctx, r.world.database, q.like, r.size.warm, r.size.readRounds, contestant{q.name, r.paged(r.world.database, q.mandate, q.query)})
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		for i := range work {
			work[i].Name = q.name
		}
		t.Series = append(t.Series, series...)
		t.Work = append(t.Work, work...)
	}
	r.result.Tables = append(r.result.Tables, t)
	return nil
}

// dashboards runs one read for each of many mandates, all at once, and collects
// when their first bytes came.
func (r *run) dashboards(one func(ctx context.Context, mandate uint64) (done, error), firsts *[]float64) func(ctx context.Context) (done, error) {
	return func(ctx context.Context) (total done, err error) {
		var mu sync.Mutex
		var group sync.WaitGroup
		began := time.Now()
		for m := range r.size.dashboards {
			group.Go(func() {
				d, e := one(ctx, uint64(m%r.data.mandates+1))
				mu.Lock()
				defer mu.Unlock()
				err = errors.Join(err, e)
				total.rows += d.rows
				total.bytes += d.bytes
				*firsts = append(*firsts, d.first.Seconds())
			})
		}
		group.Wait()
		total.took = time.Since(began)
		return total, err
	}
}

// measureDashboards streams the last day of many mandates at once.
func (r *run) measureDashboards(ctx context.Context) error {
	from := r.data.to.Add(-24 * time.Hour)
	var waits, theirs, made []float64
	series, err := r.interleave(ctx, 1, min(5, r.size.streamRounds),
		contestant{"preismon stream", r.dashboards(func(ctx context.Context, m uint64) (done, error) {
			return r.stream(ctx, r.world.database, m, r.exported(from), nil)
		}, &waits)},
		contestant{"ClickHouse JSONEachRow over HTTP", r.dashboards(func(ctx context.Context, m uint64) (done, error) {
			return r.clickhouse(ctx, r.sql(selection{mandate: m, from: from, export: true}), jsonEachRow)
		}, &theirs)},
		contestant{"ClickHouse JSONEachRow over HTTP, same fields", r.dashboards(func(ctx context.Context, m uint64) (done, error) {
			return r.clickhouse(ctx, r.sameFields(selection{mandate: m, from: from}), jsonEachRow)
		}, &made)},
	)
	if err != nil {
		return err
	}
	r.result.Tables = append(r.result.Tables, Table{
		Title: fmt.Sprintf("%d dashboards streaming 24 h at once", r.size.dashboards), Series: series,
		Note: fmt.Sprintf("first byte of ours: p50 %s, p99 %s; of ClickHouse: p50 %s, p99 %s", milliseconds(quantile(waits, 0.5)), milliseconds(quantile(waits, 0.99)),
			milliseconds(quantile(theirs, 0.5)), milliseconds(quantile(theirs, 0.99))),
	})
	r.result.put("dashboards_vs_clickhouse_json", "64 streams at once: speed against ClickHouse's JSONEachRow", "×", faster(series[0], series[1]), 1.5, false, "")
	r.result.put("dashboards_vs_clickhouse_json_same_fields", "the same against a statement that gives the same fields", "×", faster(series[0], series[2]), 0, false, "")
	r.result.put("dashboards_first_byte_p99_seconds", "64 streams at once: first byte, p99", "s", exactly(quantile(waits, 0.99)), 0, true, "")
	r.result.put("dashboards_first_byte_vs_clickhouse", "64 streams at once: p99 of the first byte against ClickHouse's", "×", exactly(quantile(waits, 0.99)/quantile(theirs, 0.99)), 0.333, true, "")
	r.result.put("dashboards_first_byte_vs_clickhouse_same_fields", "the same against a statement that gives the same fields", "×", exactly(quantile(waits, 0.99)/quantile(made, 0.99)), 0, true, "")
	return nil
}
