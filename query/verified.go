package query

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"io"

	"preismon/query/cache"
)

// DownloadBuffer is how much of its file one download holds. A file that fits
// is read and verified whole; of a larger one, each piece of this size is
// verified before it is returned.
const DownloadBuffer = 4 << 20

// chunkSums are fingerprints of the chunks of a content, each DownloadBuffer
// long except the last, taken from a copy that matched its SHA-256. They guard
// against damage, not against an attacker who forges content.
type chunkSums []uint64

var chunkSeed = maphash.MakeSeed()

// verified remembers the fingerprints of contents by their SHA-256, so that the
// parts of a large file do not each read all of it. A content never changes, so
// the fingerprints are valid for every copy of it.
type verified = *cache.Cache[string, chunkSums]

func newVerified() verified {
	return cache.New(1<<20, func(sha256 string, sums chunkSums) int { return len(sha256) + 8*len(sums) })
}

// Content reads the whole content, from the first archive with a good copy.
func (d *Download) Content(ctx context.Context) ([]byte, error) {
	content, err := d.whole(ctx)
	if err == nil {
		d.stats.found.Add(1)
	}
	return content, err
}

func (d *Download) whole(ctx context.Context) ([]byte, error) {
	content := make([]byte, d.SizeBytes)
	err := d.first(ctx, func(a Archive) error {
		return d.read(ctx, a, func(r io.Reader) error { return readAll(r, content) })
	})
	return content, err
}

// openWhole reads a content that fits into the buffer.
func (d *Download) openWhole(ctx context.Context, offset int64) (io.ReadCloser, error) {
	content, err := d.whole(ctx)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(content[offset:])), nil
}

// read reads a whole copy. The archive verifies it before its end.
func (d *Download) read(ctx context.Context, a Archive, take func(io.Reader) error) error {
	r, err := a.Open(ctx, d.Artifact, 0)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // it was read to its end
	return take(r)
}

var (
	errLonger  = errors.New("the content is longer than the catalogue says")
	errDamaged = errors.New("the content was damaged since it was verified")
)

// readAll fills p and expects the end after it.
func readAll(r io.Reader, p []byte) error {
	if _, err := io.ReadFull(r, p); err != nil {
		return err
	}
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return errLonger
	case err != io.EOF:
		return err
	}
	return nil
}

// openChunks reads a content that is larger than the buffer.
func (d *Download) openChunks(ctx context.Context, offset int64) (io.ReadCloser, error) {
	c := &chunks{ctx: ctx, of: d, buffer: make([]byte, DownloadBuffer), next: offset / DownloadBuffer}
	if c.sums, _ = d.verified.Get(d.SHA256); c.sums == nil {
		err := d.first(ctx, func(a Archive) error {
			return d.read(ctx, a, func(r io.Reader) error { return c.learn(r) })
		})
		if err != nil {
			return nil, err
		}
		d.verified.Put(d.SHA256, c.sums)
	}
	if err := c.load(); err != nil {
		return nil, err
	}
	c.left = c.left[offset%DownloadBuffer:]
	return c, nil
}

// chunks reads a content chunk by chunk, each from any archive that has it.
type chunks struct {
	ctx    context.Context
	of     *Download
	sums   chunkSums
	buffer []byte
	next   int64         // the chunk to load
	left   []byte        // of the buffer, not returned yet
	src    io.ReadCloser // positioned at next; nil: not open
	err    error
}

// chunk returns the buffer for chunk n, cut to the chunk's length.
func (c *chunks) chunk(n int64) []byte {
	return c.buffer[:min(DownloadBuffer, c.of.SizeBytes-n*DownloadBuffer)]
}

// learn takes the fingerprints of a whole copy.
func (c *chunks) learn(r io.Reader) error {
	n := (c.of.SizeBytes + DownloadBuffer - 1) / DownloadBuffer
	sums := make(chunkSums, n)
	for i := range n {
		p := c.chunk(i)
		var err error
		if i < n-1 {
			_, err = io.ReadFull(r, p)
		} else {
			err = readAll(r, p)
		}
		if err != nil {
			return err
		}
		sums[i] = maphash.Bytes(chunkSeed, p)
	}
	c.sums = sums
	return nil
}

// load reads the next chunk: from where the last one came from, or otherwise
// from the first archive in which it is good.
func (c *chunks) load() error {
	err := errDamaged
	if c.src != nil {
		if err = c.fill(); err != nil {
			c.release()
		}
	}
	if err != nil {
		err = c.of.first(c.ctx, func(a Archive) (err error) {
			if c.src, err = a.Open(c.ctx, c.of.Artifact, c.next*DownloadBuffer); err != nil {
				c.src = nil
				return err
			}
			if err = c.fill(); err != nil {
				c.release()
			}
			return err
		})
	}
	if err == nil {
		c.left = c.chunk(c.next)
		c.next++
	}
	return err
}

// fill reads the next chunk from the open archive and verifies it.
func (c *chunks) fill() error {
	p := c.chunk(c.next)
	if _, err := io.ReadFull(c.src, p); err != nil {
		return err
	}
	if maphash.Bytes(chunkSeed, p) != c.sums[c.next] {
		return errDamaged
	}
	return nil
}

func (c *chunks) Read(p []byte) (n int, err error) {
	if c.err == nil && len(c.left) == 0 {
		if c.next == int64(len(c.sums)) {
			return 0, io.EOF
		}
		c.err = c.load()
	}
	if c.err != nil {
		return 0, c.err
	}
	n = copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *chunks) release() {
	if c.src != nil {
		c.src.Close() //nolint:errcheck // it is only read
		c.src = nil
	}
}

// Close closes the archive's copy.
func (c *chunks) Close() error {
	c.release()
	return nil
}
