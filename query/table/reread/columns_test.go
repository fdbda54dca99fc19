package reread_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"preismon/query"
	"preismon/query/frame"
	"preismon/query/table"
	"preismon/query/table/objects"
	"preismon/query/table/reread"
)

// nested has every kind of value that records have, nested in one another.
type nested struct {
	ID    string       `json:"id"`
	At    *string      `json:"at" column:"instant"`
	One   *side        `json:"one"`
	Whole holder       `json:"whole"`
	Lists []holder     `json:"lists"`
	Price *json.Number `json:"price"`
	Maybe *int64       `json:"maybe,omitempty"`
}

type holder struct {
	Kinds []string `json:"kinds"`
	Side  *side    `json:"side"`
	Sides []side   `json:"sides"`
}

type side struct {
	Amount *json.Number `json:"amount"`
	Count  int          `json:"count"`
	Flag   *bool        `json:"flag"`
	Inner  *inner       `json:"inner"`
	Must   inner        `json:"must"`
	Texts  []string     `json:"texts"`
}

type inner struct {
	Text *string `json:"text"`
	N    int     `json:"n"`
}

// A Parquet file says that it is sorted only if it is, also across batches.
func TestSortedOnlyIfItIs(t *testing.T) {
	columns := query.Columns([]string{"capturedAt"})
	for _, c := range []struct {
		hours          string // of rows, in batches
		ascends, falls bool
	}{
		{"8", true, true},
		{"88 8", true, true},
		{"7 89", true, false},
		{"98 7", false, true},
		{"87 9", false, false},
		{"8 79", false, false},
		{"89 7", false, false},
		{"98 79", false, false},
	} {
		for sorted, want := range map[table.Sorting]string{
			table.Unsorted:   "",
			table.Ascending:  map[bool]string{true: "capturedAt"}[c.ascends],
			table.Descending: map[bool]string{true: "-capturedAt"}[c.falls],
		} {
			var out bytes.Buffer
			w := table.Parquet(&out, columns, sorted)
			for batch := range strings.SplitSeq(c.hours, " ") {
				var v frame.Vector
				for _, hour := range batch {
					v.Ints = append(v.Ints, int64(hour-'0')*3_600_000)
				}
				if err := w.Write(&frame.Batch{Len: len(batch), Columns: []frame.Vector{v}}); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if got, err := reread.Sorted(out.Bytes()); err != nil || strings.Join(got, " ") != want {
				t.Errorf("%q as %d: %q, want %q: %v", c.hours, sorted, got, want, err)
			}
		}
	}
}

// Records of any nesting are the same in Arrow and Parquet as in JSON, also
// over several batches.
func TestNestedRecords(t *testing.T) {
	columns := query.RecordColumns[nested]()
	text := rapid.SampledFrom([]string{"", "a", "=1", "桜"})
	amount := rapid.Custom(func(t *rapid.T) json.Number {
		return json.Number(rapid.SampledFrom([]string{"0", "1.50", "-3", "12345678901.001", "9999999999999800.00", "900719925474099000.00"}).Draw(t, "amount"))
	})
	inners := rapid.Custom(func(t *rapid.T) inner {
		return inner{rapid.Ptr(text, true).Draw(t, "text"), rapid.IntRange(-5, 5).Draw(t, "n")}
	})
	sides := rapid.Custom(func(t *rapid.T) side {
		return side{
			rapid.Ptr(amount, true).Draw(t, "amount"), rapid.IntRange(0, 3).Draw(t, "count"), rapid.Ptr(rapid.Bool(), true).Draw(t, "flag"),
			rapid.Ptr(inners, true).Draw(t, "inner"), inners.Draw(t, "must"), rapid.SliceOfN(text, 0, 3).Draw(t, "texts"),
		}
	})
	holders := rapid.Custom(func(t *rapid.T) holder {
		return holder{rapid.SliceOfN(text, 0, 3).Draw(t, "kinds"), rapid.Ptr(sides, true).Draw(t, "side"), rapid.SliceOfN(sides, 0, 3).Draw(t, "sides")}
	})
	rapid.Check(t, func(t *rapid.T) {
		var rows bytes.Buffer
		for range rapid.IntRange(0, 9).Draw(t, "rows") {
			r := nested{
				text.Draw(t, "id"), rapid.Ptr(rapid.Just("2026-03-01T08:30:00.250Z"), true).Draw(t, "at"), rapid.Ptr(sides, true).Draw(t, "one"),
				holders.Draw(t, "whole"), rapid.SliceOfN(holders, 0, 3).Draw(t, "lists"), rapid.Ptr(amount, true).Draw(t, "price"),
				rapid.Ptr(rapid.Int64Range(0, 9), true).Draw(t, "maybe"),
			}
			if rows.Len() > 0 {
				rows.WriteByte(',')
			}
			line, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			rows.Write(line)
		}
		want, err := reread.JSON(rows.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for name, form := range map[string]struct {
			write func(io.Writer) table.Writer
			read  func([]byte, []frame.Column, *time.Location) ([]reread.Record, error)
		}{
			"parquet": {func(w io.Writer) table.Writer { return table.Parquet(w, columns, table.Unsorted) }, reread.Columns},
			"arrow": {
				func(w io.Writer) table.Writer { return table.Arrow(w, columns, table.ArrowOptions{}) },
				func(b []byte, _ []frame.Column, zone *time.Location) ([]reread.Record, error) {
					return reread.Arrow(b, zone)
				},
			},
		} {
			var out bytes.Buffer
			w := objects.Batches(form.write(&out), columns, 4)
			if err := w.Write(rows.Bytes()); err != nil {
				t.Fatal(name, err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(name, err)
			}
			got, err := form.read(out.Bytes(), columns, time.UTC)
			if err != nil {
				t.Fatal(name, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-want +got): %s", name, diff)
			}
		}
	})
}
