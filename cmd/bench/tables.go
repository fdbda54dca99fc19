package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"time"

	"preismon/deploy/embedded"
)

// tableForm is a form of ours and ClickHouse's own, which is nearest to it.
type tableForm struct {
	key, name string
	accept    string
	format    string // with settings
}

// The tables that are compared. Ours of one key are compared by the slower.
var tableForms = []tableForm{
	{"csv", "CSV", "text/csv", "SETTINGS output_format_csv_crlf_end_of_line = 1 FORMAT CSVWithNames"},
	{"arrow", "Arrow, plain", "application/vnd.apache.arrow.stream", "SETTINGS output_format_arrow_compression_method = 'none' FORMAT ArrowStream"},
	{"arrow", "Arrow, dictionaries, lz4", "application/vnd.apache.arrow.stream;dictionaries=replaced;compression=lz4", "SETTINGS output_format_arrow_compression_method = 'lz4_frame', output_format_arrow_low_cardinality_as_dictionary = 1 FORMAT ArrowStream"},
	{"parquet", "Parquet, zstd", "application/vnd.apache.parquet", "SETTINGS output_format_parquet_compression_method = 'zstd' FORMAT Parquet"},
}

// measureTables compares streams of tables with ClickHouse's own formats of
// the same rows in the same order, with and without export fields.
func (r *run) measureTables(ctx context.Context) error {
	const mandate = 1
	from, err := r.windowOf(ctx, mandate, r.size.tableRows)
	if err != nil {
		return err
	}
	stop, err := r.profileNode(ctx, "tables")
	if err != nil {
		return err
	}
	defer stop()
	worst, largest := map[string]spread{}, map[string]float64{}
	for _, export := range []bool{false, true} {
		s := selection{mandate: mandate, from: from, to: r.data.to, export: export, seq: r.data.watermarkSeq}
		query := window(from, r.data.to, "globalScope", "true", "includeExportFields", fmt.Sprint(export))
		t := Table{Title: "Tables, lean", Note: "Ours has money objects and reference prices joined in; ClickHouse has the bare columns, and place and outcome as numbers. Bytes are as sent."}
		if export {
			t.Title = "Tables, export fields"
		}
		for _, f := range tableForms {
			series, err := r.interleave(ctx, 1, r.size.streamRounds,
				contestant{"preismon " + f.name, func(ctx context.Context) (done, error) { return r.streamTable(ctx, mandate, query, f.accept) }},
				contestant{"ClickHouse " + f.name, func(ctx context.Context) (done, error) { return r.clickhouseTable(ctx, s.sql(), f.format) }},
			)
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			series[1].Rows = series[0].Rows // of the same window
			if _, peak, err := resident(r.world.nodes[r.world.database].cmd.Process.Pid); err == nil {
				series[0].Note = fmt.Sprintf("greatest resident memory of the query process so far: %.0f MiB", peak)
			}
			t.Series = append(t.Series, series...)
			if !export {
				continue
			}
			ratio, bytes := faster(series[0], series[1]), float64(series[0].Bytes)/math.Max(1, float64(series[1].Bytes))
			if w, ok := worst[f.key]; !ok || ratio.value < w.value {
				worst[f.key] = ratio
			}
			largest[f.key] = max(largest[f.key], bytes)
		}
		r.result.Tables = append(r.result.Tables, t)
	}
	for _, key := range []string{"csv", "arrow", "parquet"} {
		r.result.put(key+"_vs_clickhouse", "stream as "+key+", export fields: speed against ClickHouse's own, the slower where there are several", "×", worst[key], 1, false, "")
	}
	r.result.put("arrow_bytes_vs_clickhouse", "Arrow with export fields: bytes against ClickHouse's, plain and compressed like with like, the larger", "×", exactly(largest["arrow"]), 1.5, true, "")
	return nil
}

// streamTable reads a stream of ours in a form to its proven end.
func (r *run) streamTable(ctx context.Context, mandate uint64, query url.Values, accept string) (done, error) {
	began := time.Now()
	resp, err := r.getAs(ctx, r.world.database, mandate, "/v1/results/stream", query, accept)
	if err != nil {
		return done{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	d, err := swallow(resp.Body, began)
	if err != nil {
		return done{}, err
	}
	if resp.Trailer.Get("X-Results-Complete") != "true" {
		return done{}, errors.New("a stream without its end")
	}
	if _, err := fmt.Sscan(resp.Trailer.Get("X-Results-Returned"), &d.rows); err != nil {
		return done{}, err
	}
	return d, nil
}

func (r *run) clickhouseTable(ctx context.Context, statement, format string) (done, error) {
	began := time.Now()
	body, err := r.world.ask(ctx, embedded.QueryUser, r.world.database, statement+"\n"+format, nil)
	if err != nil {
		return done{}, err
	}
	defer body.Close() //nolint:errcheck // read to its end
	return swallow(body, began)
}

// swallow reads an answer and counts its bytes.
func swallow(body io.Reader, began time.Time) (d done, err error) {
	buf := readBuffers.Get().(*[256 << 10]byte)
	defer readBuffers.Put(buf)
	for {
		n, err := body.Read(buf[:])
		if n > 0 && d.bytes == 0 {
			d.first = time.Since(began)
		}
		d.bytes += int64(n)
		if errors.Is(err, io.EOF) {
			d.took = time.Since(began)
			return d, nil
		}
		if err != nil {
			return d, err
		}
	}
}
