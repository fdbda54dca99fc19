package archive_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"preismon/archive"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
)

func dirRig(tb testing.TB) rig {
	folder := filepath.Join(tb.TempDir(), "artifacts")
	return rig{
		Store: openDir(tb, folder),
		tamper: func(tb testing.TB, key archive.Key, content []byte) {
			must.Do(tb, os.WriteFile(filepath.Join(folder, key.String()), content, 0o600))
		},
		leftovers: func(tb testing.TB, _ archive.Key) int { return len(unfinished(tb, folder)) },
	}
}

func openDir(tb testing.TB, folder string) *archive.Dir {
	tb.Helper()
	d := must.Get(archive.NewDir(folder))(tb)
	tb.Cleanup(func() { must.Do(tb, d.Close()) })
	return d
}

func unfinished(tb testing.TB, folder string) []os.DirEntry {
	entries := must.Get(os.ReadDir(filepath.Join(folder, "tmp")))(tb)
	return entries
}

func TestDirIsPrivate(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "artifacts")
	put(t, openDir(t, folder), archive.RefOf(newKey(), []byte("x")), []byte("x"))
	must.Do(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		must.Do(t, err)
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return err
	}))
}

func TestDirOutlivesItsProcess(t *testing.T) {
	folder := t.TempDir()
	ref := archive.RefOf(newKey(), []byte("x"))
	put(t, openDir(t, folder), ref, []byte("x"))

	// Leftovers of two killed writers, and of one that may still be at work.
	for name, age := range map[string]time.Duration{"old": 2 * time.Hour, "older": 48 * time.Hour, "new": 0} {
		path := filepath.Join(folder, "tmp", name)
		must.Do(t, os.WriteFile(path, []byte("half"), 0o600))
		when := time.Now().Add(-age)
		must.Do(t, os.Chtimes(path, when, when))
	}
	if got := read(t, openDir(t, folder), ref); string(got) != "x" {
		t.Errorf("%q came back", got)
	}
	if left := unfinished(t, folder); len(left) != 1 || left[0].Name() != "new" {
		t.Errorf("left are %v", left)
	}
}

// A key cannot leave the folder, and neither can a link planted inside it.
func TestDirStaysInside(t *testing.T) {
	secret := []byte("not an artifact")
	f := func(plant func(outside, file string) error) {
		t.Helper()
		folder, outside := t.TempDir(), t.TempDir()
		d := openDir(t, folder)
		ref := archive.RefOf(newKey(), secret)
		file := filepath.Join(folder, ref.Key.String())
		must.Do(t, os.WriteFile(filepath.Join(outside, "0"), secret, 0o600))
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Dir(file)), 0o700))
		must.Do(t, plant(outside, file))
		if o, err := d.Open(t.Context(), ref); err == nil {
			got, _ := io.ReadAll(o)
			t.Errorf("%q was read", got)
		}
		if err := d.Put(t.Context(), ref, bytes.NewReader(secret)); err == nil {
			t.Error("something was written")
		}
		entries, err := os.ReadDir(outside)
		if err != nil || len(entries) != 1 {
			t.Errorf("outside are %v, %v", entries, err)
		}
	}
	f(func(outside, file string) error { return os.Symlink(outside, filepath.Dir(file)) })
	f(func(outside, file string) error {
		return errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.Symlink(filepath.Join(outside, "0"), file))
	})
	f(func(_, file string) error { return os.MkdirAll(file, 0o700) })
}

// A directory that cannot be tidied, or in which nothing can be written, can be
// read.
func TestDirReadOnly(t *testing.T) {
	for name, spoil := range map[string]func(folder string) error{
		"an old file cannot be removed": func(folder string) error {
			old := filepath.Join(folder, "tmp", "old")
			when := time.Now().Add(-2 * time.Hour)
			return errors.Join(os.MkdirAll(filepath.Join(old, "x"), 0o700), os.Chtimes(old, when, when))
		},
		"no folder for unfinished files, and none can be made": func(folder string) error {
			tmp := filepath.Join(folder, "tmp")
			return errors.Join(os.Remove(tmp), os.WriteFile(tmp, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			ref, missing := archive.RefOf(newKey(), []byte("x")), archive.RefOf(newKey(), []byte("y"))
			put(t, openDir(t, folder), ref, []byte("x"))
			must.Do(t, spoil(folder))
			d := openDir(t, folder)
			if got := read(t, d, ref); string(got) != "x" {
				t.Errorf("%q came back", got)
			}
			_, err := d.Open(t.Context(), missing)
			wantErr(t, err, fault.NotFound, nil)
		})
	}
}

// Of a copy without the folder for unfinished files, all artifacts are read, and
// a missing one is known to be missing.
func TestDirWithoutUnfinished(t *testing.T) {
	folder := t.TempDir()
	ref := archive.RefOf(newKey(), []byte("x"))
	d := openDir(t, folder)
	put(t, d, ref, []byte("x"))
	must.Do(t, os.Remove(filepath.Join(folder, "tmp")))
	if got := read(t, d, ref); string(got) != "x" {
		t.Errorf("%q came back", got)
	}
	_, err := d.Stat(t.Context(), newKey())
	wantErr(t, err, fault.NotFound, nil)
	wantErr(t, d.Put(t.Context(), archive.RefOf(newKey(), []byte("x")), strings.NewReader("x")), fault.Unavailable, nil)
}

// A volume that went away is not a missing artifact.
func TestDirGone(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "artifacts")
	d := openDir(t, folder)
	ref := archive.RefOf(newKey(), []byte("x"))
	must.Do(t, os.RemoveAll(folder))
	_, err := d.Open(t.Context(), ref)
	wantErr(t, err, fault.Unavailable, nil)
	wantErr(t, d.Put(t.Context(), ref, strings.NewReader("x")), fault.Unavailable, nil)
	wantErr(t, d.Check(t.Context()), fault.Unavailable, nil)
}

func TestNewDirFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	if _, err := archive.NewDir(file); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func TestDirTruncatedWhileRead(t *testing.T) {
	folder := t.TempDir()
	d := openDir(t, folder)
	content := noise(mib)
	ref := archive.RefOf(newKey(), content)
	put(t, d, ref, content)
	o := must.Get(d.Open(t.Context(), ref))(t)
	defer o.Close()
	must.Do(t, os.Truncate(filepath.Join(folder, ref.Key.String()), mib/2))
	_, err := io.Copy(io.Discard, o)
	wantErr(t, err, fault.Internal, archive.ErrCorrupt)
}
