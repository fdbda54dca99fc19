package explorer_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/must"
	"preismon/query/frame"
	"preismon/query/table/tabletest"
)

// The files that the page writes read back as what they were made from.
func TestParquet(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "node", "--no-warnings", "testdata/parquet.mjs").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var made struct {
		Whole, Empty []byte
		Rows         []map[string]any
	}
	must.Do(t, json.Unmarshal(out, &made))
	var columns []frame.Column
	kinds := []frame.Kind{frame.Text, frame.Number, frame.Integer, frame.Instant, frame.Boolean}
	names := []string{"text", "number", "count", "time", "flag"}
	for i := range 20 {
		columns = append(columns, frame.Column{Name: fmt.Sprint(names[i%5], i), Kind: kinds[i%5], Nullable: true})
	}
	var want []tabletest.Record
	for _, row := range made.Rows {
		r := tabletest.Record{}
		for i := range columns {
			v := row[names[i%5]]
			if text, ok := v.(string); ok && names[i%5] == "time" {
				at := must.Get(time.Parse(time.RFC3339Nano, text))(t)
				v = at.UTC().Format("2006-01-02T15:04:05.000Z")
			}
			r[columns[i].Name] = v
		}
		want = append(want, r)
	}
	got, err := tabletest.Unstated(made.Whole, columns, time.UTC)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-rows +file): %.2000s", err, diff)
	}
	if none, err := tabletest.Unstated(made.Empty, columns, time.UTC); err != nil || len(none) != 0 {
		t.Errorf("without rows: %v, %d", err, len(none))
	}
}
