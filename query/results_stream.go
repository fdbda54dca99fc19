package query

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"preismon/contracts"
	"preismon/query/admission"
	"preismon/query/frame"
)

// ResultsStream takes a stream of observations. Start is called once, when
// the first rows are there or the read turned out to have none; Lines takes
// NDJSON, whole lines, which may not be kept.
type ResultsStream interface {
	// Holds is how many bytes the stream's own buffers take as long as it lasts.
	Holds() int64
	Start(scope string) error
	Lines(ndjson []byte, rows int) error
}

// TableStream is a ResultsStream that takes batches instead of lines.
type TableStream interface {
	ResultsStream
	// Flat tells whether it takes the columns of Flat.
	Flat() bool
	// Make writes a batch in the form of the stream, of which nothing may be kept,
	// once a processor is free for both; what comes out is sent with Send, with how
	// many rows it is. It gives its size.
	Make(func() *frame.Batch) (bytes int, err error)
	Send(rows int) error
}

// StreamResults reads all rows of the window in order. It has no deadline as
// a whole, but none of its waits for the store may be longer than the hard
// budget. It fails when its caller no longer sees what it saw at the start: as
// Unavailable where that is only another scope.
func (s *Service) StreamResults(ctx context.Context, p Principal, r ResultsRequest, w ResultsStream) (err error) {
	defer func() { s.stats.streamed(err) }()
	holds, err := s.node.Begin(ctx, true, 2*chunkRoom+enrichmentBytes(r.Include)+w.Holds())
	if err != nil {
		return err
	}
	defer holds.End()
	ctx = admission.WithBudget(ctx, s.cfg.HardBudget)
	began := time.Now()
	in, token, err := s.acceptStream(ctx, p, r)
	if err != nil {
		return s.budget(ctx, err)
	}
	if in.empty {
		if err := token(ctx); err != nil {
			return err
		}
		return w.Start(in.echo.Scope)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	look := &scopeWatch{service: s, caller: p, seen: in.vis, checked: began}
	watch := time.AfterFunc(s.cfg.HardBudget, func() { cancel(context.DeadlineExceeded) })
	defer watch.Stop()

	c := &streamer{in: in, w: w, maxLine: s.cfg.MaxResponseBytes, rows: &s.stats.streamRows, node: s.node, holds: holds}
	defer func() { // nothing is written when this has returned
		if unsent := c.end(); err == nil {
			err = unsent
		}
	}()
	if to, ok := w.(TableStream); ok {
		c.to, c.batches = to, newBatcher(in.encoder, to.Flat())
	}
	in.query.Read = holds
	err = s.store.Results(ctx, in.vis, &in.query, func(b *Block) error {
		watch.Stop() // the client may be slow; only the store's time counts
		defer watch.Reset(s.cfg.HardBudget)
		if err := look.whenDue(ctx); err != nil {
			return err
		}
		return c.take(ctx, b)
	})
	if err == nil {
		watch.Stop()
		err = c.sent()
	}
	if err == nil {
		err = look.now(ctx)
	}
	if err == nil {
		err = token(ctx)
	}
	if err != nil {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) && !admission.Refused(err) {
			err = errors.Join(context.DeadlineExceeded, err)
		}
		return s.budget(ctx, err)
	}
	return c.start()
}

// acceptStream accepts a stream. token gives it its token for the feed, if it
// wants one, after the last row.
func (s *Service) acceptStream(ctx context.Context, p Principal, r ResultsRequest) (in *read, token func(context.Context) error, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.HardBudget)
	defer cancel()
	plan, err := s.plan(p, r)
	if err != nil {
		return nil, nil, err
	}
	a, err := s.access(ctx, p, contracts.ReadResults)
	if err != nil {
		return nil, nil, err
	}
	token = func(context.Context) error { return nil }
	if r.ChangesToken != nil {
		if token, err = s.streamToken(ctx, p, plan, r, a); err != nil {
			return nil, nil, err
		}
	}
	in, err = s.enter(ctx, plan, r, a.Visibility, a.Watermark)
	return in, token, err
}

// streamer hands blocks on as NDJSON, or as batches. While a chunk of lines is
// sent, the next is made.
type streamer struct {
	in      *read
	w       ResultsStream
	buf     []byte // the chunk that is made
	started bool
	maxLine int
	rows    *atomic.Uint64 // those handed on
	node    *admission.Node
	holds   *admission.Read

	sending chunk      // on its way to the client; no rows: nothing is
	spare   []byte     // room of another chunk
	chunks  chan chunk // to be sent; nil: none was yet
	done    chan error // of the one that was sent

	to      TableStream // nil: w takes lines
	batches *batcher
	made    int // bytes of the batch that was made last
}

// chunk is some lines.
type chunk struct {
	lines []byte
	rows  int
}

// A stream hands its lines on in chunks of about this size, which are made in
// room for one line more, as long as most are: one is sent, and one made.
const (
	chunkBytes = 64 << 10
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
	if err := c.in.encoder.rich.load(ctx, b); err != nil {
		return err
	}
	if c.to != nil {
		c.batches.begin(b)
	} else {
		c.in.encoder.begin(b)
	}
	for from := 0; from < b.Len; {
		to, err := c.make(b, from)
		if err != nil {
			return err
		}
		if err := c.send(b, to, to-from); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// make makes a chunk of the rows from one on, and gives the one after its last.
func (c *streamer) make(b *Block, from int) (to int, err error) {
	if c.to != nil {
		return c.tabulate(b, from)
	}
	if err := c.node.Work(func() (err error) { to, err = c.encode(b, from); return err }); err != nil {
		return to, err
	}
	return to, c.start() // only now: a first line that is too large is refused as a page is
}

// tabulate makes a part of the table.
func (c *streamer) tabulate(b *Block, from int) (to int, err error) {
	if err := c.start(); err != nil {
		return from, err
	}
	c.made, err = c.to.Make(func() (batch *frame.Batch) {
		batch, to = c.batches.make(from, b.Len)
		return batch
	})
	return to, err
}

// send hands the chunk on whose rows end before one, when the chunk before it
// is sent. Its block is lent meanwhile: the client may be slow.
func (c *streamer) send(b *Block, to, rows int) error {
	held := b.Held
	if held == nil {
		return c.hand(rows)
	}
	last := b.Position(b.At(to - 1))
	held.Lend()
	err := c.hand(rows)
	if !held.Take() && err == nil {
		err = &Reclaimed{After: &last}
	}
	return err
}

// hand hands the chunk on.
func (c *streamer) hand(rows int) error {
	if c.to != nil {
		if err := c.to.Send(rows); err != nil {
			return err
		}
		c.count(c.made, rows)
		return nil
	}
	if err := c.sent(); err != nil {
		return err
	}
	if c.chunks == nil {
		c.chunks, c.done = make(chan chunk), make(chan error, 1)
		go func(chunks <-chan chunk) {
			for ch := range chunks {
				c.done <- c.w.Lines(ch.lines, ch.rows)
			}
		}(c.chunks)
	}
	c.sending, c.buf, c.spare = chunk{c.buf, rows}, c.spare, nil
	c.chunks <- c.sending
	return nil
}

// sent waits until nothing is on its way.
func (c *streamer) sent() error {
	if c.sending.rows == 0 {
		return nil
	}
	ch := c.sending
	c.sending = chunk{}
	if err := <-c.done; err != nil {
		return err
	}
	c.spare = ch.lines
	c.count(len(ch.lines), ch.rows)
	return nil
}

// end waits until nothing is on its way, and nothing will be.
func (c *streamer) end() error {
	err := c.sent()
	if c.chunks != nil {
		close(c.chunks)
	}
	return err
}

func (c *streamer) count(bytes, rows int) {
	c.holds.Sent(int64(bytes))
	c.rows.Add(uint64(rows))
}

// encode makes a chunk of the rows from one on, and gives the one after its last.
func (c *streamer) encode(b *Block, from int) (to int, err error) {
	if c.buf == nil {
		c.buf = make([]byte, 0, chunkRoom)
	}
	c.buf = c.buf[:0]
	for to = from; to < b.Len && len(c.buf) < chunkBytes; to++ {
		line := len(c.buf)
		c.buf = append(c.in.encoder.append(c.buf, b, b.At(to)), '\n')
		if len(c.buf)-line > c.maxLine {
			return to, tooLarge(c.maxLine, false, c.in.include != Include{})
		}
	}
	return to, nil
}
