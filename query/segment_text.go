package query

import (
	"bytes"
	"hash/crc32"
	"io"
	"math"
	"sync"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/s2"
)

// segmentText is the text of a segment: all its rows that were visible at a
// watermark, as lines or as a section of a table. It is shared, and never
// modified.
type segmentText struct {
	chunks  []packedText
	section []byte  // that of a table: see TableStream
	lines   textSum // of a table: of its rows as lines; zero: unknown
	bytes   int     // packed, and of the section
	validity
}

// validity tells for which watermarks a text is right.
type validity struct {
	since Watermark // at which it was made
	at    Watermark // up to which no row has become visible since
}

// holds reports whether a text is known to be right at a watermark.
func (v validity) holds(mark Watermark) bool {
	return v.since.Compare(mark) <= 0 && v.at.Compare(mark) >= 0
}

// packedText is a piece of text, compressed: of lines, some whole ones.
type packedText struct {
	Deflated // or by S2, without a CRC
	Rows     int
}

// packing is how text is compressed: for clients that take DEFLATE as they
// can be sent, for others so that they are quickly unpacked.
type packing byte

const (
	byS2      packing = 's'
	byDeflate packing = 'd'
)

// packingOf is the packing for a stream.
func packingOf(w ResultsStream) packing {
	if to, ok := w.(DeflatedStream); ok && to.Deflates() {
		return byDeflate
	}
	return byS2
}

// The memory for the text of streams is shared by what is remembered and by what
// is being recorded: at most maxRecorders segments at the same time, none of
// which has more than its part.
const (
	maxRecorders    = 8
	maxSegmentBytes = 4 << 20
	recordersShare  = 4 // they have a quarter
	// recordingTime is how long a segment may be recorded: others wait meanwhile
	// while its client is slow.
	recordingTime = 10 * time.Second
)

// segmentBytes is how large the text of a segment may be, compressed.
func segmentBytes(memory int64) int64 {
	return min(maxSegmentBytes, memory/recordersShare/maxRecorders)
}

// packer compresses text.
type packer struct {
	packing packing
	scratch []byte
}

var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err)
	}
	return w
}}

func (p *packer) pack(text []byte) (l packedText, err error) {
	l.Size = len(text)
	if p.packing == byS2 {
		p.scratch = s2.EncodeBetter(p.scratch[:cap(p.scratch)], text)
		l.Blocks = bytes.Clone(p.scratch)
		return l, nil
	}
	out := bytes.NewBuffer(p.scratch[:0])
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(out)
	if _, err = w.Write(text); err == nil {
		err = w.Flush()
	}
	p.scratch = out.Bytes()
	l.Blocks, l.CRC = bytes.Clone(p.scratch), crc32.ChecksumIEEE(text)
	return l, err
}

// append appends the text to what has room for it.
func (l *packedText) append(to []byte, by packing) ([]byte, error) {
	into := to[len(to) : len(to)+l.Size]
	if by == byDeflate {
		_, err := io.ReadFull(flate.NewReader(bytes.NewReader(l.Blocks)), into)
		return to[:len(to)+l.Size], err
	}
	_, err := s2.Decode(into, l.Blocks)
	return to[:len(to)+l.Size], err
}

// size is the memory that the text takes.
func (t *segmentText) size() int {
	const each = 64 // a slice and its fields
	return t.bytes + each*(len(t.chunks)+1)
}

// outgrown is noted instead of how often a segment was requested whose text is
// larger than one may be: a day is then divided into hours.
const outgrown = math.MaxUint32

func (r *remembering) outgrown(key answerKey) bool {
	noted, _ := r.requested.Get(key)
	return noted == outgrown
}

// worthwhile notes that the text of a segment is requested, and reports whether
// it should be remembered: not what is requested once, and ever more rarely what
// found no room each time.
func (r *remembering) worthwhile(key answerKey) bool {
	before, _ := r.requested.Get(key)
	if before == outgrown {
		return false
	}
	now := before + 1
	r.requested.Put(key, now)
	return before > 0 && now&before == 0 // 2, 4, 8 and so on
}
