package rest_test

import (
	"bytes"
	gocmp "cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/tools"
	"preismon/query"
	"preismon/query/frame"
	"preismon/query/table/tabletest"
)

// TestAnalystsReadersReadTables: arrow-js, Polars and DuckDB find the values of
// NDJSON in each form that they can read, with all groups of fields: in streams of
// both orders, in one that is put together of what the node remembers, and in a
// page. DuckDB, which leaves row groups out by what the file
// says of their values, finds the same rows by a condition.
func TestAnalystsReadersReadTables(t *testing.T) {
	effort.Full(t, "readers of npm")
	s := serveOdd(t)
	s.store.blockMax = 5 // so that dictionaries are replaced
	s.store.spread()
	now := time.Now().UTC()
	path := "/v1/results/stream?globalScope=true&includeExportFields=true&includeIdentity=true&includeCoverage=true&includeOrderIds=true&includeCustomerData=true&" +
		url.Values{"capturedFrom": {now.Add(-100 * time.Hour).Format(time.RFC3339)}, "capturedTo": {now.Add(time.Hour).Format(time.RFC3339)}}.Encode()
	columns := query.Columns((query.Include{ExportFields: true, Identity: true, Coverage: true, OrderIDs: true, CustomerData: true}).Fields())
	rows := func(path string) []tabletest.Record {
		lines := must.Get(tabletest.Lines(s.getAs(path, ndjsonMedia).body))(t)
		if len(lines) < 20 {
			t.Fatalf("%s: %d rows", path, len(lines))
		}
		return plainRows(columns, lines)
	}
	dir := tools.Scripts(t, "testdata/readers")
	type file struct {
		Name   string `json:"name"`
		Reader string `json:"reader"`
		File   string `json:"file"`
	}
	keep := func(path, name, media string) string {
		name = filepath.Join(dir, name)
		a := s.getAs(path, media)
		if a.StatusCode != http.StatusOK {
			t.Fatalf("%s as %s: %d %s", path, media, a.StatusCode, a.body)
		}
		must.Do(t, os.WriteFile(name, a.body, 0o600))
		return name
	}
	const both = ";dictionaries=replaced;compression=lz4"
	var files []file
	want := map[string][]tabletest.Record{} // by the name of a file
	for of, path := range map[string]string{"": path, " of a page": strings.Replace(path, "/stream?", "?limit=10000&", 1), " ascending": path + "&sort=asc", " again": past(100, "&includeCoverage=false")} {
		if of == " again" {
			for _, media := range []string{ndjsonMedia, csvMedia, parquetMedia, arrowMedia, arrowMedia + ";dictionaries=replaced", arrowMedia + ";compression=lz4", arrowMedia + both} {
				s.getAs(path, media) // what is requested for the second time is remembered
				s.getAs(path, media)
			}
		}
		kept := func(name, media string) string { return keep(path, strings.ReplaceAll(of, " ", "-")+"-"+name, media) }
		plain, replaced, parquet, table := kept("plain", arrowMedia), kept("replaced", arrowMedia+";dictionaries=replaced"), kept("x.parquet", parquetMedia), kept("x.csv", csvMedia)
		all := []file{
			{"arrow-js", "arrow", plain},
			{"polars", "polars arrow", plain},
			{"polars, compressed", "polars arrow", kept("lz4", arrowMedia+";compression=lz4")},
			{"arrow-js, dictionaries", "arrow", replaced},
			{"polars, dictionaries", "polars arrow", replaced},
			{"polars, dictionaries, compressed", "polars arrow", kept("both", arrowMedia+both)},
			{"polars, parquet", "polars parquet", parquet},
			{"duckdb, parquet", "duckdb", "read_parquet('" + parquet + "')"},
		}
		records := rows(path)
		for i := range all {
			all[i].Name += of
			want[all[i].Name] = records
		}
		cells, filtered := "duckdb, csv"+of, "duckdb, conditions"+of
		statement, counts := conditions(records, parquet)
		want[cells], want[filtered] = cellsOf(t, must.Get(os.ReadFile(table))(t)), counts
		files = append(append(files, all...), file{cells, "duckdb", "(SELECT coalesce(columns(*), '') FROM read_csv('" + table + "', all_varchar = true))"}, file{filtered, "duckdb", statement})
	}
	plan := must.Get(json.Marshal(files))(t)
	run := tools.Node(t, filepath.Join(dir, "read.mjs"), string(plan))
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
		if _, whole := got.Rows[0]["itemId"].(string); whole && !strings.HasPrefix(got.Name, "duckdb, csv") {
			got.Rows = plainRows(columns, got.Rows)
		}
		if diff := cmp.Diff(want[got.Name], got.Rows); diff != "" {
			t.Errorf("%s, %d rows of %d (-wanted +read): %.3000s", got.Name, len(got.Rows), len(want[got.Name]), diff)
		}
		seen++
	}
	if seen != len(files) {
		t.Errorf("%d of %d files were read", seen, len(files))
	}
}

// conditions returns a statement of DuckDB that counts the rows of a file with the
// least and the greatest value of some columns, beyond them, and without a value;
// and the counts.
func conditions(rows []tabletest.Record, file string) (statement string, want []tabletest.Record) {
	var parts []string
	count := func(condition string, holds func(tabletest.Record) bool) {
		n := 0
		for _, row := range rows {
			if holds(row) {
				n++
			}
		}
		want = append(want, tabletest.Record{"condition": float64(len(parts)), "n": float64(n)})
		parts = append(parts, fmt.Sprintf("SELECT %d AS condition, count(*) AS n FROM read_parquet('%s') WHERE %s", len(parts), file, condition))
	}
	for _, name := range []string{"itemId", "site", "capturedAt", "price", "priceMoney.amountMinor", "merchant", "deliveryText", "shippingCost", "coverageState"} {
		value := func(row tabletest.Record) any {
			if of, member, ok := strings.Cut(name, "."); ok {
				return row[of].(tabletest.Record)[member]
			}
			return row[name]
		}
		compared := func(a, b any) int {
			if text, ok := a.(string); ok {
				return strings.Compare(text, b.(string))
			}
			return gocmp.Compare(a.(float64), b.(float64))
		}
		var least, most any
		for _, row := range rows {
			if v := value(row); v != nil {
				if least == nil || compared(v, least) < 0 {
					least = v
				}
				if most == nil || compared(v, most) > 0 {
					most = v
				}
			}
		}
		if least == nil {
			continue // its group of fields was not requested
		}
		count(name+" IS NULL", func(row tabletest.Record) bool { return value(row) == nil })
		for _, bound := range []any{least, most} {
			literal := fmt.Sprintf("%.20g", bound)
			if text, ok := bound.(string); ok {
				literal = "('" + strings.NewReplacer("'", "''", "\x00", "' || chr(0) || '").Replace(text) + "')"
			}
			for operator, holds := range map[string]func(int) bool{
				"=": func(n int) bool { return n == 0 }, "<=": func(n int) bool { return n <= 0 }, ">=": func(n int) bool { return n >= 0 },
				"<": func(n int) bool { return n < 0 }, ">": func(n int) bool { return n > 0 },
			} {
				count(name+" "+operator+" "+literal, func(row tabletest.Record) bool {
					v := value(row)
					return v != nil && holds(compared(v, bound))
				})
			}
		}
	}
	return "(" + strings.Join(parts, " UNION ALL ") + " ORDER BY condition)", want
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
func cellsOf(t *testing.T, text []byte) []tabletest.Record {
	t.Helper()
	lines := must.Get(csv.NewReader(bytes.NewReader(text)).ReadAll())(t)
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
