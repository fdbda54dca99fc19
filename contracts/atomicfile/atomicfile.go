// Package atomicfile writes the private files that programs keep for themselves:
// tokens, keys, positions. A reader sees the old or the new content and never a
// part, also after a crash. It does not write files that others may read.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write replaces a file, completely or not at all, and syncs it to disk. Only
// the owner can read it.
func Write(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
