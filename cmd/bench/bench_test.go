package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

func TestQuantile(t *testing.T) {
	f := func(values []float64, q, want float64) {
		t.Helper()
		equals.Is(t, want, quantile(values, q), "quantile(%v, %g) =", values, q)
	}
	f(nil, 0.5, 0)
	f([]float64{7}, 0.99, 7)
	f([]float64{3, 1, 2}, 0.5, 2)
	f([]float64{3, 1, 2}, 0, 1)
	f([]float64{3, 1, 2}, 1, 3)
	hundred := make([]float64, 101)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	f(hundred, 0.99, 99)
}

func TestRatios(t *testing.T) {
	ours := Series{Seconds: []float64{2, 4, 3}, Rows: 10}
	other := Series{Seconds: []float64{6, 4, 5}, Rows: 10}
	got := slower(ours, other)
	if want := (spread{0.6, 2.0 / 6, 1}); got != want {
		t.Errorf("slower = %v, want %v", got, want)
	}
	got = faster(ours, other)
	if want := (spread{5.0 / 3, 1, 3}); got != want {
		t.Errorf("faster = %v, want %v", got, want)
	}
	twice := ours
	twice.Rows = 20 // twice the rows in the same time
	if got := faster(twice, other); math.Abs(got.value-10.0/3) > 1e-9 {
		t.Errorf("faster with twice the rows = %v", got.value)
	}
}

func TestVerdict(t *testing.T) {
	r := sample()
	got := map[string]string{}
	for _, x := range r.Ratios {
		got[x.Key] = x.verdict()
	}
	equals.Check(t, map[string]string{"stream_vs_clickhouse_json": "met", "page_vs_clickhouse_http": "MISSED", "publish_vs_bare_publish": ""}, got)
}

// sample is a result that has some of everything.
func sample() *Result {
	r := &Result{Machine: "2 cores", DataSet: "made <here> & now", Began: time.Unix(0, 0).UTC(), Quick: true, Values: map[string]float64{}, Missing: []string{"this"}}
	r.put("stream_vs_clickhouse_json", "a stream", "×", spread{2.5, 2, 3}, 2, false, "")
	r.put("page_vs_clickhouse_http", "a page", "×", exactly(1.4), 1.3, true, "")
	r.put("publish_vs_bare_publish", "publishing", "×", exactly(0.9), 0, false, "")
	timed := Series{Name: "ours & theirs", Seconds: []float64{1, 2, 3}, Rows: 5, Bytes: 7}
	r.Tables = []*Table{
		{Title: "timed", Series: []Series{timed, {Name: "other", Seconds: []float64{2, 2, 2}}}, Work: []Work{{Name: "w", Queries: 1, ReadRows: 10}}},
		{Title: "sizes", Series: []Series{{Name: "observations", Rows: 3, Bytes: 60, Note: "20 bytes a row"}}},
	}
	point := func(x float64) Point { return Point{x, 2, 1, 3} }
	r.Growth = []Curve{
		{Title: "log", X: "rows", Y: "ms", LogX: true, Lines: []Line{{"page", []Point{point(1), point(10), point(100)}}}},
		{Title: "plain", X: "rows", Y: "s", Lines: []Line{{"ours", []Point{point(1), point(2)}}, {"theirs", []Point{point(1), point(2)}}}},
		{Title: "nothing", X: "x", Y: "y"},
	}
	return r
}

func TestJSON(t *testing.T) {
	r := sample()
	r.Values["broken"] = math.Inf(1) // JSON has no such number
	text := must.Get(json.Marshal(r))(t)
	var got map[string]any
	must.Do(t, json.Unmarshal(text, &got))
	for key, want := range map[string]any{"stream_vs_clickhouse_json": 2.5, "page_vs_clickhouse_http": 1.4, "quick": true, "machine": "2 cores", "broken": nil} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
}

// TestPublishedKeys finds each public key in a file that measures, so that no
// measurement is dropped.
func TestPublishedKeys(t *testing.T) {
	files := must.Get(filepath.Glob("*.go"))(t)
	named := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "text.go" { // text.go lists them
			continue
		}
		file := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value)
				named[text] = true
			}
			return true
		})
	}
	for key := range published {
		if !named[key] {
			t.Errorf("nothing measures %s", key)
		}
	}
}

// TestReport renders every kind of table and plot, as well-formed markup.
func TestReport(t *testing.T) {
	page := sample().HTML()
	for _, want := range []string{"made &lt;here&gt; &amp; now", "ours &amp; theirs", "page_vs_clickhouse_http", "MISSED", "prefers-color-scheme: dark", "20 bytes a row"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if bytes.Contains(page, []byte("NaN")) || bytes.Contains(page, []byte("<script")) || bytes.Contains(page, []byte("http")) && bytes.Contains(page, []byte("://")) {
		t.Error("the report has no number where one should be, or fetches something")
	}
	d := xml.NewDecoder(bytes.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	plots := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the report is not well-formed: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "svg" {
			plots++
		}
	}
	if plots < 5 { // two gauges, one table, two curves
		t.Errorf("%d plots", plots)
	}
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	must.Do(t, sample().WriteMarkdown(&b))
	rows := slices.Collect(strings.Lines(b.String()))
	if !slices.Contains(rows, "| a page | 1.40 × |  | ≤ 1.30 | MISSED |\n") || !slices.Contains(rows, "| publishing | 0.90 × |  |  |  |\n") {
		t.Errorf("the table is\n%s", b.String())
	}
}

// TestItemsAreTheSame: the same seed builds the same market.
func TestItemsAreTheSame(t *testing.T) {
	a, b, other := makeItems(1, 100), makeItems(1, 100), makeItems(2, 100)
	same := func(x, y item) bool {
		return x.id == y.id && x.name == y.name && x.base == y.base && slices.Equal(x.mandates, y.mandates)
	}
	if len(a) != items || !slices.EqualFunc(a, b, same) {
		t.Error("the same seed gives another market")
	}
	if slices.EqualFunc(a, other, same) {
		t.Error("another seed gives the same market")
	}
}
