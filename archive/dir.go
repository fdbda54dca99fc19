package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"
)

// Dir keeps artifacts in a directory of one machine, one file each, readable
// only by the owner. The file system must support hard links: unlike a rename,
// a link never replaces an existing file.
type Dir struct{ root *os.Root }

const (
	unfinished    = "tmp" // inside the root: a link cannot cross file systems
	unfinishedAge = time.Hour
)

// NewDir opens the directory, creating it if it is missing, and removes
// unfinished files that have not changed for more than an hour, because their
// writers died. A directory that can only be read is opened too; Check, Put and
// Replace report it as Unavailable.
func NewDir(folder string) (*Dir, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	d := &Dir{root: root}
	d.prepare()
	return d, nil
}

// prepare makes room for unfinished files and removes old ones, as far as this
// process may: one that only reads needs neither.
func (d *Dir) prepare() {
	_ = d.root.MkdirAll(unfinished, 0o700)
	left, _ := fs.ReadDir(d.root.FS(), unfinished)
	for _, entry := range left {
		info, err := entry.Info()
		if err != nil || time.Since(info.ModTime()) < unfinishedAge {
			continue // removed, or perhaps being written by another process
		}
		_ = d.root.Remove(path.Join(unfinished, entry.Name()))
	}
}

// Close releases the directory. Open readers stay usable.
func (d *Dir) Close() error { return d.root.Close() }

// Open implements Store.
func (d *Dir) Open(ctx context.Context, ref Ref) (io.ReadCloser, error) {
	if err := ref.Validate(); err != nil {
		return nil, invalid(err)
	}
	f, err := d.open(ctx, ref)
	if err != nil {
		return nil, err
	}
	return object{storedContent(ctx, ref, f), f}, nil
}

// OpenRange implements Store.
func (d *Dir) OpenRange(ctx context.Context, ref Ref, part Range) (io.ReadCloser, error) {
	if err := part.validate(ref); err != nil {
		return nil, err
	}
	f, err := d.open(ctx, ref)
	if err != nil {
		return nil, err
	}
	return object{storedPart(ctx, ref, part.Length, io.NewSectionReader(f, part.Offset, part.Length)), f}, nil
}

func (d *Dir) open(ctx context.Context, ref Ref) (*os.File, error) {
	if err := checkSize(ctx, d, ref); err != nil {
		return nil, err
	}
	f, err := d.root.Open(ref.Key.String())
	if err != nil {
		return nil, d.failure(ctx, ref.Key, err)
	}
	return f, nil
}

// Stat implements Store.
func (d *Dir) Stat(ctx context.Context, key Key) (int64, error) {
	if err := key.Validate(); err != nil {
		return 0, invalid(err)
	}
	if err := ctx.Err(); err != nil {
		return 0, unavailable(ctx, "stat "+key.String(), err)
	}
	info, err := d.root.Lstat(key.String())
	if err != nil {
		return 0, d.failure(ctx, key, err)
	}
	if !info.Mode().IsRegular() {
		return 0, corrupt(key, "it is not a regular file") // opening a pipe would wait forever
	}
	return info.Size(), nil
}

// Check implements Store: it writes a file and removes it.
func (d *Dir) Check(ctx context.Context) error {
	f, err := d.create()
	if err == nil {
		_, err = f.WriteString("check")
		err = errors.Join(err, f.Sync(), f.Close(), d.root.Remove(f.name))
	}
	if err != nil {
		return unavailable(ctx, "check", err)
	}
	return ctx.Err()
}

// failure distinguishes a missing artifact from a missing directory, such as a
// volume that is no longer mounted.
func (d *Dir) failure(ctx context.Context, key Key, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if err = d.holdsSomething(); err == nil {
			return notFound(key)
		}
	}
	return unavailable(ctx, "open "+key.String(), err)
}

// holdsSomething returns an error if the directory is empty, as a deleted one
// is, or an empty mount point: an archive has at least the folder for unfinished
// files, or artifacts.
func (d *Dir) holdsSomething() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	_, err = f.Readdirnames(1)
	return errors.Join(err, f.Close())
}
