// Package archive keeps artifacts: the files of exports and imports, written
// once and read by the query service. A Store is a directory (Dir) or any S3
// (S3); both pass the same suite.
//
// It promises that a key is visible only with whole, checked content, that
// the content of a key never changes, unless Replace mends it, and that a reader ends with io.EOF only
// after every byte agreed with the size and the SHA-256 that the caller holds.
// It does not know filenames, media types or who may read what, trusts no
// metadata of a server, and never deletes an artifact.
package archive

import (
	"context"
	"errors"
	"io"
)

// Store keeps artifacts. It is safe for use by many goroutines.
//
// Errors by kind: Invalid for a Ref, Range or content that is wrong in
// itself, NotFound for a key without content, Conflict (ErrConflict) for a
// key that holds other content, Internal (ErrCorrupt) for stored content that
// differs from its Ref, Unavailable for a store that cannot be used now. A
// context that ended is returned as it is, wrapped.
type Store interface {
	// Put stores exactly ref.Size bytes of content under ref.Key after they
	// agreed with ref.SHA256. Content that is already there is a success when
	// it is the same, read back and compared, and else a Conflict; of several
	// writers at once one wins. After an error the key is either absent or
	// whole: the same Put may be sent again with the content from its start.
	// An error of content itself is wrapped and keeps its kind.
	Put(ctx context.Context, ref Ref, content io.Reader) error

	// Replace is Put for a key whose content was lost or damaged: what is
	// there, if anything is, gives way at once and whole to the new content,
	// after that agreed with ref.SHA256. After an error the key holds what it
	// held, or the new content.
	Replace(ctx context.Context, ref Ref, content io.Reader) error

	// Open reads an artifact whole. The size is compared at once, the hash
	// before the last byte is handed out: who sent ref.Size as a length to
	// somebody else has not sent that many bytes of a damaged file. Reading
	// ends when ctx does. The caller closes the reader.
	Open(ctx context.Context, ref Ref) (io.ReadCloser, error)

	// OpenRange reads a part. The sizes of the artifact and of the part are
	// checked; the hash cannot be.
	OpenRange(ctx context.Context, ref Ref, part Range) (io.ReadCloser, error)

	// Stat says how many bytes the store holds under key. It does not read
	// them.
	Stat(ctx context.Context, key Key) (bytes int64, err error)

	// Check says whether the store can be used now.
	Check(ctx context.Context) error
}

var (
	// ErrConflict: the key holds other content.
	ErrConflict = errors.New("another content is stored under the key")
	// ErrCorrupt: the stored content differs from its Ref.
	ErrCorrupt = errors.New("the stored content differs from its record")
)
