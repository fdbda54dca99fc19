package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// outputFile is a file that a user names for the output of a command. A regular
// file gets its name only when it is complete; a device or a pipe, which is
// never incomplete, is written to directly.
type outputFile struct {
	*os.File
	name string // that it gets in the end; empty: it is written to directly
}

const partEnding = ".part" // of the name of a file that is not complete

// createOutput opens the file of a name. A link to a file stays one: the file is
// written. A folder is a usage fault.
func createOutput(name string) (*outputFile, error) { return outputOf(name, "") }

// createHidden is createOutput in a folder that others read as a table: what is
// not complete has a name that they pass over, which begins with a dot.
func createHidden(name string) (*outputFile, error) { return outputOf(name, ".") }

func outputOf(name, before string) (*outputFile, error) {
	info, err := os.Stat(name)
	exists := err == nil
	switch {
	case exists && info.IsDir():
		return nil, faulty(fmt.Errorf("output: %s is a folder; name a file", name))
	case exists && !info.Mode().IsRegular():
		f, err := os.OpenFile(name, os.O_WRONLY, 0) //nolint:gosec // the user names it
		return &outputFile{File: f}, err
	case exists:
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return nil, err
		}
	}
	part, err := createPart(name, before)
	if err != nil {
		return nil, err
	}
	out := &outputFile{part, name}
	if exists { // the mode of the file whose place it takes: its rows are as private
		if err := out.Chmod(info.Mode().Perm()); err != nil {
			return nil, errors.Join(err, out.discard())
		}
	}
	return out, nil
}

// createPart creates the file that gets a name once it is complete. Each run has
// its own, so that two that write the same file do not mix. Its name has before
// in front.
func createPart(name, before string) (*os.File, error) {
	folder, file := filepath.Split(name)
	return os.OpenFile(folder+before+file+"."+rand.Text()[:8]+partEnding, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // as os.Create
}

// complete closes the file, which gets its name.
func (o *outputFile) complete() error {
	if o.name == "" {
		return o.Close()
	}
	if err := errors.Join(o.Sync(), o.Close()); err != nil {
		return err
	}
	return os.Rename(o.Name(), o.name)
}

// discard closes the file, and removes it if it has no name yet.
func (o *outputFile) discard() error {
	if o.name == "" {
		return o.Close()
	}
	return errors.Join(o.Close(), os.Remove(o.Name()))
}

// syncFile syncs an output to disk, if it is a regular file.
func syncFile(w io.Writer) error {
	f, ok := w.(interface {
		Stat() (fs.FileInfo, error)
		Sync() error
	})
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	return f.Sync()
}
