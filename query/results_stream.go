package query

import (
	"context"

	"preismon/query/admission"
	"preismon/query/frame"
)

// ResultsStream receives a stream of observations. Start is called once, when
// the first rows are available or the read has turned out to have none; Lines
// receives NDJSON, whole lines, which may not be kept.
type ResultsStream interface {
	// Holds is how many bytes the stream's own buffers take as long as it
	// lasts.
	Holds() int64
	Start(scope string) error
	Lines(ndjson []byte, rows int) error
}

// DeflatedStream is a ResultsStream that may be compressed by DEFLATE. If it
// is, it takes lines that were compressed before.
type DeflatedStream interface {
	ResultsStream
	Deflates() bool
	// Deflated receives lines, in order, with so many rows.
	Deflated(lines []Deflated, rows int) error
}

// Deflated are lines as whole blocks of DEFLATE (RFC 1951) that end at a byte.
// None is the final one, and none refers to anything before the first.
type Deflated struct {
	Blocks []byte
	Size   int    // of the lines
	CRC    uint32 // CRC-32 (IEEE) of the lines
}

// TableStream is a ResultsStream that receives batches instead of lines.
type TableStream interface {
	ResultsStream
	// Flat reports whether the stream expects the columns of Flat.
	Flat() bool
	// Make calls its argument for a batch, of which nothing may be kept, and
	// encodes it in the form of the stream, both once a processor is free. It
	// returns the size of the result. Send sends the result, which holds so
	// many rows.
	Make(func() *frame.Batch) (bytes int, err error)
	Send(rows int) error
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
	made    int // bytes of the last chunk

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
			end = c.recorder.reach(b, from)
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
		return c.tabulate(b, from)
	}
	if err := c.node.Work(func() (err error) { to, err = c.encode(b, from, end); return err }); err != nil {
		return to, err
	}
	return to, c.start() // only now: a first line that is too large is refused like a page
}

// firstTabled is how many rows the first batch of a table has at most.
const firstTabled = 1024

// tabulate builds a part of the table.
func (c *streamer) tabulate(b *Block, from int) (to int, err error) {
	end := b.Len
	if !c.started { // the first rows are sent soon
		end = min(end, from+firstTabled)
	}
	if err := c.start(); err != nil {
		return from, err
	}
	c.made, err = c.to.Make(func() (batch *frame.Batch) {
		batch, to = c.batches.make(from, end)
		return batch
	})
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
	switch {
	case c.to != nil:
		err = c.to.Send(rows)
	case c.recorder != nil && c.recorder.records():
		err = c.record(rows)
	default:
		err = c.w.Lines(c.buf, rows)
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
	c.made = len(c.buf)
	return to, nil
}
