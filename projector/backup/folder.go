package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Mark is the file without which a part of a backup is incomplete; the server
// writes it last.
const Mark = ".backup"

// noteFile is the name of the file that describes a backup in a folder.
const noteFile = "backup.json"

// Note is what is known about a backup when it is taken.
type Note struct {
	Taken      time.Time  `json:"taken"`
	Checkpoint Checkpoint `json:"checkpoint"`
}

// Write writes the note into the folder of a backup.
func (n Note) Write(folder string) error {
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, noteFile), append(text, '\n'), 0o600)
}

// Folder is a backup in a folder of this machine.
type Folder struct {
	Path       string      `json:"path"`
	Whole      bool        `json:"whole"` // false: it is still being taken, or was interrupted
	Taken      time.Time   `json:"taken"` // zero where it is not complete
	Bytes      uint64      `json:"bytes"` // on the disk
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
}

// Look inspects one folder; ErrNone where there is no backup.
func Look(path string) (Folder, error) {
	f := Folder{Path: path, Whole: true}
	parts := 0
	for _, part := range []string{checkpoints, tables} {
		if info, err := os.Stat(filepath.Join(path, part)); err != nil || !info.IsDir() {
			f.Whole = false
			continue
		}
		parts++
		info, err := os.Stat(filepath.Join(path, part, Mark))
		if err != nil {
			f.Whole = false
		} else if info.ModTime().After(f.Taken) {
			f.Taken = info.ModTime().UTC()
		}
	}
	if parts == 0 {
		return f, fmt.Errorf("%s: %w", path, ErrNone)
	}
	if !f.Whole {
		f.Taken = time.Time{}
	}
	err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			f.Bytes += uint64(info.Size())
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // as of a backup that is being taken, or removed
		return f, err
	}
	text, err := os.ReadFile(filepath.Join(path, noteFile))
	if errors.Is(err, fs.ErrNotExist) { // from a version that wrote none
		return f, nil
	}
	var n Note
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	if err != nil {
		return f, fmt.Errorf("read the note of %s: %w", path, err)
	}
	if f.Whole {
		f.Taken = n.Taken
	}
	f.Checkpoint = &n.Checkpoint
	return f, nil
}

// Folders returns all backups in some folders, the newest first; those that are
// not complete come last. A folder that does not exist has none.
func Folders(in ...string) (all []Folder, err error) {
	for _, dir := range in {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), Passing) {
				continue
			}
			f, err := Look(filepath.Join(dir, e.Name()))
			if errors.Is(err, ErrNone) {
				continue
			}
			if err != nil {
				return nil, err
			}
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b Folder) int { return b.Taken.Compare(a.Taken) })
	return all, nil
}

// Passing is the prefix of the name of a backup that is on its way to another
// place.
const Passing = "passing-"
