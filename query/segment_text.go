package query

import (
	"bytes"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/s2"
)

// segmentText is the text of a segment: the lines of all its rows that were
// visible at a watermark. It is shared, and never modified.
type segmentText struct {
	chunks []packedLines
	bytes  int       // packed
	since  Watermark // at which it was made
	at     Watermark // up to which it is known to be complete
}

// packedLines are some whole lines, compressed.
type packedLines struct {
	packed     []byte
	rows, size int
	crc        uint32 // if deflated
}

// packing is how lines are compressed: for clients that take DEFLATE as they
// can be sent, for others so that they are quickly unpacked.
type packing byte

const (
	snappy   packing = 's' // S2
	deflated packing = 'd'
)

// packingOf is the packing for a stream.
func packingOf(w ResultsStream) packing {
	if to, ok := w.(DeflatedStream); ok && to.Deflates() {
		return deflated
	}
	return snappy
}

// maxSegmentBytes is how large a text may be, compressed: no stream holds more
// of one that was evicted while it was being sent.
const maxSegmentBytes = 4 << 20

// packer compresses lines.
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

func (p *packer) pack(lines []byte, rows int) (l packedLines, err error) {
	l = packedLines{rows: rows, size: len(lines)}
	if p.packing == snappy {
		p.scratch = s2.Encode(p.scratch[:cap(p.scratch)], lines)
		l.packed = bytes.Clone(p.scratch)
		return l, nil
	}
	out := bytes.NewBuffer(p.scratch[:0])
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(out)
	if _, err = w.Write(lines); err == nil {
		err = w.Flush()
	}
	p.scratch = out.Bytes()
	l.packed, l.crc = bytes.Clone(p.scratch), crc32.ChecksumIEEE(lines)
	return l, err
}

// append appends the lines to what has room for them.
func (l *packedLines) append(to []byte, by packing) ([]byte, error) {
	into := to[len(to) : len(to)+l.size]
	if by == deflated {
		_, err := io.ReadFull(flate.NewReader(bytes.NewReader(l.packed)), into)
		return to[:len(to)+l.size], err
	}
	_, err := s2.Decode(into, l.packed)
	return to[:len(to)+l.size], err
}

// text returns the remembered text of a segment.
func (r *remembering) text(key answerKey) (*segmentText, bool) {
	a, ok := r.answers.Get(key)
	if !ok {
		return nil, false
	}
	return a.value.(*segmentText), true
}

// remember remembers the text of a segment.
func (r *remembering) remember(key answerKey, t *segmentText) {
	const each = 64 // a slice and its fields
	r.answers.Put(key, answer{t, t.bytes + each*(len(t.chunks)+1)})
}

// askedBefore reports whether a segment was requested before, lately, and notes
// that it is requested now: what is read once is not worth its room.
func (r *remembering) askedBefore(key answerKey) bool {
	_, before := r.asked.Get(key)
	if !before {
		r.asked.Put(key, struct{}{})
	}
	return before
}
