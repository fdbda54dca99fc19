package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/tools"
	"preismon/query/table/tabletest"

	gocmp "github.com/google/go-cmp/cmp"
)

// splitExport: the days of a folder together have all rows; a second run reads
// only what has changed; what the folder does not hold is reported.
func (d *demoTest) splitExport(t *testing.T) {
	effort.Full(t, "exports by day")
	p := d.within(t, "hanna")
	flags, _ := past()
	flags = append(flags, "--site", "demo-markt-de.example", "--include", "export-fields")
	folder := filepath.Join(t.TempDir(), "prices")
	split := append([]string{"export", "--split", "day", "-o", folder}, flags...)
	var rows []string
	for line := range strings.Lines(first(p.run(0, append([]string{"export"}, flags...)...))) {
		rows = append(rows, strings.TrimSuffix(line, "\n"))
	}
	want, err := tabletest.Lines([]byte(strings.Join(rows, "\n")))
	if err != nil || len(want) < 100 {
		t.Fatalf("%d rows, %v", len(want), err)
	}
	holds := func() {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(folder, "day=????-??-??", "*"))
		if err != nil || len(files) < 7 {
			t.Fatalf("%q, %v", files, err)
		}
		slices.Reverse(files) // the newest rows first
		var got []tabletest.Record
		for _, name := range files {
			text := must.Get(os.ReadFile(name))(t)
			day, err := tabletest.Parquet(text, time.UTC)
			if err != nil || filepath.Base(name) != "rows.parquet" {
				t.Fatalf("%s: %v", name, err)
			}
			got = append(got, day...)
		}
		if !reflect.DeepEqual(want, got) {
			t.Errorf("the days (-whole +days): %.2000s", gocmp.Diff(want, got))
		}
	}
	_, said := p.run(0, split...)
	t.Log(said)
	holds()
	all := thousands(int64(len(want))) + " rows"
	if !strings.Contains(said, " days read, "+all+"; "+folder+" holds "+all) {
		t.Errorf("the first run: %s", said)
	}
	d.readFolder(t, folder, len(want))
	if _, said = p.run(0, split...); !strings.HasPrefix(said, "0 of ") || !strings.Contains(said, "holds "+all) {
		t.Errorf("nothing is new: %s", said)
	}
	// A day whose rows have changed, and one that has no rows any more.
	name := filepath.Join(folder, splitStateName)
	var state splitState
	text, err := os.ReadFile(name)
	if err != nil || json.Unmarshal(text, &state) != nil {
		t.Fatalf("%s, %v", text, err)
	}
	changed := time.Now().UTC().Add(-72 * time.Hour).Format(time.DateOnly)
	state.Days[changed] = splitDay{3, "another"}
	state.Token = "no token"
	state.folder = folder
	must.Do(t, os.WriteFile(state.file(changed, "parquet"), nil, 0o600))
	must.Do(t, state.keep())
	if _, said = p.run(exitFailed, split...); !strings.Contains(said, "since: it is wrong") {
		t.Errorf("a token that is none: %s", said)
	}
	state.Token = ""
	must.Do(t, state.keep())
	if _, said = p.run(0, split...); !strings.Contains(said, changed+"  ") || !strings.Contains(said, "\n1 of ") {
		t.Errorf("one day is another one: %s", said)
	}
	holds()
	for flag, why := range map[string]string{"--site=all": "another export", "--brand=A": "--brand: cannot be combined with --split"} {
		if _, said := p.run(exitUsage, append(slices.Clone(split), flag)...); !strings.Contains(said, why) {
			t.Errorf("%s: %s", flag, said)
		}
	}
	if _, said := p.run(exitUsage, "export", "--split", "day", "--from", "2026-01-01"); !strings.Contains(said, "name a folder") {
		t.Errorf("without a folder: %s", said)
	}
	// The windows that the folder is built from, as a command.
	out, said := p.run(0, append([]string{"windows", "--format", "csv", "--site", "demo-markt-de.example"}, flags[:4]...)...)
	_, next, more := strings.Cut(strings.TrimSpace(said), "preismon windows --since ")
	empty := strings.Count(out, ",closed,0,") // an empty day has no file
	if strings.Count(out, "\n") != 1+len(state.Days)+empty || !more {
		t.Fatalf("windows: %s%s", out, said)
	}
	if out, _ = p.run(0, "windows", "--format", "csv", "--since", next); strings.Count(out, "\n") != 1 {
		t.Errorf("windows of a closed time, with nothing new: %s", out)
	}
	p.run(exitUsage, "windows", "--since", next, "--site", "demo-markt-de.example")
}

// readFolder reads the folder by DuckDB, as the how-to describes, and by Polars.
func (d *demoTest) readFolder(t *testing.T, folder string, want int) {
	dir := tools.Scripts(t, "../../query/rest/testdata/readers")
	plan := must.Get(json.Marshal([]map[string]string{{
		"name": "DuckDB", "reader": "duckdb",
		"file": "(SELECT count(*) AS n, count(DISTINCT day) AS days, bool_and(strftime(capturedAt, '%Y-%m-%d') = day::VARCHAR) AS apart FROM read_parquet('" + folder + "/*/*.parquet', hive_partitioning = true))",
	}, {"name": "Polars", "reader": "polars folder", "file": folder}}))(t)
	run := tools.Node(t, filepath.Join(dir, "read.mjs"), string(plan))
	run.Dir, run.Stderr = dir, os.Stderr
	out, err := run.Output()
	if err != nil || strings.Count(string(out), "\n") != 2 {
		t.Fatalf("%s, %v", out, err)
	}
	for line := range strings.Lines(string(out)) {
		var got struct {
			Name string
			Rows []struct {
				N, Days int
				Apart   bool
			}
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil || len(got.Rows) != 1 {
			t.Fatalf("%s, %v", line, err)
		}
		if r := got.Rows[0]; r.N != want || r.Days < 7 || !r.Apart {
			t.Errorf("%s reads %+v, expected %d rows", got.Name, r, want)
		}
	}
}
