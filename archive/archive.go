// Package archive keeps artifacts: the files of exports and imports, written
// once and read by the query service. A Store is a directory (Dir) or any S3
// (S3); both pass the same test suite.
//
// It guarantees that a key is visible only with complete, checked content, that
// the content of a key never changes except when Replace repairs it, and that a
// reader ends with io.EOF only after every byte matched the size and the
// SHA-256 that the caller holds. It knows nothing about filenames, media types
// or who may read what, trusts no metadata of a server, and never deletes an
// artifact.
package archive

import (
	"context"
	"errors"
	"io"
)

// Store keeps artifacts. It is safe for concurrent use.
//
// Errors by kind: Invalid for a Ref, Range or content that is wrong in itself,
// NotFound for a key without content, Conflict (ErrConflict) for a key that
// holds other content, Internal (ErrCorrupt) for stored content that differs
// from its Ref, Unavailable for a store that cannot be used now. The error of a
// context that ended is returned as such, wrapped.
type Store interface {
	// Put stores exactly ref.Size bytes of content under ref.Key, after they
	// matched ref.SHA256. If the key already holds content, that is read back
	// and compared: Put succeeds if it is the same, and is a Conflict
	// otherwise. Of several concurrent writers, one wins. After an error the
	// key is either absent or complete: the same Put may be repeated with the
	// content from its start. An error of content itself is wrapped and keeps
	// its kind.
	Put(ctx context.Context, ref Ref, content io.Reader) error

	// Replace is Put for a key whose content is missing or damaged: whatever is
	// there is replaced in one step by the complete new content, after the new
	// content matched ref.SHA256. After an error the key holds what it held
	// before, or the new content.
	Replace(ctx context.Context, ref Ref, content io.Reader) error

	// Open reads a whole artifact. The size is compared at once, and the hash
	// before the last byte is handed out: a caller that announced ref.Size as a
	// length to its own client never sends that many bytes of a damaged file.
	// Reading ends when ctx does. The caller closes the reader.
	Open(ctx context.Context, ref Ref) (io.ReadCloser, error)

	// OpenRange reads a part. The sizes of the artifact and of the part are
	// checked; the hash cannot be checked.
	OpenRange(ctx context.Context, ref Ref, part Range) (io.ReadCloser, error)

	// Stat returns how many bytes the store holds under key, without reading
	// them.
	Stat(ctx context.Context, key Key) (bytes int64, err error)

	// Check reports whether the store can be used now.
	Check(ctx context.Context) error
}

var (
	// ErrConflict: the key holds other content.
	ErrConflict = errors.New("another content is stored under the key")
	// ErrCorrupt: the stored content differs from its Ref.
	ErrCorrupt = errors.New("the stored content differs from its record")
)
