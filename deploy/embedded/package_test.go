package embedded_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"preismon/deploy/embedded"
	"preismon/deploy/embedded/cachedir"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// Files of any package enter the cache as the library does: only once, all of
// them, and again if one is damaged.
func TestPackageFiles(t *testing.T) {
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	archive := tar.NewWriter(gz)
	for _, f := range [][2]string{{"package/README.md", "no"}, {"package/dist/a.css", "style"}, {"package/dist/a.js", "script"}} {
		must.Do(t, archive.WriteHeader(&tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(f[1])), Typeflag: tar.TypeReg}))
		must.Get(archive.Write([]byte(f[1])))(t)
	}
	must.Do(t, errors.Join(archive.Close(), gz.Close()))
	sum := sha512.Sum512(b.Bytes())
	pkg := embedded.Package{
		Name: "@preismon/test", Version: "1.2.3", Integrity: "sha512-" + base64.StdEncoding.EncodeToString(sum[:]), Packed: int64(b.Len()),
		Files: []string{"dist/a.js", "dist/a.css"}, What: "drawing kit", Instead: "do without",
	}
	runs := fakeNPM(t, handOut(t, b.Bytes()))
	t.Setenv(cachedir.Variable, t.TempDir())
	check := func(fetched int) {
		t.Helper()
		dir := must.Get(embedded.PackageFiles(t.Context(), pkg, quiet()))(t)
		for name, want := range map[string]string{"a.js": "script", "a.css": "style"} {
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
				t.Errorf("%s is %q, %v", name, got, err)
			}
		}
		if _, err := embedded.PackageFiles(t.Context(), pkg, quiet()); err != nil { // from the cache
			t.Fatal(err)
		}
		equals.Is(t, fetched, lines(t, runs), "fetched times")
		must.Do(t, os.Truncate(filepath.Join(dir, "a.css"), 2))
	}
	check(1)
	check(2) // the second file was damaged

	pkg.Files = append(pkg.Files, "dist/b.js")
	if _, err := embedded.PackageFiles(t.Context(), pkg, quiet()); err == nil || !strings.Contains(err.Error(), "drawing kit holds no dist/b.js") {
		t.Errorf("a file that is not there: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := embedded.PackageFiles(t.Context(), pkg, quiet()); err == nil || !strings.Contains(err.Error(), "the drawing kit is not in the cache") || !strings.HasSuffix(err.Error(), "or do without") {
		t.Errorf("without npm: %v", err)
	}
}
