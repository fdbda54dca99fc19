package archive

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"preismon/contracts/fault"
)

// Put implements Store: the content goes to a new file, is synced and then
// linked to its key. The directories of the key are synced before Put succeeds.
func (d *Dir) Put(ctx context.Context, ref Ref, content io.Reader) error {
	if err := ref.Validate(); err != nil {
		return invalid(err)
	}
	src := contentToPut(ctx, ref, content)
	switch _, err := d.Stat(ctx, ref.Key); {
	case err == nil:
		if err := sameChecked(ctx, d, ref, src); err != nil {
			return err
		}
		return d.syncWay(ctx, ref.Key) // its writer may not have got that far
	case fault.KindOf(err) != fault.NotFound:
		return err
	}

	name, err := d.write(ctx, ref.Key, src)
	if name != "" {
		defer d.root.Remove(name)
	}
	if err != nil {
		return err
	}
	if err := d.root.MkdirAll(path.Dir(ref.Key.String()), 0o700); err != nil {
		return unavailable(ctx, "put "+ref.Key.String(), err)
	}
	switch err := d.root.Link(name, ref.Key.String()); {
	case errors.Is(err, fs.ErrExist):
		if err := same(ctx, d, ref); err != nil {
			return err
		}
	case err != nil:
		return unavailable(ctx, "put "+ref.Key.String(), err)
	}
	return d.syncWay(ctx, ref.Key)
}

// Replace implements Store: a rename replaces what is there.
func (d *Dir) Replace(ctx context.Context, ref Ref, content io.Reader) error {
	if err := ref.Validate(); err != nil {
		return invalid(err)
	}
	name, err := d.write(ctx, ref.Key, contentToPut(ctx, ref, content))
	if err == nil {
		key := ref.Key.String()
		if err = errors.Join(d.root.MkdirAll(path.Dir(key), 0o700), d.root.Rename(name, key)); err == nil {
			return d.syncWay(ctx, ref.Key)
		}
		err = unavailable(ctx, "replace "+key, err)
	}
	if name != "" {
		_ = d.root.Remove(name) // otherwise NewDir removes it
	}
	return err
}

// write copies src to a new unfinished file. Its name is returned even with an
// error if there is a file to remove.
func (d *Dir) write(ctx context.Context, key Key, src *checked) (name string, err error) {
	f, err := d.create()
	if err != nil {
		return "", unavailable(ctx, "put "+key.String(), err)
	}
	_, err = io.Copy(f.File, src)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	switch {
	case src.failed() != nil:
		return f.name, src.failed()
	case err != nil:
		return f.name, unavailable(ctx, "put "+key.String(), err)
	}
	return f.name, nil
}

// unfinishedFile is an open file with its name inside the root.
type unfinishedFile struct {
	*os.File
	name string
}

func (d *Dir) create() (unfinishedFile, error) {
	name := path.Join(unfinished, rand.Text())
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return unfinishedFile{f, name}, err
}

// syncWay makes the directory entries from the key up to the root durable.
func (d *Dir) syncWay(ctx context.Context, key Key) error {
	for dir := path.Dir(key.String()); ; dir = path.Dir(dir) {
		if err := d.sync(dir); err != nil {
			return unavailable(ctx, "put "+key.String(), err)
		}
		if dir == "." {
			return nil
		}
	}
}

func (d *Dir) sync(dir string) error {
	f, err := d.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
