package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest/maps"
)

// TestWatchedFileFails: a file that a full disk keeps from being imported is
// tried again after a pause, and reported once; one that is at fault itself is not.
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
		folder, now := t.TempDir(), time.Now().Add(time.Hour)
		must.Do(t, os.WriteFile(filepath.Join(folder, "p.zip"), nil, 0o600))
		files := map[string]*seenFile{}
		settled := func(after time.Duration) bool {
			now = now.Add(after)
			all := must.Get(settledFiles(folder, files, now))(t)
			return len(all) > 0
		}
		if settled(0) || !settled(0) {
			t.Fatalf("%s: not settled when it was seen again", name)
		}
		for range 2 {
			if err := r.failed("p.zip", files["p.zip"], c.err, now); (err != nil) != c.ends {
				t.Errorf("%s: %v", name, err)
			}
			if settled(0) || settled(time.Minute) != c.again {
				t.Errorf("%s: not tried again after a pause, and only then: %v", name, !c.again)
			}
		}
		equals.Is(t, c.told, strings.Count(out.String(), "p.zip: "), "%s: told times: %s", name, &out)
	}
}

// TestWatchedFileLeavesNothing: what was unpacked of a file that fails is
// removed, so that trying again does not fill the disk.
func TestWatchedFileLeavesNothing(t *testing.T) {
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for _, name := range []string{"a.csv", "b.csv"} {
		w := must.Get(z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store}))(t)
		must.Get(io.WriteString(w, "rows of "+name))(t)
	}
	must.Do(t, z.Close())
	folder, unpacked := t.TempDir(), t.TempDir()
	damaged := bytes.Replace(packed.Bytes(), []byte("rows of b"), []byte("rows of c"), 1)
	must.Do(t, os.WriteFile(filepath.Join(folder, "p.zip"), damaged, 0o600))
	r := &importRun{importCmd: &importCmd{Folder: folder}, dir: unpacked}
	if err := r.arrived(t.Context(), "p.zip"); err == nil || !strings.Contains(err.Error(), "b.csv cannot be unpacked") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(unpacked); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

// TestRejectsOfAFailedTry: a try that is repeated leaves no file of rejected rows
// behind, and takes none away that an earlier run wrote.
func TestRejectsOfAFailedTry(t *testing.T) {
	mapping := must.Get(maps.Builtin("observations"))(t)
	file, folder := filepath.Join(t.TempDir(), "p.csv"), t.TempDir()
	const table = "site,product_key,name,captured_at,price,currency,available,brand,ean,quantity,regular_price,unit,unit_price,url,valid_from,valid_to\n" +
		"tokmanni.fi,pen,Pen,2026-10-01T09:00:00Z,1.20,EUR,true,,,,,,,,,\n" +
		"tokmanni.fi,pen,Pen,never,1.20,EUR,true,,,,,,,,,\n"
	must.Do(t, os.WriteFile(file, []byte(table), 0o600))
	rejects := filepath.Join(folder, "rejects.ndjson")
	must.Do(t, os.WriteFile(rejects, []byte("of an earlier run"), 0o600))
	r := &importRun{importCmd: &importCmd{Folder: "watched", Rejects: rejects}, std: streams{err: io.Discard}, log: slog.New(slog.DiscardHandler), mapping: mapping}
	left := func() int {
		all := must.Get(os.ReadDir(folder))(t)
		return len(all)
	}
	try := func() (*importedFile, error) {
		return r.one(t.Context(), importFile{Source: maps.Source{Name: "p.csv", Path: file}, label: "p"}, false)
	}
	changing, changed := make(chan struct{}), make(chan struct{})
	go func() { // the file is being written while it is read
		defer close(changed)
		for at := time.Now(); ; at = at.Add(time.Second) {
			select {
			case <-changing:
				return
			default:
				_ = os.Chtimes(file, at, at)
			}
		}
	}()
	for failed := 0; failed < 3; {
		one, err := try()
		switch {
		case err == nil: // the file was not changed just then
			must.Do(t, os.Remove(one.rejects))
		case fault.KindOf(err) != fault.Conflict || left() != 1:
			t.Fatalf("%v, %d files of rejected rows", err, left())
		default:
			failed++
		}
	}
	close(changing)
	<-changed
	if one, err := try(); err != nil || one.Rejected != 1 || left() != 2 {
		t.Errorf("%+v, %v, %d files of rejected rows", one, err, left())
	}
}
