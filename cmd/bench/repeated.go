package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"time"
)

// remembering is the node that remembers the text of streams.
const remembering = "remembering"

// measureRepeated streams windows that are over to clients that had them before,
// or that others had: their text is remembered, and their tags save them. What
// it streams takes about 220 MiB of a node's memory, compressed.
func (r *run) measureRepeated(ctx context.Context) error {
	const mandate = 1
	if err := r.world.serveAs(ctx, remembering, r.world.database, "--remember-streams", "512"); err != nil {
		return err
	}
	from, err := r.windowOf(ctx, r.size.streamRows)
	if err != nil {
		return err
	}
	s := selection{mandate: mandate, from: from, export: true}
	query := r.exported(from)
	for key, coding := range map[string]string{"sealed_vs_clickhouse_json": "identity", "sealed_gzip_vs_clickhouse_json": "gzip"} {
		series, err := r.interleave(ctx, 3, r.size.streamRounds,
			contestant{"preismon stream, remembered, " + coding, func(ctx context.Context) (done, error) {
				return r.coded(ctx, mandate, query, coding)
			}},
			r.overHTTP(r.sql(s)),
		)
		if err != nil {
			return err
		}
		r.result.Tables = append(r.result.Tables, Table{
			Title: "A window that is over, again, " + coding, Series: series,
			Note: "Text compressed by gzip is sent as it is remembered, and not unpacked by this client; ClickHouse sends its own uncompressed, which is faster.",
		})
		r.result.put(key, "a window that is over, again, as "+coding+": speed against ClickHouse's JSONEachRow", "×", faster(series[0], series[1]), 5, false, "")
	}
	if err := r.measureUnchanged(ctx, query); err != nil {
		return err
	}
	return r.measureRepeatedDashboards(ctx)
}

// coded streams from the node that remembers, without unpacking.
func (r *run) coded(ctx context.Context, mandate uint64, query url.Values, coding string) (done, error) {
	return r.stream(ctx, remembering, mandate, query, http.Header{"Accept-Encoding": {coding}})
}

// measureUnchanged measures answers that save the rows.
func (r *run) measureUnchanged(ctx context.Context, query url.Values) error {
	ask := func(ctx context.Context, header http.Header) (*http.Response, error) {
		resp, err := r.send(ctx, r.world.http, remembering, 1001, "/v1/results/stream", query, header)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close() //nolint:errcheck // read to its end
		_, err = io.Copy(io.Discard, resp.Body)
		return resp, err
	}
	first, err := ask(ctx, nil)
	if err != nil {
		return err
	}
	tag := first.Header.Get("ETag")
	worst := spread{value: math.Inf(1)}
	t := Table{Title: "A window that is over, unchanged", Note: "Rows are answers with status 304, of /healthz with 200."}
	for _, connections := range hotConnections {
		series, err := r.interleave(ctx, 1, r.size.hotRounds,
			contestant{fmt.Sprintf("If-None-Match, %d at once", connections), r.atOnce(connections, func(ctx context.Context, _ int) error {
				resp, err := ask(ctx, http.Header{"If-None-Match": {tag}})
				if err == nil && resp.StatusCode != http.StatusNotModified {
					err = errors.New(resp.Status)
				}
				return err
			})},
			contestant{fmt.Sprintf("/healthz, %d at once", connections), r.atOnce(connections, func(ctx context.Context, _ int) error { return r.health(ctx) })},
		)
		if err != nil {
			return err
		}
		t.Series = append(t.Series, series...)
		worst = least(worst, faster(series[0], series[1]))
	}
	r.result.Tables = append(r.result.Tables, t)
	r.result.put("unchanged_vs_healthz", "a window that is over, unchanged (304): answers a second against /healthz, the least of 1, 8 and 64 clients", "×", worst, 0.2, false, "")
	return nil
}

// measureRepeatedDashboards is measureDashboards for text that is remembered.
func (r *run) measureRepeatedDashboards(ctx context.Context) error {
	from := r.data.to.Add(-24 * time.Hour)
	var waits, theirs []float64
	rounds := min(5, r.size.streamRounds)
	measured := func(waits []float64) []float64 { return waits[len(waits)-rounds*r.size.dashboards:] } // not those that warmed up
	series, err := r.interleave(ctx, 3, rounds,
		contestant{"preismon stream, remembered", r.dashboards(func(ctx context.Context, m uint64) (done, error) {
			return r.coded(ctx, m, r.exported(from), "identity")
		}, &waits)},
		contestant{"ClickHouse JSONEachRow over HTTP", r.dashboards(func(ctx context.Context, m uint64) (done, error) {
			return r.clickhouse(ctx, r.sql(selection{mandate: m, from: from, export: true}), jsonEachRow)
		}, &theirs)},
	)
	if err != nil {
		return err
	}
	r.result.Tables = append(r.result.Tables, Table{Title: fmt.Sprintf("%d dashboards streaming the same 24 h again, at once", r.size.dashboards), Series: series})
	r.result.put("dashboards_again_vs_clickhouse_json", "64 streams at once of what was streamed before: speed against ClickHouse's JSONEachRow", "×", faster(series[0], series[1]), 1.5, false, "")
	r.result.put("dashboards_again_first_byte_vs_clickhouse", "the same, p99 of the first byte against ClickHouse's", "×", exactly(quantile(measured(waits), 0.99)/quantile(measured(theirs), 0.99)), 0.333, true, "")
	return nil
}
