package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"preismon/contracts/fault"
	"preismon/ingest/maps"
)

// TestWatchedFileFails: a file that a full disk keeps from being imported is
// tried again, and reported once; one that is at fault itself is not.
func TestWatchedFileFails(t *testing.T) {
	_, missing := maps.Sources(filepath.Join(t.TempDir(), "prices.csv"), "")
	other := errors.New("the server is away")
	for name, c := range map[string]struct {
		err   error
		again bool
		told  int // of two times
		ends  bool
	}{
		"full disk":     {fault.Wrap(&fs.PathError{Op: "write", Path: "p.csv", Err: syscall.ENOSPC}, fault.Invalid, "p.zip cannot be unpacked"), true, 1, false},
		"cannot open":   {missing, true, 1, false},
		"no such thing": {fault.New(fault.Invalid, "", "the file has no column price"), false, 2, false},
		"to decide":     {fault.New(fault.Conflict, "", "an order was changed"), true, 2, false},
		"other":         {other, false, 0, true},
	} {
		var out bytes.Buffer
		r := &importRun{std: streams{out: &out}}
		f := &seenFile{}
		for range 2 {
			f.done = true
			if err := r.failed("p.zip", f, c.err); (err != nil) != c.ends {
				t.Errorf("%s: %v", name, err)
			}
			if f.done == c.again {
				t.Errorf("%s: done %v", name, f.done)
			}
		}
		if n := strings.Count(out.String(), "p.zip: "); n != c.told {
			t.Errorf("%s: told %d times, want %d: %s", name, n, c.told, &out)
		}
	}
}

// TestWatchedFileLeavesNothing: what was unpacked of a file that fails is
// removed, so that trying again does not fill the disk.
func TestWatchedFileLeavesNothing(t *testing.T) {
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for _, name := range []string{"a.csv", "b.csv"} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		must(t, err)
		_, err = io.WriteString(w, "rows of "+name)
		must(t, err)
	}
	must(t, z.Close())
	folder, unpacked := t.TempDir(), t.TempDir()
	damaged := bytes.Replace(packed.Bytes(), []byte("rows of b"), []byte("rows of c"), 1)
	must(t, os.WriteFile(filepath.Join(folder, "p.zip"), damaged, 0o600))
	r := &importRun{importCmd: &importCmd{Folder: folder}, dir: unpacked}
	if err := r.arrived(t.Context(), "p.zip"); err == nil || !strings.Contains(err.Error(), "b.csv cannot be unpacked") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(unpacked); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
