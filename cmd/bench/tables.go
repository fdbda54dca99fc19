package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
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
func (r *run) measureTables(ctx context.Context) {
	r.compareTables(ctx, "Tables, lean", r.world.database, false, func(tableForm, []Series) {})
	ratios, same, first, larger := map[string][]spread{}, map[string][]spread{}, map[string][]spread{}, map[string][]spread{}
	add := func(to map[string][]spread, key string, ratio spread) { to[key] = append(to[key], ratio) }
	r.compareTables(ctx, "Tables, export fields", r.world.database, true, func(f tableForm, series []Series) {
		add(ratios, f.key, faster(series[0], series[1]))
		add(same, f.key, faster(series[0], series[2]))
		add(first, f.key, slower(Series{Seconds: series[0].First}, Series{Seconds: series[3].First}))
		add(larger, f.key, exactly(float64(series[0].Bytes)/math.Max(1, float64(series[2].Bytes))))
	})
	if r.err != nil {
		return
	}
	for _, key := range tableKeys {
		r.put(key+"_vs_clickhouse", "stream as "+key+", export fields: speed against ClickHouse's own, the slower where there are several", "×", least(ratios[key]...), 1, false, "")
		r.put(key+"_vs_clickhouse_same_fields", "the same against a statement that gives the same fields", "×", least(same[key]...), 0, false, "")
	}
	for _, key := range []string{"csv", "arrow"} { // Parquet begins with a whole row group
		r.put(key+"_first_byte_vs_ndjson", "stream as "+key+", export fields: time to the first byte against NDJSON's", "×", greatest(first[key]...), 1.2, true, "")
	}
	r.put("arrow_bytes_vs_clickhouse", "Arrow with export fields: bytes against ClickHouse's for the same fields, plain and compressed like with like, the larger", "×", greatest(larger["arrow"]...), 1.5, true, "")
}

// compareTables compares each form: that of a node, ClickHouse's of the bare
// columns and, with export fields, of the same fields, and NDJSON. The node may
// need some requests before it remembers what it sends.
func (r *run) compareTables(ctx context.Context, title, node string, export bool, found func(tableForm, []Series)) {
	s := selection{mandate: 1, from: r.data.starts[tableRows], export: export}
	query := with(r.exported(s.from), "includeExportFields", fmt.Sprint(export))
	var rows [2]float64
	for i, statement := range []string{r.sql(s), r.sameFields(s)} {
		rows[i] = r.number(ctx, "SELECT count() FROM ("+statement+")")
	}
	t := r.table(title, "Ours has money objects and reference prices joined in; ClickHouse has the bare columns, and place and outcome as numbers, or the same fields made by SQL. Bytes are as sent.")
	for _, f := range tableForms {
		ours := func(header http.Header) task {
			return func(ctx context.Context) done { return r.stream(ctx, node, s.mandate, query, header) }
		}
		rivals := []contestant{{"preismon " + f.name, ours(as(f.accept))}, {"ClickHouse " + f.name, r.clickhouse(r.sql(s), f.format)}}
		stop := func() {}
		if export {
			rivals = append(rivals, contestant{"ClickHouse " + f.name + ", same fields", r.clickhouse(r.sameFields(s), f.format)}, contestant{"preismon NDJSON", ours(nil)})
			stop = r.profileNode(ctx, "tables-"+strings.ToLower(strings.ReplaceAll(f.name, ", ", "-")))
		}
		series := r.interleave(ctx, 3, r.size.streamRounds, rivals...)
		stop()
		for i := 1; i < min(3, len(series)); i++ { // lines are not rows of every form
			series[i].Rows = int64(rows[i-1])
		}
		if r.failed(sameRows(series)) {
			return
		}
		if _, peak, err := resident(r.world.nodes[node].pid()); err == nil {
			series[0].Note = fmt.Sprintf("greatest resident memory of the query process so far: %.0f MiB", peak)
		}
		t.Series = append(t.Series, series...)
		found(f, series)
	}
}
