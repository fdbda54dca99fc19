package atomicfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"preismon/contracts/atomicfile"
	"preismon/deploy/testserver/must"
)

// TestWrite: a file is replaced as a whole, also one that others may read; a
// write that fails leaves what was there, and nothing else.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "token")
	must.Do(t, os.WriteFile(name, []byte("a long old content"), 0o644))
	must.Do(t, atomicfile.Write(name, []byte("new")))
	content, err := os.ReadFile(name)
	if err != nil || string(content) != "new" {
		t.Errorf("%q, %v", content, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	full := filepath.Join(dir, "full") // a folder with a file, which no file can replace
	must.Do(t, os.MkdirAll(filepath.Join(full, "kept"), 0o700))
	if err := atomicfile.Write(full, []byte("new")); err == nil {
		t.Error("a folder was replaced")
	}
	if err := atomicfile.Write(filepath.Join(dir, "missing", "token"), nil); err == nil {
		t.Error("a folder that is missing was written to")
	}
	var left []string
	if err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		left = append(left, path)
		return err
	}); err != nil || len(left) != 4 { // the folder, full, kept and token
		t.Errorf("there is %v, %v", left, err)
	}
}
