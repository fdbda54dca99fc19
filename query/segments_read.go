package query

import (
	"context"
	"crypto/sha256"
	"slices"
	"sort"
	"time"

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
			if err := c.start(); err != nil {
				return err
			}
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

// groupOf returns how many packed lines are sent together, and their rows.
func groupOf(chunks []packedLines) (n, rows int) {
	for bytes := 0; n < len(chunks) && (n == 0 || bytes+len(chunks[n].Blocks) <= chunkBytes/2); n++ {
		bytes += len(chunks[n].Blocks)
		rows += chunks[n].rows
	}
	return n, rows
}

// unpack builds a chunk of packed lines, and returns how many of these, and of
// rows, it holds.
func (c *streamer) unpack(chunks []packedLines) (n, rows int, err error) {
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
		rows += chunks[n].rows
	}
	c.made = len(c.buf)
	return n, rows, nil
}

// pass passes deflated lines on as they are.
func (c *streamer) pass(lines []packedLines, rows int) error {
	c.deflated, c.made = c.deflated[:0], 0
	for i := range lines {
		c.deflated = append(c.deflated, lines[i].Deflated)
		c.made += lines[i].Size
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
		defer func() {
			c.recorder.stop()
			c.recorder = nil
		}()
	}
	err := p.store.Results(ctx, p.in.vis, &q, func(b *Block) error {
		return step(func() error { return c.take(ctx, b) })
	})
	if err == nil && c.recorder != nil {
		c.recorder.finish()
	}
	return err
}

// recorder remembers the text of segments as their rows are sent.
type recorder struct {
	store  *remembering
	at     Watermark
	run    []segment // those whose end has not been reached, in order
	text   segmentText
	packer packer
	most   int       // bytes of a segment
	began  time.Time // when the first segment did; zero: it has no rows yet
}

// reach returns the end of the rows of a block, from one on, that are in the
// same segment. All of its segments before that one are complete.
func (r *recorder) reach(b *Block, from int) int {
	for !r.run[0].has(b, from) {
		r.next()
	}
	return from + sort.Search(b.Len-from, func(k int) bool { return !r.run[0].has(b, from+k) })
}

func (p *segment) has(b *Block, k int) bool {
	ms := b.CapturedMs[b.At(k)]
	return p.from <= ms && ms <= p.to
}

// records reports whether the chunk that is next belongs to a segment that is
// recorded. The first chunk of one takes a place among those being recorded; if
// none is free, its text is not remembered this time.
func (r *recorder) records() bool {
	one := &r.run[0]
	switch {
	case !one.record:
	case r.began.IsZero():
		select {
		case r.store.recorders <- struct{}{}:
			r.began = time.Now()
		default:
			one.record = false
		}
	case r.text.bytes > r.most || time.Since(r.began) > recordingTime:
		one.record = false
		r.stop()
	}
	return one.record
}

// stop forgets what was recorded of a segment, and gives its place back.
func (r *recorder) stop() {
	if !r.began.IsZero() {
		<-r.store.recorders
	}
	r.text, r.began = segmentText{}, time.Time{}
}

// record passes the chunk on, and adds it to the text of its segment. What is
// deflated for that is what the stream sends.
func (c *streamer) record(rows int) error {
	r := c.recorder
	var packed packedLines
	if err := c.node.Work(func() (err error) { packed, err = r.packer.pack(c.buf, rows); return err }); err != nil {
		return err
	}
	r.text.chunks = append(r.text.chunks, packed)
	r.text.bytes += len(packed.Blocks)
	if r.packer.packing == byS2 {
		return c.w.Lines(c.buf, rows)
	}
	return c.w.(DeflatedStream).Deflated([]Deflated{packed.Deflated}, rows)
}

// next completes the first segment.
func (r *recorder) next() {
	one := &r.run[0]
	if one.record && r.text.bytes <= r.most {
		newer, ok := r.store.texts.validity(one.key)
		if !ok || newer.at.Compare(r.at) < 0 {
			r.store.texts.put(one.key, &segmentText{r.text.chunks, r.text.bytes, validity{r.at, r.at}})
		}
	}
	r.stop()
	r.run = r.run[1:]
}

// finish completes all segments.
func (r *recorder) finish() {
	for len(r.run) > 0 {
		r.next()
	}
}

// textSum identifies a text in a comparison, and in its error.
type textSum struct {
	Bytes int
	Sum   [sha256.Size]byte
}

func sumOf(text []byte) textSum { return textSum{len(text), sha256.Sum256(text)} }

// compare reads a remembered segment again, and fails if its text differs.
func (p *segments) compare(ctx context.Context, one *segment, text *segmentText) error {
	var remembered []byte
	for _, l := range text.chunks {
		var err error
		if remembered, err = l.append(slices.Grow(remembered, l.Size), p.packing); err != nil {
			return err
		}
	}
	_, err := compared(ctx, p.store, "text of a stream from "+fromMs(one.from).String(), p.in.vis, sumOf(remembered), func(ctx context.Context) (textSum, error) {
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
	var text []byte
	err := r.Store.Results(ctx, in.vis, &q, func(b *Block) error {
		if err := e.rich.load(ctx, b); err != nil {
			return err
		}
		e.begin(b)
		for k := range b.Len {
			text = append(e.append(text, b, b.At(k)), '\n')
		}
		return nil
	})
	return sumOf(text), err
}
