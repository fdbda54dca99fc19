package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// remembering is the node that remembers the text of streams.
const remembering = "remembering"

// measureRepeated streams windows that are over to clients that had them before,
// or that others had: their text is remembered, and their tags save them. What
// it streams takes about 220 MiB of a node's memory, compressed.
func (r *run) measureRepeated(ctx context.Context) {
	r.serveAs(ctx, remembering, r.world.database, "--remember-streams", "512")
	s := selection{mandate: 1, from: r.data.starts[r.size.streamRows], export: true}
	query := r.exported(s.from)
	for key, coding := range map[string]string{"sealed_vs_clickhouse_json": "identity", "sealed_gzip_vs_clickhouse_json": "gzip"} {
		t := r.table("A window that is over, again, "+coding,
			"Text compressed by gzip is sent as it is remembered, and not unpacked by this client; ClickHouse sends its own uncompressed, which is faster.")
		series := r.compare(ctx, t, 3, r.size.streamRounds,
			contestant{"preismon stream, remembered, " + coding, r.remembered(s.mandate, query, coding)}, r.overHTTP(r.sql(s)))
		r.put(key, "a window that is over, again, as "+coding+": speed against ClickHouse's JSONEachRow", "×", faster(series[0], series[1]), 5, false, "")
	}
	r.measureRepeatedTables(ctx)
	r.measureUnchanged(ctx, query)
	r.measureRepeatedDashboards(ctx)
}

// measureRepeatedTables is measureTables for tables that are remembered.
func (r *run) measureRepeatedTables(ctx context.Context) {
	ratios := map[string][]spread{}
	r.compareTables(ctx, "Tables of a window that is over, again", remembering, true, func(f tableForm, series []Series) {
		ratios[f.key] = append(ratios[f.key], faster(series[0], series[1]))
	})
	if r.err != nil {
		return
	}
	for _, key := range tableKeys {
		r.put(key+"_again_vs_clickhouse", "a window that is over, again, as "+key+", export fields: speed against ClickHouse's own, the slower where there are several", "×", least(ratios[key]...), 1, false, "")
	}
}

// remembered streams from the node that remembers, without unpacking.
func (r *run) remembered(mandate uint64, query url.Values, coding string) task {
	return func(ctx context.Context) done {
		return r.stream(ctx, remembering, mandate, query, http.Header{"Accept-Encoding": {coding}})
	}
}

// measureUnchanged measures answers that save the rows.
func (r *run) measureUnchanged(ctx context.Context, query url.Values) {
	if r.err != nil {
		return
	}
	q := r.asked(remembering, 1, "/v1/results/stream", query)
	_, first := r.read(ctx, q)
	q.header = http.Header{"If-None-Match": {first.Header.Get("ETag")}}
	t := r.table("A window that is over, unchanged", "Rows are answers with status 304, of /healthz with 200.")
	ratios := r.compareRates(ctx, t, "If-None-Match", "/healthz", func(ctx context.Context, _ int) {
		if _, resp := r.read(ctx, q); resp.StatusCode != http.StatusNotModified {
			r.failed(errors.New(resp.Status))
		}
	}, r.health)
	r.put("unchanged_vs_healthz", "a window that is over, unchanged (304): answers a second against /healthz, the least of 1, 8 and 64 clients", "×", least(ratios...), 0.2, false, "")
}

// measureRepeatedDashboards is measureDashboards for text that is remembered.
func (r *run) measureRepeatedDashboards(ctx context.Context) {
	var waits, theirs []float64
	rounds := min(5, r.size.streamRounds)
	t := r.table(fmt.Sprintf("%d dashboards streaming the same 24 h again, at once", dashboards), "")
	series := r.compare(ctx, t, 3, rounds,
		contestant{"preismon stream, remembered", r.dashboards(func(m uint64) task { return r.remembered(m, r.exported(r.lastDay(m).from), "identity") }, &waits)},
		contestant{"ClickHouse JSONEachRow over HTTP", r.dashboards(func(m uint64) task { return r.clickhouse(r.sql(r.lastDay(m)), jsonEachRow) }, &theirs)},
	)
	if r.err != nil {
		return
	}
	p99 := func(of []float64) float64 { return quantile(of[len(of)-rounds*dashboards:], 0.99) } // not of those that warmed up
	r.put("dashboards_again_vs_clickhouse_json", "64 streams at once of what was streamed before: speed against ClickHouse's JSONEachRow", "×", faster(series[0], series[1]), 1.5, false, "")
	r.put("dashboards_again_first_byte_vs_clickhouse", "the same, p99 of the first byte against ClickHouse's", "×", exactly(p99(waits)/p99(theirs)), 0.333, true, "")
}
