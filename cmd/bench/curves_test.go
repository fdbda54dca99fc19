package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
)

// sized writes the result of a run as --json does.
func sized(t *testing.T, observations int64, mandates int, page float64) string {
	t.Helper()
	r := &Result{Machine: "2 cores", Observations: observations, Mandates: mandates, Values: map[string]float64{}}
	r.put("page_ms", "a page", "ms", spread{page, page - 1, page + 1}, 0, true, "")
	text := must.Get(json.Marshal(r))(t)
	file := filepath.Join(t.TempDir(), "result.json")
	must.Do(t, os.WriteFile(file, text, 0o600))
	return file
}

// TestCurves: results of any order become a curve by observations and one by
// mandates, and what the largest was predicted to be is said beside what it was.
func TestCurves(t *testing.T) {
	report := filepath.Join(t.TempDir(), "growth.html")
	files := []string{sized(t, 40_000_000, 100, 15), sized(t, 4_000_100, 1000, 11), sized(t, 4_000_000, 100, 10), sized(t, 400_000_000, 100, 25)}
	var out, errs bytes.Buffer
	if code := bench(t.Context(), []string{"--join", strings.Join(files, ","), "--report", report}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if want := "page_ms 10.0 15.0 20.0 25.0 ms -20 % a page"; len(lines) != 2 || strings.Join(strings.Fields(lines[1]), " ") != want {
		t.Errorf("the forecasts are %q, not %q", lines, want)
	}
	all := must.Get(readResults(files))(t)
	curves := join(all).Growth
	if len(curves) != 2 || len(curves[0].Lines[0].Points) != 3 || len(curves[1].Lines[0].Points) != 2 || curves[1].X != "mandates" || curves[1].Lines[0].Points[1] != (Point{1000, 11, 10, 12}) {
		t.Errorf("the curves are %+v", curves)
	}
	page := must.Get(os.ReadFile(report))(t)
	if bytes.Count(page, []byte("<svg")) != 2 || bytes.Contains(page, []byte("NaN")) {
		t.Errorf("the report is %s", page)
	}
	for _, wrong := range []string{files[0], files[0] + "," + files[0], files[0] + "," + report} {
		errs.Reset()
		if code := bench(t.Context(), []string{"--join", wrong}, &out, &errs); code != 1 || errs.Len() == 0 {
			t.Errorf("--join %s: exit code %d, %s", wrong, code, errs.String())
		}
	}
	if off := (Forecast{Predicted: 12, Measured: 10}).Off(); math.Abs(off-0.2) > 1e-9 {
		t.Errorf("12 instead of 10 is off by %g", off)
	}
}
