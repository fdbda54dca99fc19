package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"preismon/deploy/testserver/must"
	"preismon/query"

	"github.com/ClickHouse/ch-go/proto"
	"pgregory.net/rapid"
)

// wire encodes strings as ClickHouse sends them.
func wire(texts [][]byte) (out []byte) {
	for _, s := range texts {
		out = append(binary.AppendUvarint(out, uint64(len(s))), s...)
	}
	return out
}

// TestTextsFromTheWire reads columns of strings of any length, appends them to
// what is there, and leaves what follows them.
func TestTextsFromTheWire(t *testing.T) {
	long := rapid.Custom(func(t *rapid.T) []byte {
		return bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, rapid.IntRange(100, 20_000).Draw(t, "length"))
	})
	rapid.Check(t, func(t *rapid.T) {
		column := rapid.SliceOf(rapid.OneOf(rapid.SliceOf(rapid.Byte()), long))
		first, second := column.Draw(t, "first"), column.Draw(t, "second")
		var source io.Reader = bytes.NewReader(append(append(wire(first), wire(second)...), "end"...))
		if rapid.Bool().Draw(t, "byte by byte") {
			source = iotest.OneByteReader(source)
		}
		r := proto.NewReader(source)
		var got query.Texts
		for _, part := range [][][]byte{first, second} {
			must.Do(t, readTexts(r, &got, len(part)))
		}
		all := slices.Concat(first, second)
		if got.Len() != len(all) {
			t.Fatalf("%d strings of %d", got.Len(), len(all))
		}
		for i, want := range all {
			if !bytes.Equal(got.At(i), want) {
				t.Fatalf("string %d is %q, want %q", i, got.At(i), want)
			}
		}
		if rest, err := r.ReadRaw(3); err != nil || string(rest) != "end" {
			t.Fatalf("behind the column: %q, %v", rest, err)
		}
		if len(all) > 0 {
			cut := proto.NewReader(bytes.NewReader(wire(all)[:len(wire(all))-1]))
			if err := readTexts(cut, new(query.Texts), len(all)); err == nil {
				t.Fatal("a cut column was read")
			}
		}
	})
}

// TestSortedAsResults sorts blocks of few distinct values, with and without
// runs.
func TestSortedAsResults(t *testing.T) {
	var s sorter
	rapid.Check(t, func(t *rapid.T) {
		b := &query.Block{Len: rapid.IntRange(0, 300).Draw(t, "rows")}
		for _, site := range []string{"b.example", "a.example", "b.example", "c.example"} { // twice, as from two blocks
			b.Site.Values.Append(site)
		}
		few := rapid.IntRange(0, 3)
		for range b.Len {
			b.CapturedMs = append(b.CapturedMs, int64(few.Draw(t, "time")))
			b.Item = append(b.Item, uint64(few.Draw(t, "item")))
			b.Site.Index = append(b.Site.Index, uint32(few.Draw(t, "site")))
			b.Epoch = append(b.Epoch, uint32(few.Draw(t, "epoch")))
			b.Seq = append(b.Seq, uint64(few.Draw(t, "seq")))
			b.Capture = append(b.Capture, uint16(few.Draw(t, "capture")))
			b.Offer = append(b.Offer, uint16(few.Draw(t, "offer")))
		}
		ascending := rapid.Bool().Draw(t, "ascending")
		s.sort(b, ascending)
		seen := make([]bool, b.Len)
		for k := range b.Len {
			if seen[b.At(k)] {
				t.Fatalf("row %d stands twice", b.At(k))
			}
			seen[b.At(k)] = true
			if k == 0 {
				continue
			}
			x, y := b.Position(b.At(k-1)), b.Position(b.At(k))
			if ascending {
				x, y = y, x
			}
			if cmp.Or(-cmp.Compare(x.CapturedMs, y.CapturedMs), cmp.Compare(x.Item, y.Item), cmp.Compare(x.Site, y.Site), cmp.Compare(x.Epoch, y.Epoch),
				cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.Capture, y.Capture), cmp.Compare(x.Offer, y.Offer)) > 0 {
				t.Fatalf("%+v stands before %+v", x, y)
			}
		}
	})
}

// textsOnTheWire returns the strings of a block.
func textsOnTheWire(rows int) []byte {
	texts := make([][]byte, rows)
	for i := range texts {
		texts[i] = bytes.Repeat([]byte("Kopfhörer "), 3+i%9)
	}
	return wire(texts)
}

// TestTextsAllocateNothing: after a column has its buffer, reading a block
// allocates the same for few rows and for many.
func TestTextsAllocateNothing(t *testing.T) {
	allocs := func(rows int) float64 {
		source := bytes.NewReader(textsOnTheWire(rows))
		r, to := proto.NewReader(source), new(query.Texts)
		return testing.AllocsPerRun(5, func() {
			source.Seek(0, io.SeekStart)
			to.Reset()
			must.Do(t, readTexts(r, to, rows))
		})
	}
	if few, many := allocs(1_000), allocs(64_000); few > 1 || many > 1 {
		t.Errorf("%.0f allocations for 1,000 strings, %.0f for 64,000", few, many)
	}
}
