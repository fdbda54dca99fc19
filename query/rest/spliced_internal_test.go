package rest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/flate"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestSplicedIsOneMember: whatever is compressed, flushed and spliced in, in any
// order, is one member of gzip with all of the text.
func TestSplicedIsOneMember(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	ready := must.Get(flate.NewWriter(nil, flate.BestSpeed))(t)
	s := must.Get(newSplicer())(t)
	for round := range effort.Often(60, 300) {
		var out, want bytes.Buffer
		s.Reset(&out)
		for range r.IntN(8) {
			text := bytes.Repeat(fmt.Appendf(nil, `{"itemId":"%d","price":"%d"}`+"\n", r.IntN(9), r.IntN(100)), r.IntN(3_000))
			var err error
			switch r.IntN(3) {
			case 0:
				_, err = s.Write(text)
				want.Write(text)
			case 1:
				err = s.Flush()
			default:
				var blocks bytes.Buffer
				ready.Reset(&blocks)
				must.Get(ready.Write(text))(t)
				must.Do(t, ready.Flush())
				err = s.splice(&query.Deflated{Blocks: blocks.Bytes(), Size: len(text), CRC: crc32.ChecksumIEEE(text)})
				want.Write(text)
			}
			must.Do(t, err)
		}
		must.Do(t, s.Close())
		one := must.Get(gzip.NewReader(&out))(t)
		one.Multistream(false)
		if got, err := io.ReadAll(one); err != nil || !bytes.Equal(got, want.Bytes()) || out.Len() > 0 {
			t.Fatalf("round %d: %d bytes of %d, %d left: %v", round, len(got), want.Len(), out.Len(), err)
		}
	}
}

// TestCombine compares with the CRC of the whole.
func TestCombine(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 2))
	for range 1_000 {
		text := make([]byte, r.IntN(5_000))
		for i := range text {
			text[i] = byte(r.Uint32())
		}
		cut := r.IntN(len(text) + 1)
		if got := combine(crc32.ChecksumIEEE(text[:cut]), crc32.ChecksumIEEE(text[cut:]), len(text)-cut); got != crc32.ChecksumIEEE(text) {
			t.Fatalf("%d and %d bytes: %x", cut, len(text)-cut, got)
		}
	}
}
