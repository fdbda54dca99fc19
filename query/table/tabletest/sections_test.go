package tabletest_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"preismon/query"
	"preismon/query/frame"
	"preismon/query/table"
	"preismon/query/table/objects"
	"preismon/query/table/tabletest"
)

// kept is a section of a table, with its rows.
type kept struct {
	description, bytes []byte
	rows               []tabletest.Record
}

// unclosed is a table that is continued.
type unclosed struct{ table.Sections }

func (unclosed) Close() error { return nil }

// TestSections: a table that is put together of sections of another one and of
// rows of its own, in any order, has these rows: no section needs what was before
// it in its own table.
func TestSections(t *testing.T) {
	columns := query.RecordColumns[nested]()
	columns[0].Few = true
	rows := nestedRows()
	parquet := func(to *bytes.Buffer) table.Sections { return table.Parquet(to, columns, table.Unsorted) }
	readParquet := func(file []byte) ([]tabletest.Record, error) { return tabletest.Columns(file, columns, time.UTC) }
	rapid.Check(t, func(t *rapid.T) {
		write, read := parquet, readParquet
		if rapid.Bool().Draw(t, "arrow") {
			o := table.ArrowOptions{Dictionaries: rapid.Bool().Draw(t, "dictionaries"), Compression: rapid.SampledFrom([]string{"none", "lz4", "zstd"}).Draw(t, "compression")}
			write = func(to *bytes.Buffer) table.Sections { return table.Arrow(to, columns, o) }
			read = func(b []byte) ([]tabletest.Record, error) { return tabletest.Arrow(b, time.UTC) }
		}
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		fill := func(w table.Sections) []tabletest.Record {
			text := rows.Draw(t, "rows")
			records, err := tabletest.JSON(text)
			do(err)
			to := objects.Batches(unclosed{w}, columns, 4)
			do(to.Write(text))
			do(to.Close())
			return records
		}
		cut := func(w table.Sections) []byte {
			description, err := w.Cut()
			do(err)
			return description
		}
		var source, whole bytes.Buffer
		from, to := write(&source), write(&whole)
		fill(from)
		cut(from)
		var sections []kept
		for range 3 {
			before := source.Len()
			records := fill(from)
			description := cut(from)
			sections = append(sections, kept{description, bytes.Clone(source.Bytes()[before:]), records})
		}
		want := []tabletest.Record{}
		for range rapid.IntRange(0, 5).Draw(t, "steps") {
			if n := rapid.IntRange(0, len(sections)).Draw(t, "section"); n < len(sections) {
				cut(to)
				do(to.Splice(sections[n].description))
				whole.Write(sections[n].bytes)
				want = append(want, sections[n].rows...)
			} else {
				want = append(want, fill(to)...)
			}
		}
		do(to.Close())
		got, err := read(whole.Bytes())
		do(err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestSplicedIsSortedOnlyIfItIs: what a file says of its order holds over sections.
func TestSplicedIsSortedOnlyIfItIs(t *testing.T) {
	columns := query.Columns([]string{"capturedAt"})
	for hours, want := range map[string]string{"12 34": "capturedAt", "34 12": "", "21 34": "", "12 43": "", "22 22": "capturedAt", "132 34": ""} {
		var source, whole bytes.Buffer
		from, to := table.Parquet(&source, columns, table.Ascending), table.Parquet(&whole, columns, table.Ascending)
		batch := func(hours string) *frame.Batch {
			var v frame.Vector
			for _, hour := range hours {
				v.Ints = append(v.Ints, int64(hour-'0')*3_600_000)
			}
			return &frame.Batch{Len: len(hours), Columns: []frame.Vector{v}}
		}
		do := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := from.Cut()
		do(err)
		before := source.Len()
		spliced, own, _ := strings.Cut(hours, " ")
		do(from.Write(batch(spliced)))
		section, err := from.Cut()
		do(err)
		do(to.Splice(section))
		whole.Write(source.Bytes()[before:])
		do(to.Write(batch(own)))
		do(to.Close())
		sorted, err := tabletest.Sorted(whole.Bytes())
		do(err)
		for _, of := range append(sorted, want)[:max(1, len(sorted))] {
			if of != want {
				t.Errorf("%s: sorted by %q, want %q", hours, sorted, want)
			}
		}
	}
}
