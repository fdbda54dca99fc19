package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
)

// statisticsMandate is the largest one.
const statisticsMandate = 1

// measureStatistics computes the statistics of a week of all products, as a
// whole and by day, by the service and by the SQL that one would write: GROUP BY
// for what follows from the rows alone, and the same over a window function for
// how long each price held; then those of the month of the target.
func (r *run) measureStatistics(ctx context.Context) {
	for _, bucket := range []string{"whole", "day"} {
		query := window(r.data.from, r.data.to, "globalScope", "true", "by", "product", "bucket", bucket, "limit", "10000")
		sums, held := r.plainStatistics(bucket)
		title := "statistics of a week by product"
		if bucket == "day" {
			title += " and day"
		}
		t := r.table(strings.ToUpper(title[:1])+title[1:],
			"At most 10,000 records, as JSON. The second statement gives what the service does of prices and times; neither chooses the offer that stands, nor counts what was not observed.")
		series := r.compareWork(ctx, t, r.world.database, byMandate, r.size.warm, r.size.readRounds,
			contestant{"preismon", r.statistics(r.world.database, query)},
			contestant{"SQL: GROUP BY", r.sqlRecords(sums)},
			contestant{"SQL: GROUP BY, over a window function", r.sqlRecords(held)},
		)
		r.put("statistics_"+bucket+"_vs_group_by", title+": time against GROUP BY in SQL, sums alone", "×", slower(series[0], series[1]), 0, true, "")
		r.put("statistics_"+bucket+"_vs_window_function", title+": time against SQL with a window function, for how long each price held", "×", slower(series[0], series[2]), 0, true, "")
	}
	r.measureMonth(ctx)
}

// statistics is the task of asking a query service.
func (r *run) statistics(node string, query url.Values) task {
	return func(ctx context.Context) done {
		_, body := r.text(ctx, r.asked(node, statisticsMandate, "/ext/v1/statistics", query))
		return r.records(body)
	}
}

// plainStatistics returns the statements that one would write.
func (r *run) plainStatistics(bucket string) (sums, held string) {
	by := "item, currency"
	if bucket == "day" {
		by = "item, toDate(fromUnixTimestamp64Milli(at)) AS day, currency"
	}
	order := strings.ReplaceAll(by, "toDate(fromUnixTimestamp64Milli(at)) AS ", "")
	counts := "uniqExact(site) AS pairs, countIf(price_minor >= 0) AS priced, countIf(outcome = 'unavailable') AS unavailable, countIf(outcome = 'productNotFound') AS not_found, " +
		"minIf(price_minor, price_minor >= 0) AS least, quantilesIf(0.25, 0.5, 0.75)(price_minor, price_minor >= 0) AS quantiles, maxIf(price_minor, price_minor >= 0) AS greatest, " +
		"argMinIf(price_minor, at, price_minor >= 0) AS first, argMaxIf(price_minor, at, price_minor >= 0) AS last, countIf(is_buy_box = 2) AS wins"
	rows := fmt.Sprintf("SELECT item, site, -captured_desc AS at, outcome, currency, price_minor, is_buy_box FROM observations_by_mandate WHERE mandate = %d AND captured_desc BETWEEN %d AND %d",
		statisticsMandate, -r.data.to.UnixMilli(), -r.data.from.UnixMilli())
	sums = fmt.Sprintf("SELECT %s, %s FROM (%s) GROUP BY %s ORDER BY %[4]s LIMIT 10000", by, counts, rows, order)
	captures := rows + " ORDER BY item, site, captured_desc, price_minor LIMIT 1 BY item, site, captured_desc"
	lasting := fmt.Sprintf("SELECT *, least(leadInFrame(at, 1, %d) OVER (PARTITION BY item, site ORDER BY at ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), at + 86400000) - at AS lasted FROM (%s)",
		r.data.to.UnixMilli(), captures)
	held = fmt.Sprintf("SELECT %s, %s, sumIf(lasted, price_minor >= 0) AS in_stock, sumIf(lasted, outcome IN ('unavailable', 'productNotFound')) AS out_of_stock, "+
		"sumIf(price_minor * lasted, price_minor >= 0) / sumIf(lasted, price_minor >= 0) AS average FROM (%s) GROUP BY %s ORDER BY %[4]s LIMIT 10000", by, counts, lasting, order)
	return sums, held
}

// sqlRecords is the task of reading the answer of a statement over HTTP.
func (r *run) sqlRecords(sql string) task {
	return func(ctx context.Context) done {
		body := r.ask(ctx, sql+"\nFORMAT JSON")
		defer body.Close() //nolint:errcheck // read to its end
		text, err := io.ReadAll(body)
		r.failed(err)
		return r.records(text)
	}
}

// records decodes a JSON answer with its records in data.
func (r *run) records(text []byte) done {
	var answer struct{ Data []json.RawMessage }
	r.failed(json.Unmarshal(text, &answer))
	if len(answer.Data) == 0 {
		r.failed(errors.New("an answer without records"))
	}
	return done{rows: int64(len(answer.Data)), bytes: int64(len(text))}
}
