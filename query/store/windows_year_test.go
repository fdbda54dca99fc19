package store_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestAWarehouseSyncsAYear: a copy of a year of closed days learns with one
// request which days have rows; after late captures on three days one request
// names these three, and reading them completes the copy again.
func TestAWarehouseSyncsAYear(t *testing.T) {
	w := newWorld(t, 331, 0)
	w.cfg.SliceRows = 10_000
	w.listen()
	w.reports()
	first := time.Date(2025, 2, 1, 0, 0, 0, 0, time.UTC)
	const days = 365
	captured := func(day, hour int) obsRow {
		w.mark++
		return obsRow{item: uint64(1 + day%4), site: "alpha.example", ms: first.Add(time.Duration(day*24+hour) * time.Hour).UnixMilli(), epoch: w.epoch, seq: w.mark, price: int64(1_000 + day)}
	}
	var year []obsRow
	filled := 0
	for day := 0; day < days; day += effort.Often(25, 7) {
		filled++
		for _, hour := range []int{1, 9, 23}[:1+day%3] {
			year = append(year, captured(day, hour))
		}
	}
	w.add(year)
	request := query.ResultsRequest{CapturedFrom: first.Format(time.RFC3339), CapturedTo: first.AddDate(0, 0, days).Add(-time.Millisecond).Format("2006-01-02T15:04:05.000Z07:00"), Site: "alpha.example"}
	warehouse := &syncer{feeder: feeder{w: w, account: accountWhole, request: request}, bucket: "day", digests: map[string]string{}, parts: map[string]map[string]int{}}
	whole := func() {
		t.Helper()
		rows := map[string]int{}
		warehouse.snapshot(t, rows)
		if diff := gocmp.Diff(rows, warehouse.held()); diff != "" || len(rows) < filled {
			t.Fatalf("%d rows: %s", len(rows), diff)
		}
	}
	warehouse.sync(t)
	if warehouse.reads != filled || len(warehouse.parts) != days {
		t.Fatalf("%d days were read, of %d windows", warehouse.reads, len(warehouse.parts))
	}
	whole()

	late := []int{3, days / 2, days - 1}
	var rows []obsRow
	var want []string
	for _, day := range late {
		rows = append(rows, captured(day, 12))
		want = append(want, first.AddDate(0, 0, day).Format(time.DateOnly))
	}
	w.add(rows)
	page := must.Get(warehouse.ask(query.WindowsRequest{Since: warehouse.token}))(t)
	var changed []string
	for _, window := range page.Data {
		if changed = append(changed, window.CapturedFrom[:len(time.DateOnly)]); window.State != query.WindowClosed {
			t.Errorf("%+v", window)
		}
	}
	if !slices.Equal(changed, want) || page.Query.Windows != days {
		t.Errorf("changed are %v of %d, want %v", changed, page.Query.Windows, want)
	}
	before, digests := warehouse.reads, maps.Clone(warehouse.digests)
	warehouse.sync(t)
	whole()
	for day, digest := range warehouse.digests {
		if (digests[day] != digest) != slices.Contains(want, day[:len(time.DateOnly)]) {
			t.Errorf("the digest of %s was %s and is %s", day, digests[day], digest)
		}
	}
	if read := warehouse.reads - before; read != len(late) || warehouse.again > 0 {
		t.Errorf("%d days were read for %d", read, len(late))
	}
	if page, err := warehouse.ask(query.WindowsRequest{Since: warehouse.token}); err != nil || len(page.Data) != 0 {
		t.Errorf("with nothing new: %s", fmt.Sprint(page, err))
	}
}
