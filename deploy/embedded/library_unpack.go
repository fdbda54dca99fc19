package embedded

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// extract verifies the packed file against the pinned integrity while it writes
// the wanted files from it into a folder, in one pass. The caller discards them
// on error.
func (l *Library) extract(ctx context.Context, packed, folder string) (mark, error) {
	f, err := os.Open(packed)
	if err != nil {
		return mark{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return mark{}, err
	}
	var read atomic.Int64
	stop := l.watch("unpacking", st.Size(), read.Load)
	ok := false
	defer func() { stop(ok) }()

	sum := sha512.New()
	source := io.TeeReader(readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("unpacking the %s was interrupted: %w", l.Package.What, err)
		}
		n, err := f.Read(p)
		read.Add(int64(n))
		return n, err
	}), sum)
	m, unpackErr := l.unpack(source, folder)
	if _, err := io.Copy(io.Discard, source); err != nil { // what unpacking the archive left unread
		return mark{}, err
	}
	// The integrity is checked first: a wrong file may not be an archive at all.
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum.Sum(nil)); got != l.Package.Integrity {
		return mark{}, fmt.Errorf("the fetched %s %s@%s is not the one pinned in preismon (integrity %s, expected %s) and was thrown away; try again, and if it stays so do not trust the npm registry in use",
			l.Package.What, l.Package.Name, l.Package.Version, got, l.Package.Integrity)
	}
	if unpackErr != nil {
		return mark{}, unpackErr
	}
	m.Integrity = l.Package.Integrity
	ok = true
	return m, nil
}

func (l *Library) unpack(source io.Reader, folder string) (mark, error) {
	failed := func(err error) (mark, error) { return mark{}, fmt.Errorf("unpack the %s: %w", l.Package.What, err) }
	gz, err := gzip.NewReader(source)
	if err != nil {
		return failed(err)
	}
	var m mark
	wanted := l.Package.Files
	missing := slices.Clone(wanted)
	for archive := tar.NewReader(gz); len(missing) > 0; {
		h, err := archive.Next()
		if err == io.EOF {
			return mark{}, fmt.Errorf("the package of the %s holds no %s", l.Package.What, missing[0])
		}
		if err != nil {
			return failed(err)
		}
		name, ok := strings.CutPrefix(h.Name, "package/")
		at := slices.Index(missing, name)
		if !ok || at < 0 || h.Typeflag != tar.TypeReg {
			continue
		}
		missing = slices.Delete(missing, at, at+1)
		size, sum, err := writeSummed(filepath.Join(folder, path.Base(name)), archive)
		if err != nil {
			return failed(err)
		}
		if name == wanted[0] {
			m.Size, m.SHA256 = size, sum
			continue
		}
		if m.Others == nil {
			m.Others = map[string]int64{}
		}
		m.Others[name] = size
	}
	return m, nil
}

// writeSummed writes what is read to a new file, and returns its size and SHA-256.
func writeSummed(target string, from io.Reader) (int64, string, error) {
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, "", err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), from)
	if err == nil {
		err = out.Sync()
	}
	return n, hex.EncodeToString(sum.Sum(nil)), errors.Join(err, out.Close())
}

// watch shows the progress of something: a bar on a terminal, otherwise a line
// every few seconds. The returned function ends it.
func (l *Library) watch(what string, total int64, done func() int64) (stop func(ok bool)) {
	quit, gone := make(chan bool), make(chan struct{})
	var bar *progressbar.ProgressBar
	every := 5 * time.Second
	if l.Terminal != nil {
		every = 100 * time.Millisecond
		bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(l.Terminal), progressbar.OptionShowBytes(true),
			progressbar.OptionSetDescription(strings.ToLower(l.Package.What)+", "+what), progressbar.OptionSetWidth(30),
			progressbar.OptionOnCompletion(func() { fmt.Fprintln(l.Terminal) }))
	}
	go func() {
		defer close(gone)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				n := done()
				if bar == nil {
					l.Logger.Info("fetching", "what", l.Package.What, "step", what, "megabytes", n>>20, "of", total>>20)
				} else if n < total { // the end is drawn by Finish
					_ = bar.Set64(n)
				}
			case ok := <-quit:
				if bar != nil && ok {
					_ = bar.Finish()
				} else if bar != nil {
					fmt.Fprintln(l.Terminal)
				}
				return
			}
		}
	}()
	return func(ok bool) { quit <- ok; <-gone }
}

// folderSize returns the size of all files below dir; files that disappear
// meanwhile are left out.
func folderSize(dir string) int64 {
	var n int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
