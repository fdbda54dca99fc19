package ingest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"

	"preismon/contracts/event"
)

// Line is one line of an NDJSON file of events: a valid event, or the reason
// why it is not one.
type Line struct {
	Number int
	Text   []byte // without its line ending; valid until the next line
	Event  *event.Event
	Err    error
}

// errLong is why a line is not parsed.
var errLong = fmt.Errorf("the line has more than %d bytes", event.MaxBytes)

// maxQuoted is how much of a line that is too long is kept for display.
const maxQuoted = 200

// Lines reads events, one per line, in the order of the lines; for one
// iteration. Blank lines are skipped but counted. The reader may be plain, gzip
// or zstd, as its first bytes show. The error, if any, comes last and is about
// the reading: a bad event is a Line with Err.
func Lines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		plain, done, err := decompress(r)
		if err != nil {
			yield(Line{}, err)
			return
		}
		defer done()
		in := bufio.NewReaderSize(plain, 256<<10)
		var text []byte
		for n := 1; ; n++ {
			var long bool
			text, long, err = readLine(in, text[:0])
			if err != nil && err != io.EOF {
				yield(Line{}, fmt.Errorf("after line %d: %w", n-1, err))
				return
			}
			if n == 1 {
				text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
			}
			if t := bytes.TrimSpace(text); len(t) > 0 {
				l := Line{Number: n, Text: t}
				if long {
					l.Text, l.Err = t[:min(len(t), maxQuoted)], errLong
				} else {
					l.Event, l.Err = event.Decode(t)
				}
				if !yield(l, nil) {
					return
				}
			}
			if err == io.EOF {
				return
			}
		}
	}
}

// readLine appends the next line to b, without its ending. Of a line that is
// too long it keeps only the beginning.
func readLine(in *bufio.Reader, b []byte) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if room := event.MaxBytes + 2 - len(b); len(part) > room { // 2: the line ending
			part, long = part[:room], true
		}
		b = append(b, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return b, long, err
		}
	}
}

// decompress detects the compression by the first bytes.
func decompress(r io.Reader) (plain io.Reader, done func(), err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	magic, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, fmt.Errorf("gzip: %w", err)
		}
		return z, func() { _ = z.Close() }, nil
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, nil, fmt.Errorf("zstd: %w", err)
		}
		return z, z.Close, nil
	}
	return in, func() {}, nil
}
