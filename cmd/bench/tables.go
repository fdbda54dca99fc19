package main

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// tableForm is one of our forms, and the closest one of ClickHouse's own.
type tableForm struct {
	key, name string
	accept    string
	format    string // with settings
}

// The forms that are compared. For forms with the same key the slower counts.
var tableForms = []tableForm{
	{"csv", "CSV", "text/csv", "SETTINGS output_format_csv_crlf_end_of_line = 1 FORMAT CSVWithNames"},
	{"arrow", "Arrow, plain", "application/vnd.apache.arrow.stream", "SETTINGS output_format_arrow_compression_method = 'none' FORMAT ArrowStream"},
	{"arrow", "Arrow, dictionaries, lz4", "application/vnd.apache.arrow.stream;dictionaries=replaced;compression=lz4", "SETTINGS output_format_arrow_compression_method = 'lz4_frame', output_format_arrow_low_cardinality_as_dictionary = 1 FORMAT ArrowStream"},
	{"parquet", "Parquet, zstd", "application/vnd.apache.parquet", "SETTINGS output_format_parquet_compression_method = 'zstd' FORMAT Parquet"},
}

// tableKeys are the keys of tableForms.
var tableKeys = []string{"csv", "arrow", "parquet"}

// measureTables compares streams of tables with ClickHouse's own formats of
// the same rows in the same order, with and without export fields.
func (r *run) measureTables(ctx context.Context) error {
	const mandate = 1
	from, err := r.windowOf(ctx, r.size.tableRows)
	if err != nil {
		return err
	}
	worst, same, first, largest := map[string]spread{}, map[string]spread{}, map[string]spread{}, map[string]float64{}
	for _, export := range []bool{false, true} {
		s := selection{mandate: mandate, from: from, export: export}
		query := window(from, r.data.to, "globalScope", "true", "includeExportFields", fmt.Sprint(export))
		rows, err := r.world.number(ctx, r.world.database, "SELECT count() FROM ("+r.sql(s)+")")
		if err != nil {
			return err
		}
		sameRows, err := r.world.number(ctx, r.world.database, "SELECT count() FROM ("+r.sameFields(s)+")")
		if err != nil {
			return err
		}
		t := Table{Title: "Tables, lean", Note: "Ours has money objects and reference prices joined in; ClickHouse has the bare columns, and place and outcome as numbers, or the same fields made by SQL. Bytes are as sent."}
		if export {
			t.Title = "Tables, export fields"
		}
		for _, f := range tableForms {
			rivals := []contestant{
				{"preismon " + f.name, func(ctx context.Context) (done, error) {
					return r.stream(ctx, r.world.database, mandate, query, as(f.accept))
				}},
				{"ClickHouse " + f.name, func(ctx context.Context) (done, error) { return r.clickhouse(ctx, r.sql(s), f.format) }},
			}
			if export {
				rivals = append(rivals, contestant{"ClickHouse " + f.name + ", same fields", func(ctx context.Context) (done, error) {
					return r.clickhouse(ctx, r.sameFields(s), f.format)
				}}, contestant{"preismon NDJSON", func(ctx context.Context) (done, error) {
					return r.stream(ctx, r.world.database, mandate, query, nil)
				}})
			}
			stop := func() {}
			if export {
				stop = r.profileNode(ctx, "tables-"+strings.ToLower(strings.ReplaceAll(f.name, ", ", "-")))
			}
			series, err := r.interleave(ctx, 1, r.size.streamRounds, rivals...)
			stop()
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			for i, n := range []float64{rows, sameRows}[:min(2, len(series)-1)] { // lines are not rows of every form
				if series[i+1].Rows = int64(n); series[i+1].Rows != series[0].Rows {
					return fmt.Errorf("ours gave %d rows, and %s %d", series[0].Rows, series[i+1].Name, series[i+1].Rows)
				}
			}
			if _, peak, err := resident(r.world.nodes[r.world.database].cmd.Process.Pid); err == nil {
				series[0].Note = fmt.Sprintf("greatest resident memory of the query process so far: %.0f MiB", peak)
			}
			t.Series = append(t.Series, series...)
			if !export {
				continue
			}
			for n, of := range []map[string]spread{worst, same} {
				ratio := faster(series[0], series[n+1])
				if w, ok := of[f.key]; !ok || ratio.value < w.value {
					of[f.key] = ratio
				}
			}
			first[f.key] = greatest(first[f.key], slower(Series{Seconds: series[0].First}, Series{Seconds: series[3].First}))
			largest[f.key] = max(largest[f.key], float64(series[0].Bytes)/math.Max(1, float64(series[2].Bytes)))
		}
		r.result.Tables = append(r.result.Tables, t)
	}
	for _, key := range tableKeys {
		r.result.put(key+"_vs_clickhouse", "stream as "+key+", export fields: speed against ClickHouse's own, the slower where there are several", "×", worst[key], 1, false, "")
		r.result.put(key+"_vs_clickhouse_same_fields", "the same against a statement that gives the same fields", "×", same[key], 0, false, "")
	}
	for _, key := range []string{"csv", "arrow"} { // Parquet begins with a whole row group
		r.result.put(key+"_first_byte_vs_ndjson", "stream as "+key+", export fields: time to the first byte against NDJSON's", "×", first[key], 1.2, true, "")
	}
	r.result.put("arrow_bytes_vs_clickhouse", "Arrow with export fields: bytes against ClickHouse's for the same fields, plain and compressed like with like, the larger", "×", exactly(largest["arrow"]), 1.5, true, "")
	return nil
}
