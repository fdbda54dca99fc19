package query

import (
	"sort"
	"time"
)

// recorder remembers the text of segments as their rows are sent.
type recorder struct {
	store  *remembering
	at     Watermark
	run    []segment // those whose end has not been reached, in order
	text   segmentText
	packer packer
	most   int       // bytes of a segment
	rows   int       // whose bytes come with later ones
	began  time.Time // when the first segment did; zero: it is not being recorded
	lines  *lineSum  // of the rows of a table, if answers are compared; nil: they are not
}

// reach returns the end of the rows of a block, from one on, that are in the
// same segment. All segments before that one are complete, and that one is being
// recorded, if it is to be.
func (r *recorder) reach(c *streamer, b *Block, from int) (to int, err error) {
	for !r.run[0].has(b, from) {
		if err := r.next(c); err != nil {
			return from, err
		}
	}
	if err := r.begin(c); err != nil {
		return from, err
	}
	return from + sort.Search(b.Len-from, func(k int) bool { return !r.run[0].has(b, from+k) }), nil
}

func (p *segment) has(b *Block, k int) bool {
	ms := b.CapturedMs[b.At(k)]
	return p.from <= ms && ms <= p.to
}

// begin begins to record the first segment, if it is to be recorded. It takes a
// place among those being recorded; if none is free, its text is not remembered
// this time.
func (r *recorder) begin(c *streamer) error {
	one := &r.run[0]
	if !one.record || !r.began.IsZero() {
		return nil
	}
	select {
	case r.store.recorders <- struct{}{}:
	default:
		one.record = false
		return nil
	}
	if c.to != nil {
		if _, err := c.cut(); err != nil {
			<-r.store.recorders
			return err
		}
	}
	r.began = time.Now()
	return nil
}

// records reports whether the chunk that is next is recorded.
func (r *recorder) records() bool {
	if !r.began.IsZero() && (r.outgrown() || time.Since(r.began) > recordingTime) {
		r.run[0].record = false
		r.stop()
	}
	return !r.began.IsZero()
}

// stop forgets what was recorded of a segment, and gives its place back.
func (r *recorder) stop() {
	if !r.began.IsZero() {
		<-r.store.recorders
	}
	r.text, r.rows, r.began = segmentText{}, 0, time.Time{}
	if r.lines != nil {
		r.lines = newLineSum()
	}
}

// outgrown reports whether the text is larger than that of a segment may be, and
// notes it. The whole text of a table can come with its end.
func (r *recorder) outgrown() bool {
	if r.text.bytes <= r.most {
		return false
	}
	r.store.requested.Put(r.run[0].key, outgrown)
	return true
}

// record passes the chunk on, and adds it to the text of its segment, that of a
// table in pieces that are quickly unpacked. What is deflated for that is what
// the stream sends.
func (c *streamer) record(rows int) error {
	r, most := c.recorder, len(c.chunk)
	if c.to != nil {
		most = chunkBytes
	}
	c.deflated = c.deflated[:0]
	r.rows += rows
	for rest := c.chunk; len(rest) > 0; {
		piece := rest[:min(most, len(rest))]
		rest = rest[len(piece):]
		packed, err := c.packed(piece)
		if err != nil {
			return err
		}
		if len(rest) == 0 {
			packed.Rows, r.rows = r.rows, 0
		}
		r.text.chunks = append(r.text.chunks, packed)
		r.text.bytes += len(packed.Blocks)
		c.deflated = append(c.deflated, packed.Deflated)
	}
	if r.packer.packing == byS2 {
		return c.w.Send(c.chunk, rows)
	}
	return c.w.(DeflatedStream).Deflated(c.deflated, rows)
}

// packed is a piece of the chunk, compressed once a processor is free.
func (c *streamer) packed(piece []byte) (packed packedText, err error) {
	err = c.node.Work(func() (err error) { packed, err = c.recorder.packer.pack(piece); return err })
	return packed, err
}

// next completes the first segment.
func (r *recorder) next(c *streamer) error {
	one := &r.run[0]
	var section []byte
	if c.to != nil && !r.began.IsZero() {
		var err error
		if section, err = c.cut(); err != nil {
			return err
		}
	}
	if one.record && !r.outgrown() {
		newer, ok := r.store.texts.validity(one.key)
		if !ok || newer.at.Compare(r.at) < 0 {
			text := &segmentText{chunks: r.text.chunks, section: section, bytes: r.text.bytes + len(section), validity: validity{r.at, r.at}}
			if r.lines != nil {
				text.lines = r.lines.sum()
			}
			r.store.texts.put(one.key, text)
		}
	}
	r.stop()
	r.run = r.run[1:]
	return nil
}

// finish completes all segments.
func (r *recorder) finish(c *streamer) error {
	for len(r.run) > 0 {
		if err := r.next(c); err != nil {
			return err
		}
	}
	return nil
}
