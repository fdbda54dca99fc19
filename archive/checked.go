package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// checked hands out the bytes of src and ends with io.EOF only if src ended
// after exactly the expected size with the expected hash. The last byte is held
// back until then, so that no reader ever gets a complete but wrong content.
type checked struct {
	ctx    context.Context
	src    io.Reader
	left   int64     // bytes not yet handed out
	sum    hash.Hash // nil: only the size is checked
	sha256 string
	bad    func(why string) error // called when src holds something else
	broken func(err error) error  // called when src failed
	err    error                  // sticky
	one    [1]byte
}

// contentToPut checks the content that a caller passes to Put.
func contentToPut(ctx context.Context, ref Ref, content io.Reader) *checked {
	return &checked{
		ctx: ctx, src: content, left: ref.Size, sum: sha256.New(), sha256: ref.SHA256,
		bad: func(why string) error { return badContent(ref.Key, why) },
		broken: func(err error) error {
			return fmt.Errorf("archive: put %s: read the content: %w", ref.Key, err)
		},
	}
}

// storedContent checks what a store returns for the whole of ref.
func storedContent(ctx context.Context, ref Ref, src io.Reader) *checked {
	c := storedPart(ctx, ref, ref.Size, src)
	c.sum, c.sha256 = sha256.New(), ref.SHA256
	return c
}

// storedPart checks the length of what a store returns for a part of ref.
func storedPart(ctx context.Context, ref Ref, size int64, src io.Reader) *checked {
	return &checked{
		ctx: ctx, src: src, left: size,
		bad:    func(why string) error { return corrupt(ref.Key, why) },
		broken: func(err error) error { return unavailable(ctx, "read "+ref.Key.String(), err) },
	}
}

func (c *checked) Read(p []byte) (n int, err error) {
	if len(p) == 0 || c.err != nil {
		return 0, c.err
	}
	if err := c.ctx.Err(); err != nil {
		c.err = c.broken(err)
		return 0, c.err
	}
	switch {
	case c.left > 1:
		n, c.err = c.src.Read(p[:min(int64(len(p)), c.left-1)])
		c.take(p[:n])
		c.err = c.failure(c.err)
	case c.left == 1:
		if n, c.err = c.last(); c.err == nil {
			p[0] = c.one[0]
		}
	default:
		if c.err = c.end(); c.err == nil {
			c.err = io.EOF
		}
	}
	return n, c.err
}

// last reads the byte that was held back and checks what must be true after it.
func (c *checked) last() (n int, err error) {
	if _, err := io.ReadFull(c.src, c.one[:]); err != nil {
		return 0, c.failure(err)
	}
	held := c.one[0]
	c.take(c.one[:])
	if err := c.end(); err != nil {
		return 0, err
	}
	c.one[0] = held
	c.src = nothing() // the end was seen; a source need not report it twice
	return 1, nil
}

// end runs after all bytes were read: src must end too, and the hash must
// match.
func (c *checked) end() error {
	switch _, err := io.ReadFull(c.src, c.one[:]); {
	case err == nil:
		return c.bad("it is longer than recorded")
	case err != io.EOF:
		return c.failure(err)
	}
	if c.sum == nil {
		return nil
	}
	if got := hex.EncodeToString(c.sum.Sum(nil)); got != c.sha256 {
		return c.bad("its SHA-256 is " + got + ", recorded is " + c.sha256)
	}
	return nil
}

func (c *checked) take(p []byte) {
	c.left -= int64(len(p))
	if c.sum != nil {
		c.sum.Write(p)
	}
}

func (c *checked) failure(err error) error {
	switch {
	case err == nil:
		return nil
	case err == io.EOF:
		return c.bad(fmt.Sprintf("it ends %d bytes before its recorded size", c.left))
	}
	return c.broken(err)
}

// fill reads exactly len(p) bytes and, if they are the last ones, a clean end.
func (c *checked) fill(p []byte) error {
	if _, err := io.ReadFull(c, p); err != nil || c.left > 0 {
		return err
	}
	if _, err := c.Read(c.one[:]); err != io.EOF {
		return err
	}
	return nil
}

// failed returns the error that reading ended with; nil after a clean end.
func (c *checked) failed() error {
	if c.err == io.EOF {
		return nil
	}
	return c.err
}

// nothing returns a reader that is at its end.
func nothing() io.Reader { return strings.NewReader("") }

// object is an opened artifact.
type object struct {
	*checked
	io.Closer
}

// checkSize refuses an artifact whose size is not the recorded one.
func checkSize(ctx context.Context, s Store, ref Ref) error {
	size, err := s.Stat(ctx, ref.Key)
	if err == nil && size != ref.Size {
		err = corrupt(ref.Key, fmt.Sprintf("it has %d bytes, recorded are %d", size, ref.Size))
	}
	return err
}

// same returns the result of a Put whose key was taken: nil if the store holds
// the same content.
func same(ctx context.Context, s Store, ref Ref) error {
	err := confirm(ctx, s, ref)
	if errors.Is(err, ErrCorrupt) {
		return conflict(ref.Key)
	}
	return err
}

// sameChecked is same for a key known to be taken before the content was read:
// the caller's content is checked nevertheless.
func sameChecked(ctx context.Context, s Store, ref Ref, content *checked) error {
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err
	}
	return same(ctx, s, ref)
}
