package records

import (
	"bufio"
	"io"
	"sync"
	"time"
)

const flushEvery = 200 * time.Millisecond

// flusher is a buffer whose content is flushed soon.
type flusher struct {
	mu    sync.Mutex // the timer flushes concurrently with the writer
	buf   *bufio.Writer
	timer *time.Timer
	err   error
}

func newFlusher(w io.Writer) *flusher { return &flusher{buf: bufio.NewWriterSize(w, 64<<10)} }

func (f *flusher) write(into func(*bufio.Writer) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = into(f.buf)
	}
	if f.timer == nil && f.err == nil {
		f.timer = time.AfterFunc(flushEvery, f.tick)
	}
	return f.err
}

func (f *flusher) tick() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.timer = nil
	if f.err == nil {
		f.err = f.buf.Flush()
	}
}

func (f *flusher) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer != nil {
		f.timer.Stop()
	}
	if f.err == nil {
		f.err = f.buf.Flush()
	}
	return f.err
}
