package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
)

// TestBenchSmall runs a few parts of the benchmark on a small data set: the
// numbers mean nothing, but the benchmark cannot rot.
func TestBenchSmall(t *testing.T) {
	effort.Full(t, "a small benchmark")
	report := filepath.Join(t.TempDir(), "bench.html")
	var out, errs bytes.Buffer
	if code := bench(t.Context(), []string{"--quick", "--observations", "30000", "--rounds", "1", "--only", "size,stream,tables,export,readrows,moved,tools,logins,statistics,costs,memory,publish,import", "--json", "--report", report}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	for _, key := range []string{
		"stream_vs_clickhouse_json", "stream_desc_vs_rows_scan", "publish_vs_bare_publish", "observations_bytes_per_row", "by_mandate_bytes_per_row", "stream_peak_rss_mib", "stream_parquet_peak_rss_mib",
		"stream_csv_peak_rss_mib", "stream_arrow_peak_rss_mib",
		"csv_vs_clickhouse", "arrow_vs_clickhouse", "parquet_vs_clickhouse", "arrow_bytes_vs_clickhouse", "csv_first_byte_vs_ndjson", "arrow_first_byte_vs_ndjson",
		"export_vs_curl_ndjson", "export_vs_curl_csv", "export_vs_curl_arrow", "export_vs_curl_parquet",
		"statistics_month_whole", "cost_page_clickhouse_cpu_us", "cost_small_page_statements", "statistics_month_day",
		"mandate_read_rows_per_row", "site_read_rows_per_row", "mcp_small_tools_vs_rest", "page_beside_logins_p99",
		"latest_item_vs_clickhouse_moved", "page_site_vs_clickhouse_moved", "import_rows_per_second",
	} {
		if v, ok := got[key].(float64); !ok || v <= 0 {
			t.Errorf("%s is %v", key, got[key])
		}
	}
	page := must.Get(os.ReadFile(report))(t)
	if !bytes.Contains(page, []byte("stream_vs_clickhouse_json")) || bytes.Contains(page, []byte("NaN")) {
		t.Errorf("the report is %s", page)
	}
}

// TestFlags: wrong flags are all named, and nothing is measured.
func TestFlags(t *testing.T) {
	var out, errs bytes.Buffer
	if code := bench(t.Context(), []string{"--observations", "1", "--only", "nothing", "--nats-url", "nats://127.0.0.1"}, &out, &errs); code != 2 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"observations: 1,", `only: "nothing"`, "clickhouse-dsn"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%q is not in %s", want, errs.String())
		}
	}
}
