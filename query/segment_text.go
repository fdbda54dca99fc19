package query

import (
	"bytes"

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

// packedLines are some whole lines, compressed by S2.
type packedLines struct {
	packed []byte
	rows   int
}

// maxSegmentBytes is how large a text may be, compressed: no stream holds more of
// one that was evicted while it was being sent.
const maxSegmentBytes = 4 << 20

// add appends lines, and reports whether the text is still small enough.
func (t *segmentText) add(lines []byte, rows int, scratch []byte) (_ []byte, ok bool) {
	scratch = s2.Encode(scratch[:cap(scratch)], lines)
	t.chunks = append(t.chunks, packedLines{bytes.Clone(scratch), rows})
	t.bytes += len(scratch)
	return scratch, t.bytes <= maxSegmentBytes
}

// size is the length of the lines.
func (l *packedLines) size() (int, error) { return s2.DecodedLen(l.packed) }

// append appends the lines to what has room for them.
func (l *packedLines) append(to []byte) ([]byte, error) {
	lines, err := s2.Decode(to[len(to):cap(to)], l.packed)
	return to[:len(to)+len(lines)], err
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
