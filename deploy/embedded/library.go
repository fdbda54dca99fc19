package embedded

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/shirou/gopsutil/v4/disk"

	"preismon/deploy/embedded/cachedir"
)

// libraryFile is the file wanted from the package.
const libraryFile = "libchdb.so"

// Package is an npm package, pinned by its content.
type Package struct {
	Name      string // "@chdb/lib-linux-x64-gnu"
	Version   string
	Integrity string // "sha512-..." of the packed file; empty: not pinned, never fetched
	Packed    int64  // size of the packed file in bytes
	Unpacked  int64  // size of the wanted files in bytes, roughly

	Files   []string // wanted from it, by their paths in it; empty: the ClickHouse library
	What    string   // what it is, for sentences; empty: ClickHouse library
	Instead string   // what else helps a user who cannot fetch it; empty: a ClickHouse program
}

// withDefaults fills in what is empty for the ClickHouse library.
func (p Package) withDefaults() Package {
	if len(p.Files) == 0 {
		p.Files = []string{libraryFile}
	}
	p.What = cmp.Or(p.What, "ClickHouse library")
	p.Instead = cmp.Or(p.Instead, getProgram(runtime.GOOS))
	return p
}

// PackageFiles returns the folder with the wanted files of a package, under
// their base names. What is not in the user's cache folder yet is fetched there
// like the ClickHouse library.
func PackageFiles(ctx context.Context, p Package, log *slog.Logger) (string, error) {
	path, err := (&Library{Package: p, Logger: log}).Ensure(ctx)
	return filepath.Dir(path), err
}

// Library finds the ClickHouse library, or the files of another package, in the
// user's cache folder, or fetches them there once. Several processes may do so
// at the same time.
type Library struct {
	CacheDir string       // base folder; empty: PREISMON_CACHE_DIR, otherwise the user's cache folder
	Package  Package      // zero: the one pinned for this platform
	Terminal io.Writer    // a terminal to draw a progress bar on; nil: log lines instead
	Logger   *slog.Logger // nil: slog.Default()
}

// mark describes a library as it was verified when it was written.
type mark struct {
	Integrity string `json:"integrity"` // of the package it came from
	SHA256    string `json:"sha256"`    // of its first wanted file
	Size      int64  `json:"size"`      // of the same file

	Others map[string]int64 `json:"others,omitempty"` // sizes of the other files
}

// resolve fills in the defaults and returns the folder of the library.
func (l *Library) resolve() (dir string, err error) {
	l.Logger = cmp.Or(l.Logger, slog.Default())
	if l.Package.Name == "" {
		if l.Package, err = LibraryFor(runtime.GOOS + "/" + runtime.GOARCH); err != nil {
			return "", err
		}
	}
	l.Package = l.Package.withDefaults()
	if l.Package.Integrity == "" {
		return "", fmt.Errorf("the %s %s@%s is not pinned in this version of preismon; %s",
			l.Package.What, l.Package.Name, l.Package.Version, l.Package.Instead)
	}
	base := l.CacheDir
	if base == "" {
		if base, err = cachedir.Path(); err != nil {
			return "", err
		}
	}
	name := strings.NewReplacer("@", "", "/", "-").Replace(l.Package.Name) + "-" + l.Package.Version
	return filepath.Join(base, name), nil
}

// Ensure returns the path of the library, and fetches it if it is missing or
// incomplete in the cache. With a warm cache it reads a few hundred bytes and
// needs no network. Its errors are sentences that say what to do.
func (l *Library) Ensure(ctx context.Context) (string, error) {
	dir, err := l.resolve()
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, path.Base(l.Package.Files[0]))
	if l.whole(dir) {
		return file, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cannot make the cache folder %s; name another one in %s: %w", dir, cachedir.Variable, err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	defer lock.Close()
	locked, err := lock.TryLock()
	if err == nil && !locked {
		l.Logger.Info("waiting for another process that fetches the same", "what", l.Package.What)
		_, err = lock.TryLockContext(ctx, 100*time.Millisecond)
	}
	if err != nil {
		return "", fmt.Errorf("cannot lock the cache folder %s: %w", dir, err)
	}
	if l.whole(dir) { // the other process was faster
		return file, nil
	}
	if st, err := os.Stat(file); err == nil {
		l.Logger.Warn("what is cached is not whole and is fetched again", "what", l.Package.What, "path", file, "bytes", st.Size())
	}
	if err := l.fetch(ctx, dir); err != nil {
		if errors.Is(err, syscall.ENOSPC) {
			return "", fmt.Errorf("the disk is full while fetching the %s into %s; free space there, or name another folder in %s: %w", l.Package.What, dir, cachedir.Variable, err)
		}
		return "", err
	}
	return file, nil
}

// Refetch checks every byte of the cached library and fetches it again if one is
// wrong. It reports whether it did; call it when the library does not load.
func (l *Library) Refetch(ctx context.Context) (bool, error) {
	dir, err := l.resolve()
	if err != nil {
		return false, err
	}
	m, err := readMark(dir)
	if err == nil {
		if sum, err := sumFile(filepath.Join(dir, path.Base(l.Package.Files[0]))); err == nil && sum == m.SHA256 {
			return false, nil
		}
	}
	if err := os.Remove(filepath.Join(dir, markFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	_, err = l.Ensure(ctx)
	return err == nil, err
}

const markFile = "verified.json"

func readMark(dir string) (mark, error) {
	var m mark
	data, err := os.ReadFile(filepath.Join(dir, markFile))
	if err != nil {
		return m, err
	}
	err = json.Unmarshal(data, &m)
	return m, err
}

// whole is the cheap check at each start: the mark of the pinned package exists,
// and the files have the sizes they had when they were verified.
func (l *Library) whole(dir string) bool {
	m, err := readMark(dir)
	if err != nil || m.Integrity != l.Package.Integrity {
		return false
	}
	for i, name := range l.Package.Files {
		size := m.Size
		if i > 0 {
			size = m.Others[name]
		}
		st, err := os.Stat(filepath.Join(dir, path.Base(name)))
		if err != nil || !st.Mode().IsRegular() || st.Size() != size {
			return false
		}
	}
	return true
}

func sumFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// fetch packs, verifies and extracts the package; the caller holds the lock.
func (l *Library) fetch(ctx context.Context, dir string) error {
	spec := l.Package.Name + "@" + l.Package.Version
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("the %s is not in the cache and npm is not on PATH to fetch it; install npm (it comes with Node.js), or %s", l.Package.What, l.Package.Instead)
	}
	// npm keeps the packed file twice for a moment: in its cache and as output.
	need := uint64(2*l.Package.Packed + l.Package.Unpacked)
	if room, err := disk.Usage(dir); err == nil && room.Free < need {
		return fmt.Errorf("fetching the %s needs %d MB in %s and only %d MB are free; free space there, or name another folder in %s",
			l.Package.What, need>>20, dir, room.Free>>20, cachedir.Variable)
	}
	// No other process uses what a killed one left behind: we hold the lock.
	old, _ := filepath.Glob(filepath.Join(dir, "fetch-*"))
	for _, d := range old {
		_ = os.RemoveAll(d)
	}
	tmp, err := os.MkdirTemp(dir, "fetch-*")
	if err != nil {
		return fmt.Errorf("cannot write to the cache folder %s; name another one in %s: %w", dir, cachedir.Variable, err)
	}
	defer os.RemoveAll(tmp)

	l.Logger.Info("fetching, once", "what", l.Package.What, "package", spec, "kilobytes", l.Package.Packed>>10, "into", dir)
	began := time.Now()
	packed, err := l.pack(ctx, npm, spec, tmp)
	if err != nil {
		return err
	}
	m, err := l.extract(ctx, packed, tmp)
	if err != nil {
		return err
	}
	// The mark is removed first and written last: without it the library counts
	// as absent.
	if err := os.Remove(filepath.Join(dir, markFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range l.Package.Files {
		if err := os.Rename(filepath.Join(tmp, path.Base(name)), filepath.Join(dir, path.Base(name))); err != nil {
			return err
		}
	}
	if err := writeJSON(filepath.Join(dir, markFile), m); err != nil {
		return err
	}
	l.Logger.Info("fetched into the cache and verified", "what", l.Package.What, "seconds", int(time.Since(began).Seconds()+0.5))
	return nil
}

// pack runs npm and returns the packed file.
func (l *Library) pack(ctx context.Context, npm, spec, tmp string) (string, error) {
	cmd := exec.CommandContext(ctx, npm, "pack", spec, "--pack-destination", tmp, "--ignore-scripts", "--loglevel=error")
	cmd.Dir = tmp // so that no project's .npmrc or package.json applies
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(),
		"npm_config_cache="+filepath.Join(tmp, "npm-cache"), // where its growth can be watched; nothing stays in the user's cache
		"npm_config_fetch_retries=2", "npm_config_fetch_retry_mintimeout=1000", "npm_config_fetch_retry_maxtimeout=5000",
		"npm_config_update_notifier=false", "npm_config_fund=false", "npm_config_audit=false")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stop := l.watch("downloading", l.Package.Packed, func() int64 { return min(folderSize(tmp), l.Package.Packed) })
	err := cmd.Run()
	stop(err == nil)
	if err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("fetching the %s was interrupted: %w", l.Package.What, context.Cause(ctx))
		}
		return "", l.explainNPM(spec, stderr.String(), err)
	}
	found, _ := filepath.Glob(filepath.Join(tmp, "*.tgz"))
	if len(found) != 1 {
		return "", fmt.Errorf("npm pack %s ended well but left %d packed files instead of one; try again, or %s", spec, len(found), l.Package.Instead)
	}
	return found[0], nil
}

func (l *Library) explainNPM(spec, stderr string, err error) error {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(stderr, w) })
	}
	switch {
	case has("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH", "ERR_SOCKET_TIMEOUT", "ENOTCACHED"):
		return fmt.Errorf("the %s is not in the cache and the npm registry cannot be reached; connect to the network once and start again, or %s: %w", l.Package.What, l.Package.Instead, err)
	case has("ENOSPC"):
		return fmt.Errorf("npm found the disk full: %w", syscall.ENOSPC)
	case has("E404", "ETARGET"):
		return fmt.Errorf("the npm registry in use does not have %s; set another registry in npm, or %s: %w", spec, l.Package.Instead, err)
	}
	last := ""
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, "complete log") && !strings.Contains(line, "npm warn") {
			last = line
		}
	}
	return fmt.Errorf("npm pack %s failed (%s); repair npm, or %s: %w", spec, last, l.Package.Instead, err)
}
