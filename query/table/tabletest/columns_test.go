package tabletest_test

import (
	"bytes"
	gocmp "cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/frame"
	"preismon/query/table"
	"preismon/query/table/objects"
	"preismon/query/table/tabletest"
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
				must.Do(t, w.Write(&frame.Batch{Len: len(batch), Columns: []frame.Vector{v}}))
			}
			must.Do(t, w.Close())
			if got, err := tabletest.Sorted(out.Bytes()); err != nil || strings.Join(got, " ") != want {
				t.Errorf("%q as %d: %q, want %q: %v", c.hours, sorted, got, want, err)
			}
		}
	}
}

// nestedRows generates up to nine records, with commas between them.
func nestedRows() *rapid.Generator[[]byte] {
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
	return rapid.Custom(func(t *rapid.T) []byte {
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
		return rows.Bytes()
	})
}

// Records of any nesting are the same in Arrow and Parquet as in JSON, also
// over several batches.
func TestNestedRecords(t *testing.T) {
	columns := query.RecordColumns[nested]()
	some := nestedRows()
	rapid.Check(t, func(t *rapid.T) {
		rows := some.Draw(t, "rows")
		want, err := tabletest.JSON(rows)
		if err != nil {
			t.Fatal(err)
		}
		for name, form := range map[string]struct {
			write func(io.Writer) table.Writer
			read  func([]byte, []frame.Column, *time.Location) ([]tabletest.Record, error)
		}{
			"parquet": {func(w io.Writer) table.Writer { return table.Parquet(w, columns, table.Unsorted) }, tabletest.Columns},
			"arrow": {
				func(w io.Writer) table.Writer { return table.Arrow(w, columns, table.ArrowOptions{}) },
				func(b []byte, _ []frame.Column, zone *time.Location) ([]tabletest.Record, error) {
					return tabletest.Arrow(b, zone)
				},
			},
		} {
			var out bytes.Buffer
			w := objects.Batches(form.write(&out), columns, 4)
			if err := w.Write(rows); err != nil {
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

// What ReadArrow reads is what Arrow wrote, in any of its forms, for every table
// that the batches are written to, also if they are of several streams.
func TestReadArrow(t *testing.T) {
	columns := query.RecordColumns[nested]()
	columns[0].Few = true
	one := &columns[slices.IndexFunc(columns, func(c frame.Column) bool { return c.Name == "one" })]
	for i := range one.Members {
		if m := &one.Members[i]; m.Name == "inner" || m.Name == "must" {
			m.Members[0].Few = true
		}
	}
	some := nestedRows()
	rapid.Check(t, func(t *rapid.T) {
		want := []tabletest.Record{}
		var arrow, parquet bytes.Buffer
		both := []table.Writer{table.Arrow(&arrow, columns, table.ArrowOptions{}), table.Parquet(&parquet, columns, table.Unsorted)}
		for range 2 {
			rows := some.Draw(t, "rows")
			records, err := tabletest.JSON(rows)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, records...)
			var sent bytes.Buffer
			w := objects.Batches(table.Arrow(&sent, columns, table.ArrowOptions{
				Dictionaries: rapid.Bool().Draw(t, "dictionaries"), Compression: rapid.SampledFrom([]string{"none", "lz4", "zstd"}).Draw(t, "compression"),
			}), columns, 4)
			if err := errors.Join(w.Write(rows), w.Close()); err != nil {
				t.Fatal(err)
			}
			for i, w := range both {
				in, err := table.ReadArrow(bytes.NewReader(sent.Bytes()))
				if err != nil {
					t.Fatal(err)
				}
				in.Doubles = i == 0 && rapid.Bool().Draw(t, "doubles")
				if diff := cmp.Diff(query.Names(columns), in.Names()); diff != "" {
					t.Fatal(diff)
				}
				for batch, err := range in.Batches(columns) {
					if err != nil {
						t.Fatal(err)
					}
					if err := w.Write(batch); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		for i, read := range []func() ([]tabletest.Record, error){
			func() ([]tabletest.Record, error) { return tabletest.Arrow(arrow.Bytes(), time.UTC) },
			func() ([]tabletest.Record, error) { return tabletest.Columns(parquet.Bytes(), columns, time.UTC) },
		} {
			if err := both[i].Close(); err != nil {
				t.Fatal(err)
			}
			got, err := read()
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Fatal(i, err, diff)
			}
		}
	})
}

// A dictionary that replaces another has numbers of its own, also if its texts
// make up the same bytes; one that only grew keeps them.
func TestReadReplacedDictionaries(t *testing.T) {
	columns := []frame.Column{{Name: "x", Kind: frame.Text, Few: true}}
	long := strings.Repeat("l", 600_000)
	batches := [][]string{{"x"}, {"y", "x"}, {"x", "y", "ab", "c", long, long + "1"}, {"x", "y", "a", "bc", long, long + "1"}}
	var sent, parquet bytes.Buffer
	var want []tabletest.Record
	out := table.Arrow(&sent, columns, table.ArrowOptions{Dictionaries: true})
	for _, texts := range batches {
		must.Do(t, out.Write(&frame.Batch{Len: len(texts), Columns: []frame.Vector{{Values: frame.TextsOf(texts...)}}}))
		for _, text := range texts {
			want = append(want, tabletest.Record{"x": text})
		}
	}
	must.Do(t, out.Close())
	in, to := must.Get(table.ReadArrow(&sent))(t), table.Parquet(&parquet, columns, table.Unsorted)
	versions := map[uint64][]string{}
	for rows, err := range in.Batches(columns) {
		must.Do(t, err)
		must.Do(t, to.Write(rows))
		x := &rows.Columns[0]
		for i, text := range versions[x.Version] {
			if got := string(x.Values.At(i)); got != text {
				t.Errorf("text %d of a version is %.9q and then %.9q", i, text, got)
			}
		}
		versions[x.Version] = nil
		for i := range x.Values.Len() {
			versions[x.Version] = append(versions[x.Version], string(x.Values.At(i)))
		}
	}
	must.Do(t, to.Close())
	if got := must.Get(tabletest.Columns(parquet.Bytes(), columns, time.UTC))(t); !cmp.Equal(got, want) {
		t.Errorf("other texts: %.300v", got)
	}
	if len(versions) != 2 {
		t.Errorf("%d dictionaries, of which the first should grow and be replaced once", len(versions))
	}
}

// A column of another kind, a missing value of one that must have it, and a
// stream that breaks within a batch are errors; a field that no build knows is
// JSON.
func TestReadOtherArrow(t *testing.T) {
	write := func(columns []frame.Column, row string) []byte {
		var out bytes.Buffer
		w := objects.Batches(table.Arrow(&out, columns, table.ArrowOptions{}), columns, 4)
		must.Do(t, errors.Join(w.Write([]byte(row)), w.Close()))
		return out.Bytes()
	}
	read := func(stream []byte, columns []frame.Column) (text string, err error) {
		in, err := table.ReadArrow(bytes.NewReader(stream))
		if err != nil {
			return "", err
		}
		for batch, err := range in.Batches(columns) {
			if err != nil {
				return "", err
			}
			if v := &batch.Columns[0]; v.Values != nil && v.Has(0) {
				text += string(v.Text(0))
			}
		}
		return text, nil
	}
	element := []frame.Column{{Name: "element", Kind: frame.Text}}
	values := map[frame.Kind]string{
		frame.Text: `"a"`, frame.Number: `1.5`, frame.Integer: `7`, frame.Boolean: `true`, frame.Instant: `"2026-03-01T08:30:00.250Z"`,
		frame.List: `["a"]`, frame.Object: `{"element":"a"}`, frame.Words: `{"k":"v"}`,
	}
	asJSON := map[frame.Kind]string{frame.Instant: `"2026-03-01T08:30:00.25Z"`, frame.Words: `[{"key":"k","value":"v"}]`}
	for kind, value := range values {
		columns := []frame.Column{{Name: "x", Kind: kind, Members: element}}
		stream := write(columns, `{"x":`+value+`}`)
		for other := range values {
			if _, err := read(stream, []frame.Column{{Name: "x", Kind: other, Members: element}}); (err == nil) != (kind == other) {
				t.Errorf("%d as %d: %v", kind, other, err)
			}
		}
		got, err := read(stream, query.Columns([]string{"unheardOf"}))
		if want := gocmp.Or(asJSON[kind], value); got != want || err != nil {
			t.Errorf("%d as JSON: %s, want %s: %v", kind, got, want, err)
		}
		if _, err := read(stream[:len(stream)-60], columns); err == nil {
			t.Errorf("%d: half a batch", kind)
		}
		columns[0].Nullable = true
		stream = write(columns, `{"x":null}`)
		columns[0].Nullable = false
		if _, err := read(stream, columns); err == nil || !strings.Contains(err.Error(), "x is missing") {
			t.Errorf("%d without a value: %v", kind, err)
		}
	}
}

// A Parquet file of amounts that came as Arrow has the same dictionaries and the
// same least and greatest values as one that was written at once.
func TestAmountsOfArrow(t *testing.T) {
	columns := query.Columns([]string{"price", "priceMoney"})
	minor := []int64{89_950, 2_000, 5, 0}
	amount := func() frame.Vector {
		return frame.Vector{Ints: slices.Clone(minor), Digits: []uint8{2, 2, 2, 0}}
	}
	money := frame.Vector{Members: make([]frame.Vector, len(columns[1].Members))}
	for i, m := range columns[1].Members {
		switch m.Name {
		case "value":
			money.Members[i] = amount()
		case "amountMinor":
			money.Members[i] = frame.Vector{Ints: minor}
		default:
			texts := new(frame.Texts)
			texts.Append("EUR")
			money.Members[i] = frame.Vector{Values: texts, Index: make([]uint32, len(minor)), Version: 1}
		}
	}
	rows := &frame.Batch{Len: len(minor), Columns: []frame.Vector{amount(), money}}
	var direct, wire, after bytes.Buffer
	write := func(w table.Writer, rows *frame.Batch) {
		must.Do(t, errors.Join(w.Write(rows), w.Close()))
	}
	write(table.Parquet(&direct, columns, table.Unsorted), rows)
	write(table.Arrow(&wire, columns, table.ArrowOptions{Dictionaries: true, Compression: "lz4"}), rows)
	in := must.Get(table.ReadArrow(&wire))(t)
	for rows, err := range in.Batches(columns) {
		must.Do(t, err)
		write(table.Parquet(&after, columns, table.Unsorted), rows)
	}
	if !bytes.Equal(direct.Bytes(), after.Bytes()) {
		t.Errorf("%d bytes of the rows, %d of the same rows as Arrow", direct.Len(), after.Len())
	}
}
