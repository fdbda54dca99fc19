package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"preismon/deploy/testserver"
)

// TestBenchSmall runs a few parts of the benchmark on a small data set: the
// numbers mean nothing, but the benchmark cannot rot.
func TestBenchSmall(t *testing.T) {
	testserver.Full(t, "a small benchmark")
	t.Setenv(commandVariable, "bench") // the query nodes that it starts are this program, too
	report := filepath.Join(t.TempDir(), "bench.html")
	out, errs, code := inProcess(t, "bench", "--observations", "30000", "--rounds", "1", "--only", "size,stream,memory,publish", "--json", "--report", report)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for _, key := range []string{"stream_vs_clickhouse_json", "stream_desc_vs_rows_scan", "publish_vs_bare_publish", "observations_bytes_per_row", "by_mandate_bytes_per_row", "stream_peak_rss_mib"} {
		if v, ok := got[key].(float64); !ok || v <= 0 {
			t.Errorf("%s is %v", key, got[key])
		}
	}
	page, err := os.ReadFile(report)
	must(t, err)
	if !bytes.Contains(page, []byte("stream_vs_clickhouse_json")) || bytes.Contains(page, []byte("NaN")) {
		t.Errorf("the report is %s", page)
	}
}
