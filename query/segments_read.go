package query

import (
	"context"
	"crypto/sha256"
	"hash"
	"slices"

	"preismon/contracts"
	"preismon/query/admission"
)

// read sends the segments in order: those that are held as they are remembered,
// the others as the store has them. Each of its steps is run by step.
func (p *segments) read(ctx context.Context, c *streamer, step func(func() error) error) error {
	for i := 0; i < len(p.all); {
		if text := p.heldText(&p.all[i]); text != nil {
			if err := p.replay(ctx, c, &p.all[i], text, step); err != nil {
				return err
			}
			i++
			continue
		}
		to := i + 1
		for to < len(p.all) {
			if _, held := p.heldNow(&p.all[to]); held {
				break
			}
			to++
		}
		if err := p.readRun(ctx, c, p.all[i:to], step); err != nil {
			return err
		}
		i = to
	}
	return nil
}

// heldText returns the text of a segment that is held; nil: it is not, or was
// evicted meanwhile, or replaced by that of a stream which began before a row
// became visible, or after.
func (p *segments) heldText(one *segment) *segmentText {
	if _, held := p.heldNow(one); !held {
		return nil
	}
	text, ok := p.store.texts.get(one.key)
	if !ok || !text.holds(p.in.query.Watermark) {
		return nil
	}
	return text
}

// heldNow reports whether the text of a segment is still held, and for which
// watermarks it is right.
func (p *segments) heldNow(one *segment) (v validity, held bool) {
	if one.held {
		v, held = p.store.texts.validity(one.key)
	}
	return v, held && v.holds(p.in.query.Watermark)
}

// replay sends a remembered segment.
func (p *segments) replay(ctx context.Context, c *streamer, one *segment, text *segmentText, step func(func() error) error) error {
	if p.store.check {
		if err := p.compare(ctx, one, text); err != nil {
			return err
		}
	}
	if err := step(func() error { return c.splice(text) }); err != nil {
		return err
	}
	var room *admission.Room // of text that was evicted: what is remembered has memory of its own
	defer func() {
		if room != nil {
			room.Release()
		}
	}()
	for chunks := text.chunks; len(chunks) > 0; {
		if room == nil && !p.store.texts.inMemory(one.key, text) {
			room = c.holds.Hold(int64(text.bytes))
		}
		var n, rows int
		if p.packing == byDeflate {
			n, rows = groupOf(chunks)
		} else if err := c.node.Work(func() (err error) { n, rows, err = c.unpack(chunks); return err }); err != nil {
			return err
		}
		err := step(func() error {
			if p.packing == byS2 {
				return c.hand(rows)
			}
			return c.pass(chunks[:n], rows)
		})
		if err != nil {
			return err
		}
		c.stats.replayed.Add(uint64(rows))
		chunks = chunks[n:]
	}
	return nil
}

// groupOf returns how many packed texts are sent together, and their rows.
func groupOf(chunks []packedText) (n, rows int) {
	for bytes := 0; n < len(chunks) && (n == 0 || bytes+len(chunks[n].Blocks) <= chunkBytes/2); n++ {
		bytes += len(chunks[n].Blocks)
		rows += chunks[n].Rows
	}
	return n, rows
}

// unpack builds a chunk of packed texts, and returns how many of these, and of
// rows, it holds.
func (c *streamer) unpack(chunks []packedText) (n, rows int, err error) {
	c.buf = c.buf[:0]
	for ; n < len(chunks); n++ {
		size := chunks[n].Size
		if n > 0 && len(c.buf)+size > chunkRoom {
			break
		}
		if cap(c.buf)-len(c.buf) < size {
			c.buf = slices.Grow(c.buf, max(size, chunkRoom))
		}
		if c.buf, err = chunks[n].append(c.buf, byS2); err != nil {
			return n, rows, err
		}
		rows += chunks[n].Rows
	}
	c.chunk, c.made = c.buf, len(c.buf)
	return n, rows, nil
}

// splice prepares the stream for the text of a segment.
func (c *streamer) splice(text *segmentText) error {
	if err := c.start(); err != nil || c.to == nil || len(text.chunks) == 0 {
		return err
	}
	if _, err := c.cut(); err != nil {
		return err
	}
	before, err := c.to.Splice(text.section)
	if err != nil {
		return err
	}
	return c.w.Send(before, 0)
}

// cut ends the section of a table, and returns its description.
func (c *streamer) cut() (section []byte, err error) {
	if err = c.start(); err != nil {
		return nil, err
	}
	err = c.node.Work(func() (err error) { c.chunk, section, err = c.to.Cut(); return err })
	if c.made = len(c.chunk); err == nil && c.made > 0 {
		err = c.hand(0)
	}
	return section, err
}

// pass passes deflated text on as it is.
func (c *streamer) pass(text []packedText, rows int) error {
	c.deflated, c.made = c.deflated[:0], 0
	for i := range text {
		c.deflated = append(c.deflated, text[i].Deflated)
		c.made += text[i].Size
	}
	if err := c.w.(DeflatedStream).Deflated(c.deflated, rows); err != nil {
		return err
	}
	c.holds.Sent(int64(c.made))
	c.stats.streamRows.Add(uint64(rows))
	return nil
}

// readRun reads adjacent segments.
func (p *segments) readRun(ctx context.Context, c *streamer, run []segment, step func(func() error) error) error {
	q := p.in.query
	if len(run) < len(p.all) {
		first, last := run[0], run[len(run)-1]
		q.Window = contracts.Window{From: fromMs(min(first.from, last.from)), To: fromMs(max(first.to, last.to))}
		q.FromNow, q.ToNow = false, false
	}
	if slices.ContainsFunc(run, func(one segment) bool { return one.record }) {
		c.recorder = &recorder{
			store: p.store, at: q.Watermark, run: run, packer: packer{packing: p.packing}, most: int(segmentBytes(p.service.cfg.RememberStreamBytes)),
		}
		if c.to != nil && p.store.check {
			c.recorder.lines = newLineSum()
		}
		defer func() {
			c.recorder.stop()
			c.recorder = nil
		}()
	}
	err := p.store.Results(ctx, p.in.vis, &q, func(b *Block) error {
		return step(func() error { return c.take(ctx, b) })
	})
	if err == nil && c.recorder != nil {
		err = step(func() error { return c.recorder.finish(c) })
	}
	return err
}

// textSum identifies a text in a comparison, and in its error.
type textSum struct {
	Bytes int
	Sum   [sha256.Size]byte
}

// lineSum is that of lines, which are added.
type lineSum struct {
	bytes int
	of    hash.Hash
	line  []byte
}

func newLineSum() *lineSum { return &lineSum{of: sha256.New()} }

func (s *lineSum) add(text []byte) {
	s.bytes += len(text)
	_, _ = s.of.Write(text) // never fails
}

func (s *lineSum) sum() textSum { return textSum{s.bytes, [sha256.Size]byte(s.of.Sum(nil))} }

// addRows adds rows of a block, from one on and up to another.
func (s *lineSum) addRows(e *rowEncoder, b *Block, from, to int) {
	e.begin(b)
	for k := from; k < to; k++ {
		s.line = append(e.append(s.line[:0], b, b.At(k)), '\n')
		s.add(s.line)
	}
}

// compare reads a remembered segment again, and fails if its text differs: that
// of a table, if that of the same rows as lines does.
func (p *segments) compare(ctx context.Context, one *segment, text *segmentText) error {
	remembered := text.lines
	if remembered == (textSum{}) {
		var lines []byte
		sum := newLineSum()
		for _, l := range text.chunks {
			var err error
			if lines, err = l.append(slices.Grow(lines[:0], l.Size), p.packing); err != nil {
				return err
			}
			sum.add(lines)
		}
		remembered = sum.sum()
	}
	_, err := compared(ctx, p.store, "text of a stream from "+fromMs(one.from).String(), p.store.unchanged(p.in.vis), remembered, func(ctx context.Context) (textSum, error) {
		return p.store.fresh(ctx, p.in, one.window(), p.in.query.Watermark)
	})
	return err
}

// fresh reads the text of a stream again: of a part of its window, up to a
// watermark.
func (r *remembering) fresh(ctx context.Context, in *read, of contracts.Window, at Watermark) (textSum, error) {
	e := newRowEncoder(in.resultsPlan, in.encoder.facts, newEnrichment(in.include, r, in.vis))
	q := in.query
	q.Window, q.FromNow, q.ToNow, q.Read, q.Watermark = of, false, false, nil, at
	text := newLineSum()
	err := r.Store.Results(ctx, in.vis, &q, func(b *Block) error {
		if err := e.rich.load(ctx, b); err != nil {
			return err
		}
		text.addRows(e, b, 0, b.Len)
		return nil
	})
	return text.sum(), err
}
