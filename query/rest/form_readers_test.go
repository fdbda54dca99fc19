package rest_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/frame"
	"preismon/query/table/tabletest"
)

// TestAnalystsReadersReadTables: arrow-js, Polars and DuckDB find the values of
// NDJSON in each form that they can read, with all groups of fields.
func TestAnalystsReadersReadTables(t *testing.T) {
	testserver.Full(t, "readers of npm")
	s := serveOdd(t)
	s.store.blockMax = 5 // so that dictionaries are replaced
	now := time.Now().UTC()
	path := "/v1/results/stream?globalScope=true&includeExportFields=true&includeIdentity=true&includeCoverage=true&includeOrderIds=true&includeCustomerData=true&" +
		url.Values{"capturedFrom": {now.Add(-100 * time.Hour).Format(time.RFC3339)}, "capturedTo": {now.Add(time.Hour).Format(time.RFC3339)}}.Encode()
	lines := must.Get(tabletest.Lines(s.get(path, s.token(reader)).body))(t)
	columns := query.Columns((query.Include{ExportFields: true, Identity: true, Coverage: true, OrderIDs: true, CustomerData: true}).Fields())
	want := plainRows(columns, lines)
	if len(want) < 20 {
		t.Fatalf("%d rows", len(want))
	}
	dir := testserver.Scripts(t, "testdata/readers")
	type file struct {
		Name   string `json:"name"`
		Reader string `json:"reader"`
		File   string `json:"file"`
	}
	keep := func(name, media string) string {
		name = filepath.Join(dir, name)
		must.Do(t, os.WriteFile(name, s.getAs(path, media).body, 0o600))
		return name
	}
	plain, lz4, replaced := keep("plain", arrowMedia), keep("lz4", arrowMedia+";compression=lz4"), keep("replaced", arrowMedia+";dictionaries=replaced")
	parquet, table := keep("x.parquet", parquetMedia), keep("x.csv", csvMedia)
	files := []file{
		{"arrow-js", "arrow", plain},
		{"polars", "polars arrow", plain},
		{"polars, compressed", "polars arrow", lz4},
		{"arrow-js, dictionaries", "arrow", replaced},
		{"polars, dictionaries", "polars arrow", replaced},
		{"polars, parquet", "polars parquet", parquet},
		{"duckdb, parquet", "duckdb", "read_parquet('" + parquet + "')"},
		{"duckdb, csv", "duckdb", "(SELECT coalesce(columns(*), '') FROM read_csv('" + table + "', all_varchar = true))"},
	}
	plan := must.Get(json.Marshal(files))(t)
	run := testserver.Node(t, filepath.Join(dir, "read.mjs"), string(plan))
	run.Dir = dir
	run.Stderr = os.Stderr
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%.3000s", err, out)
	}
	seen := 0
	for line := range bytes.Lines(out) {
		var got struct {
			Name string
			Rows []tabletest.Record
		}
		must.Do(t, json.Unmarshal(line, &got))
		diff := ""
		if strings.HasSuffix(got.Name, "csv") {
			diff = cmp.Diff(cellsOf(t, table), got.Rows)
		} else {
			diff = cmp.Diff(want, plainRows(columns, got.Rows))
		}
		if diff != "" {
			t.Errorf("%s, %d rows of %d (-wanted +read): %.3000s", got.Name, len(got.Rows), len(want), diff)
		}
		seen++
	}
	if seen != len(files) {
		t.Errorf("%d of %d files were read", seen, len(files))
	}
}

// plainRows returns rows without the difference between null and absent, which
// the tables of some readers do not have.
func plainRows(columns []frame.Column, rows []tabletest.Record) []tabletest.Record {
	all := []tabletest.Record{}
	for _, row := range rows {
		all = append(all, withoutNullObjects(columns, row))
	}
	return all
}

// cellsOf returns the records of a CSV file as texts.
func cellsOf(t *testing.T, name string) []tabletest.Record {
	t.Helper()
	f := must.Get(os.Open(name))(t)
	defer f.Close() //nolint:errcheck // read to its end
	lines := must.Get(csv.NewReader(f).ReadAll())(t)
	all := []tabletest.Record{}
	for _, line := range lines[1:] {
		row := tabletest.Record{}
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		all = append(all, row)
	}
	return all
}
