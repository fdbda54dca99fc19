package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"preismon/deploy/embedded"
	"preismon/ingest"

	"github.com/alecthomas/kong"
)

// busFlags configure where to publish: to external servers, or to a running `up`.
type busFlags struct {
	NATS    natsFlags `embed:""`
	DataDir string    `help:"Folder of a running \"preismon up\", instead of --nats-url." type:"path" placeholder:"DIR"`
}

// config returns the configuration of the servers.
func (f busFlags) config(name string, log *slog.Logger) (ingest.Config, error) {
	cfg := f.NATS.config(name, log)
	var where error
	switch {
	case f.DataDir == "" && cfg.URL == "":
		where = errors.New("nats-url, data-dir: one of them is needed")
	case f.DataDir == "":
		return cfg, cfg.Validate()
	case cfg.URL != "":
		where = errors.New("nats-url, data-dir: only one of them")
	default:
		var r embedded.Runtime
		if r, where = embedded.ReadRuntime(f.DataDir); where == nil {
			cfg.URL = r.NATSURL
			return cfg, cfg.Validate()
		}
	}
	rest := cfg
	rest.URL = "nats://not-known-yet:4222"
	return cfg, errors.Join(where, rest.Validate())
}

type ingestCmd struct {
	roleFlags
	Bus     busFlags   `embed:""`
	Watch   watchFlags `embed:""`
	Files   []string   `arg:"" optional:"" help:"NDJSON files of events, plain, .gz or .zst; - or no name: standard input." placeholder:"FILE"`
	Rejects string     `help:"File for rejected lines, with file, line and reason. Default: ${default}." default:"rejects.ndjson" type:"path" placeholder:"FILE"`
}

func (c *ingestCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	cfg, err := c.Bus.config("ingest", log)
	if done, err := c.only(k, std.out, faulty(err, c.Watch.faults())); done {
		return err
	}
	b, err := connect(cfg)
	if err != nil {
		return err
	}
	defer b.conn.Close()
	pub, err := c.Watch.open(b, log)
	if err != nil {
		return err
	}
	defer pub.close()
	rejects := &lazyFile{name: c.Rejects}
	defer rejects.Close()

	stdin := std.in
	if len(c.Files) == 0 || slices.Contains(c.Files, "-") {
		stdin = interruptible(ctx, stdin)
	}
	start := time.Now()
	show := newProgress(std.err, log, "publishing", 0)
	result, err := ingest.PublishFiles(ctx, ingest.FilesRequest{
		Publisher: pub.Publisher, Files: c.Files, Stdin: stdin, Rejects: rejects, ProgressEvery: 200 * time.Millisecond,
		Progress: func(lines uint64) { show.at(int64(lines)) },
	})
	show.end()
	seconds := time.Since(start).Seconds()
	fmt.Fprintf(std.out, "accepted %s, duplicates %s, rejected %s, in %.1f s (%s events/s)\n",
		thousands(result.Accepted), thousands(result.Duplicates), thousands(result.Rejected),
		seconds, thousands(int64(float64(result.Accepted+result.Duplicates)/max(seconds, 0.001))))
	if err := errors.Join(err, rejects.Close()); err != nil {
		return fmt.Errorf("%w; run it again to continue; nothing is duplicated", err)
	}
	if result.Rejected > 0 {
		fmt.Fprintf(std.err, "The rejected lines and their reasons are in %s.\n", rejects.name)
		return errRejected
	}
	return nil
}

// interruptible reads until ctx ends, even while the reader waits for input.
// Input that was read but not yet consumed is lost then.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	go func() {
		_, err := io.Copy(in, r)
		_ = in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { _ = in.CloseWithError(context.Cause(ctx)) })
	return out
}

// lazyFile is created when the first byte is written to it. A file of an earlier
// run is kept: the new name then gets a number. A device or a pipe is written to
// as it is.
type lazyFile struct {
	name    string // in the end, the name of the file
	created bool
	f       *os.File
}

func (l *lazyFile) Write(b []byte) (int, error) {
	if l.f == nil && isDevice(l.name) {
		f, err := os.OpenFile(l.name, os.O_WRONLY, 0)
		if err != nil {
			return 0, err
		}
		l.f = f
	}
	if l.f == nil {
		ext := filepath.Ext(l.name)
		stem := strings.TrimSuffix(l.name, ext)
		for n := 2; l.f == nil; n++ {
			f, err := os.OpenFile(l.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil && (!errors.Is(err, fs.ErrExist) || n > 10_000) {
				return 0, err
			}
			if err == nil {
				l.f, l.created = f, true
				break
			}
			l.name = stem + "-" + strconv.Itoa(n) + ext
		}
	}
	return l.f.Write(b)
}

func (l *lazyFile) Close() error {
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}

// isDevice reports whether there is something of a name that is neither a file nor
// a folder: a device or a pipe.
func isDevice(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// remove closes the file, and removes it if it was created.
func (l *lazyFile) remove() error {
	if !l.created {
		return l.Close()
	}
	return errors.Join(l.Close(), os.Remove(l.name))
}

var _ io.WriteCloser = (*lazyFile)(nil)
