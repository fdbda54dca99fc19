package query

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// ResultsStream takes a stream of observations. Start is called once, when
// the first rows are there or the read turned out to have none; Lines takes
// NDJSON, whole lines, which may not be kept.
type ResultsStream interface {
	Start(scope string) error
	Lines(ndjson []byte, rows int) error
}

// StreamResults reads all rows of the window in order. It has no deadline as
// a whole, but none of its waits for the store may be longer than the hard
// budget. It fails when its caller no longer sees what it saw at the start: as
// Unavailable where that is only another scope.
func (s *Service) StreamResults(ctx context.Context, p Principal, r ResultsRequest, w ResultsStream) (err error) {
	defer func() { s.stats.streamed(err) }()
	began := time.Now()
	in, err := func() (*read, error) {
		ctx, cancel := context.WithTimeout(ctx, s.cfg.HardBudget)
		defer cancel()
		return s.accept(ctx, p, r)
	}()
	if err != nil {
		return budget(err)
	}
	if in.empty {
		return w.Start(in.echo.Scope)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	look := &lookout{service: s, caller: p, seen: in.vis, looked: began}
	watch := time.AfterFunc(s.cfg.HardBudget, func() { cancel(context.DeadlineExceeded) })
	defer watch.Stop()

	c := &streamer{in: in, w: w, maxLine: s.cfg.MaxResponseBytes, rows: &s.stats.streamRows, turns: s.turns}
	in.query.Streamed = true
	err = s.store.Results(ctx, in.vis, &in.query, func(b *Block) error {
		watch.Stop() // the client may be slow; only the store's time counts
		defer watch.Reset(s.cfg.HardBudget)
		if err := look.nowAndThen(ctx); err != nil {
			return err
		}
		return c.take(ctx, b)
	})
	if err == nil {
		watch.Stop()
		err = look.now(ctx)
	}
	if err != nil {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			err = errors.Join(context.DeadlineExceeded, err)
		}
		return budget(err)
	}
	return c.start()
}

// streamer encodes blocks as NDJSON.
type streamer struct {
	in      *read
	w       ResultsStream
	buf     []byte
	started bool
	maxLine int
	rows    *atomic.Uint64 // those handed on
	turns   turns
}

// A stream hands its lines on in chunks of about this size.
const chunkBytes = 512 << 10

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
	c.in.encoder.begin(b)
	for from := 0; from < b.Len; {
		to := from
		if err := c.turns.take(func() (err error) { to, err = c.encode(b, from); return err }); err != nil {
			return err
		}
		if err := c.start(); err != nil { // only now: a first line that is too large is refused as a page is
			return err
		}
		if err := c.w.Lines(c.buf, to-from); err != nil {
			return err
		}
		c.rows.Add(uint64(to - from))
		from = to
	}
	return nil
}

// encode makes a chunk of the rows from one on, and gives the one after its last.
func (c *streamer) encode(b *Block, from int) (to int, err error) {
	c.buf = c.buf[:0]
	for to = from; to < b.Len && len(c.buf) < chunkBytes; to++ {
		line := len(c.buf)
		c.buf = append(c.in.encoder.append(c.buf, b, b.At(to)), '\n')
		if len(c.buf)-line > c.maxLine {
			return to, tooLarge(c.maxLine)
		}
	}
	return to, nil
}
