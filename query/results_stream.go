package query

import (
	"context"

	"preismon/query/admission"
	"preismon/query/frame"
)

// ResultsStream receives a stream of observations. Start is called once, when
// the first rows are available or the read has turned out to have none; Send
// receives NDJSON, whole lines, which may not be kept.
type ResultsStream interface {
	// Holds is how many bytes the stream's own buffers take as long as it
	// lasts.
	Holds() int64
	Start(scope string) error
	Send(text []byte, rows int) error
}

// DeflatedStream is a ResultsStream that may be compressed by DEFLATE. If it
// is, it takes text that was compressed before.
type DeflatedStream interface {
	ResultsStream
	Deflates() bool
	// Deflated receives text, in order, with so many rows.
	Deflated(text []Deflated, rows int) error
}

// Deflated is text as whole blocks of DEFLATE (RFC 1951) that end at a byte.
// None is the final one, and none refers to anything before the first.
type Deflated struct {
	Blocks []byte
	Size   int    // of the text
	CRC    uint32 // CRC-32 (IEEE) of the text
}

// TableStream is a ResultsStream that encodes batches in a form of its own: what
// is sent is the bytes of a table instead of lines. It is encoded by these
// methods, once the stream has started; all bytes that they return are valid
// until the next call, and must be sent before it.
type TableStream interface {
	ResultsStream
	// Form identifies the form, with its options.
	Form() string
	// Flat reports whether the stream expects the columns of Flat.
	Flat() bool
	// Coarse reports whether sections should be few and large.
	Coarse() bool
	// Encode encodes a batch, of which nothing may be kept. Its bytes may come
	// with later ones.
	Encode(rows *frame.Batch) (text []byte, err error)
	// Cut ends a section: what is encoded later refers to nothing before it. It
	// returns the end of the section, and its description for Splice.
	Cut() (end, section []byte, err error)
	// Splice adds a section of another table in the same form. It returns what
	// must be sent before the bytes of that section, which must be sent then.
	Splice(section []byte) (before []byte, err error)
}

// streamer passes blocks on as NDJSON, or as batches.
type streamer struct {
	in      *read
	w       ResultsStream
	buf     []byte
	started bool
	maxLine int
	stats   *stats
	node    *admission.Node
	holds   *admission.Read

	to      TableStream // nil: w takes lines
	batches *batcher
	chunk   []byte // that is sent next
	made    int    // its bytes, before they were compressed

	recorder *recorder  // nil: nothing is to be remembered
	deflated []Deflated // that are sent together
}

// A stream passes its lines on in chunks of about this size. The buffer has
// room for one more line of common length.
const (
	chunkBytes = 128 << 10
	chunkRoom  = chunkBytes + 16<<10
)

func (c *streamer) start() error {
	if c.started {
		return nil
	}
	c.started = true
	return c.w.Start(c.in.echo.Scope)
}

func (c *streamer) take(ctx context.Context, b *Block) error {
	if b.Len == 0 {
		return nil
	}
	rich := c.in.encoder.rich
	if err := rich.load(ctx, b); err != nil {
		return err
	}
	defer rich.lend() // until the next block
	if c.to != nil {
		c.batches.begin(b)
	} else {
		c.in.encoder.begin(b)
	}
	for from := 0; from < b.Len; {
		end := b.Len
		if c.recorder != nil {
			var err error
			if end, err = c.recorder.reach(c, b, from); err != nil {
				return err
			}
		}
		to, err := c.make(b, from, end)
		if err != nil {
			return err
		}
		if err := c.send(ctx, b, to, to-from); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// make builds a chunk of the rows from one index to another, at most, and
// returns the index after its last one.
func (c *streamer) make(b *Block, from, end int) (to int, err error) {
	if c.to != nil {
		return c.tabulate(b, from, end)
	}
	if err := c.node.Work(func() (err error) { to, err = c.encode(b, from, end); return err }); err != nil {
		return to, err
	}
	return to, c.start() // only now: a first line that is too large is refused like a page
}

// firstTabled is how many rows the first batch of a table has at most.
const firstTabled = 1024

// tabulate builds a part of the table.
func (c *streamer) tabulate(b *Block, from, end int) (to int, err error) {
	if !c.started { // the first rows are sent soon
		end = min(end, from+firstTabled)
	}
	if err := c.start(); err != nil {
		return from, err
	}
	err = c.node.Work(func() (err error) {
		var batch *frame.Batch
		batch, to = c.batches.make(from, end)
		if c.chunk, err = c.to.Encode(batch); err == nil && c.recorder != nil && c.recorder.lines != nil {
			c.recorder.lines.addRows(c.in.encoder, b, from, to)
		}
		return err
	})
	c.made = len(c.chunk)
	return to, err
}

// send passes on the chunk of rows that ends before to. Its block, and what its
// rows are enriched with, are lent meanwhile, because the client may be slow.
func (c *streamer) send(ctx context.Context, b *Block, to, rows int) error {
	rich := c.in.encoder.rich
	rich.lend()
	err := c.lendBlock(b, to, rows)
	if !rich.takeBack() && err == nil && to < b.Len {
		err = rich.load(ctx, b)
	}
	return err
}

// lendBlock is the part of send for the block.
func (c *streamer) lendBlock(b *Block, to, rows int) error {
	held := b.Held
	if held == nil {
		return c.hand(rows)
	}
	sent := b.Position(b.At(to - 1))
	held.Lend()
	err := c.hand(rows)
	if !held.TakeBack() && err == nil {
		err = &Reclaimed{After: &sent}
	}
	return err
}

// hand passes the chunk on.
func (c *streamer) hand(rows int) error {
	var err error
	if c.recorder != nil && c.recorder.records() {
		err = c.record(rows)
	} else {
		err = c.w.Send(c.chunk, rows)
	}
	if err != nil {
		return err
	}
	c.holds.Sent(int64(c.made))
	c.stats.streamRows.Add(uint64(rows))
	return nil
}

// encode builds a chunk of the rows from one index to another, at most, and
// returns the index after its last one.
func (c *streamer) encode(b *Block, from, end int) (to int, err error) {
	if c.buf == nil {
		c.buf = make([]byte, 0, chunkRoom)
	}
	c.buf = c.buf[:0]
	for to = from; to < end && len(c.buf) < chunkBytes; to++ {
		line := len(c.buf)
		c.buf = append(c.in.encoder.append(c.buf, b, b.At(to)), '\n')
		if len(c.buf)-line > c.maxLine {
			return to, tooLarge(c.maxLine, false, c.in.include != Include{})
		}
	}
	c.chunk, c.made = c.buf, len(c.buf)
	return to, nil
}
