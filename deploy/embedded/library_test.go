package embedded_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// pack builds a package that contains the given library.
func pack(t *testing.T, library string) (packed []byte, integrity string) {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	archive := tar.NewWriter(gz)
	for name, content := range map[string]string{"package/package.json": "{}", "package/libchdb.so": library} {
		must.Do(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}))
		must.Get(archive.Write([]byte(content)))(t)
	}
	must.Do(t, errors.Join(archive.Close(), gz.Close()))
	sum := sha512.Sum512(b.Bytes())
	return b.Bytes(), "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// fakeNPM puts an npm that runs the script on PATH, and returns a file to which
// a line is added for each run.
func fakeNPM(t *testing.T, script string) (runs string) {
	t.Helper()
	dir := t.TempDir()
	runs = filepath.Join(dir, "runs")
	text := "#!/bin/sh\necho run >> '" + runs + "'\n" + script + "\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "npm"), []byte(text), 0o755))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return runs
}

// handOut is a script that answers `npm pack SPEC --pack-destination DIR` with a file.
func handOut(t *testing.T, packed []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "source")
	must.Do(t, os.WriteFile(path, packed, 0o600))
	return `[ "$1" = pack ] && [ "$2" = "@preismon/test@1.2.3" ] && [ "$3" = --pack-destination ] || exit 9
cp '` + path + `' "$4/test-1.2.3.tgz"`
}

func lines(t *testing.T, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return bytes.Count(data, []byte("\n"))
}

func TestLibraryIsFetchedOnce(t *testing.T) {
	const content = "the engine"
	packed, integrity := pack(t, content)
	runs := fakeNPM(t, handOut(t, packed))
	cache := t.TempDir()
	library := func() *embedded.Library {
		return &embedded.Library{
			CacheDir: cache, Logger: quiet(),
			Package: embedded.Package{Name: "@preismon/test", Version: "1.2.3", Integrity: integrity, Packed: int64(len(packed)), Unpacked: 10},
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := library().Ensure(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	path := must.Get(library().Ensure(t.Context()))(t)
	if want := filepath.Join(cache, "preismon-test-1.2.3", "libchdb.so"); path != want {
		t.Errorf("path %s, want %s", path, want)
	}
	equals.Is(t, 1, lines(t, runs), "fetched times")
	check := func() {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("library is %q, %v", got, err)
		}
	}
	check()

	// A truncated file is noticed at once and fetched again.
	must.Do(t, os.Truncate(path, 3))
	var bar bytes.Buffer
	l := library()
	l.Terminal = &bar
	must.Get(l.Ensure(t.Context()))(t)
	check()
	if !strings.Contains(bar.String(), "clickhouse library") {
		t.Errorf("progress bar: %q", bar.String())
	}

	// A file of the right size with wrong bytes is noticed when Refetch is
	// called.
	if again, err := library().Refetch(t.Context()); again || err != nil {
		t.Errorf("a right file was fetched again: %v, %v", again, err)
	}
	must.Do(t, os.WriteFile(path, []byte("THE ENGINE"), 0o600))
	if again, err := library().Refetch(t.Context()); !again || err != nil {
		t.Errorf("a wrong file was kept: %v, %v", again, err)
	}
	check()
	equals.Is(t, 3, lines(t, runs), "fetched times")
	if left, _ := filepath.Glob(filepath.Join(cache, "*", "fetch-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}

	// Warm cache, no npm at all.
	t.Setenv("PATH", t.TempDir())
	if _, err := library().Ensure(t.Context()); err != nil {
		t.Errorf("warm cache without npm: %v", err)
	}
}

func TestLibraryErrors(t *testing.T) {
	packed, integrity := pack(t, "the engine")
	other, _ := pack(t, "another engine")
	for name, c := range map[string]struct {
		script string // "": no npm on PATH
		pkg    embedded.Package
		cache  string
		want   string
	}{
		"no npm":         {want: "install npm"},
		"offline":        {script: "echo 'npm error code ENOTFOUND' >&2; exit 1", want: "npm registry cannot be reached; connect to the network once"},
		"unknown":        {script: "echo 'npm error code E404' >&2; exit 1", want: "does not have @preismon/test@1.2.3"},
		"npm broken":     {script: "echo 'npm error something odd' >&2; exit 1", want: "(npm error something odd); repair npm"},
		"npm disk full":  {script: "echo 'npm error code ENOSPC' >&2; exit 1", want: "the disk is full"},
		"nothing packed": {script: "exit 0", want: "0 packed files"},
		"other content":  {script: handOut(t, other), want: "is not the one pinned"},
		"no archive":     {script: handOut(t, []byte("hello")), want: "is not the one pinned"},
		"too large":      {script: handOut(t, packed), pkg: embedded.Package{Integrity: integrity, Unpacked: 1 << 60}, want: "free space there"},
		"not pinned":     {script: handOut(t, packed), pkg: embedded.Package{Name: "@preismon/test", Version: "1.2.3"}, want: "is not pinned"},
		"no folder":      {script: handOut(t, packed), cache: "/dev/null/cache", want: "name another one in PREISMON_CACHE_DIR"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.script != "" {
				fakeNPM(t, c.script)
			} else {
				t.Setenv("PATH", t.TempDir())
			}
			if c.pkg.Name == "" {
				c.pkg.Name, c.pkg.Version, c.pkg.Integrity = "@preismon/test", "1.2.3", integrity
			}
			if c.cache == "" {
				c.cache = t.TempDir()
			}
			_, err := (&embedded.Library{CacheDir: c.cache, Logger: quiet(), Package: c.pkg}).Ensure(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one sentence with %q", err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(c.cache, "*", "libchdb.so")); len(left) != 0 {
				t.Errorf("a library is in the cache after an error: %v", left)
			}
		})
	}
}

func TestLibraryFetchIsInterrupted(t *testing.T) {
	_, integrity := pack(t, "the engine")
	ctx, cancel := context.WithCancel(t.Context())
	runs := fakeNPM(t, "exec sleep 60")
	go func() {
		must.Eventually(t, 10*time.Second, "npm runs", func() bool { return lines(t, runs) == 1 })
		cancel()
	}()
	_, err := (&embedded.Library{
		CacheDir: t.TempDir(), Logger: quiet(),
		Package: embedded.Package{Name: "@preismon/test", Version: "1.2.3", Integrity: integrity},
	}).Ensure(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A library of the right size that does not load is checked, found to be wrong,
// and fetched again; if it is the pinned one, the system is at fault.
func TestLibraryDoesNotLoad(t *testing.T) {
	packed, integrity := pack(t, "no engine at all")
	fakeNPM(t, handOut(t, packed))
	cache := t.TempDir()
	_, err := embedded.StartClickHouse(t.Context(), embedded.ClickHouseConfig{
		Dir: t.TempDir(), NoProgram: true, Logger: quiet(),
		Library: embedded.Library{CacheDir: cache, Package: embedded.Package{Name: "@preismon/test", Version: "1.2.3", Integrity: integrity}},
	})
	if err == nil || !strings.Contains(err.Error(), "does not load on this system") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
	path := filepath.Join(cache, "preismon-test-1.2.3", "libchdb.so")
	must.Do(t, os.WriteFile(path, []byte("no ENGINE at all"), 0o600))
	t.Setenv("PATH", t.TempDir())
	_, err = embedded.StartClickHouse(t.Context(), embedded.ClickHouseConfig{
		Dir: t.TempDir(), NoProgram: true, Logger: quiet(),
		Library: embedded.Library{CacheDir: cache, Package: embedded.Package{Name: "@preismon/test", Version: "1.2.3", Integrity: integrity}},
	})
	if err == nil || !strings.Contains(err.Error(), "damaged and cannot be fetched again") || !strings.Contains(err.Error(), "install npm") {
		t.Error(err)
	}
}
