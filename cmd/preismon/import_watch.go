package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/contracts/fault"
	"preismon/ingest"
	"preismon/ingest/maps"
)

// How a watched folder is checked: a file is complete if it has not changed from
// one check to the next, and not for settledAfter.
const (
	lookEvery    = 2 * time.Second
	settledAfter = 5 * time.Second
)

// seenFile is the state of a file at the last check.
type seenFile struct {
	size     int64
	modified time.Time
	since    time.Time // unchanged since then: modified, unless that lies in the future
	done     bool
	reported bool // that it is tried again
	tries    int
	retryAt  time.Time // not tried before
}

// watch imports what is in the folder and what arrives there, until ctx ends. It
// keeps no state between runs: what has been imported is recognised by its
// content. A file that cannot be read is reported, and tried again after it has
// changed; if the machine was at fault, also before.
func (r *importRun) watch(ctx context.Context, cfg ingest.Config) error {
	if err := r.open(ctx, cfg); err != nil {
		return err
	}
	defer r.close()
	fmt.Fprintf(r.std.err, "Watching %s; stop with Ctrl-C.\n", r.Folder)
	files := map[string]*seenFile{}
	var failed error
	every(ctx, lookEvery, func() (more bool) {
		arrived, err := settledFiles(r.Folder, files, time.Now())
		for _, name := range arrived {
			if err = r.arrived(ctx, name); err != nil && ctx.Err() == nil {
				err = r.failed(name, files[name], err, time.Now())
			}
			if err != nil {
				break
			}
		}
		failed = err
		return err == nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return failed
}

// failed reports why a file is not imported; an error is one that ends the
// watching.
func (r *importRun) failed(name string, f *seenFile, err error, now time.Time) error {
	switch {
	case ofMachine(err):
		if !f.reported {
			fmt.Fprintf(r.std.out, "%s: not imported yet, will be tried again: %v\n", name, err)
		}
		f.reported = true
	case fault.KindOf(err) == fault.Invalid:
		fmt.Fprintf(r.std.out, "%s: not imported: %v\n", name, err)
	case fault.KindOf(err) == fault.Conflict:
		fmt.Fprintf(r.std.out, "%s: %v\n", name, err)
	default:
		return err
	}
	if retriable(err) {
		f.done, f.retryAt = false, now.Add(client.Backoff(f.tries))
		f.tries++
	}
	return nil
}

// ofMachine reports whether a file may be good although it was not imported: the
// disk is full, or a right is missing.
func ofMachine(err error) bool { return errors.As(err, new(*fs.PathError)) }

// retriable reports whether a watched file that failed is imported again before
// it has changed.
func retriable(err error) bool { return ofMachine(err) || fault.KindOf(err) == fault.Conflict }

// settledFiles returns the files of a folder that are complete and not yet
// returned in their current state, and records the state of all. Hidden files,
// and those whose names show that they hold no prices, are ignored.
func settledFiles(folder string, files map[string]*seenFile, now time.Time) (arrived []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || strings.HasPrefix(e.Name(), ".") || !maps.Readable(e.Name()) {
			continue
		}
		there[e.Name()] = true
		f := files[e.Name()]
		if f == nil || f.size != info.Size() || !f.modified.Equal(info.ModTime()) {
			f = &seenFile{size: info.Size(), modified: info.ModTime(), since: info.ModTime()}
			if f.since.After(now) {
				f.since = now
			}
			files[e.Name()] = f
			continue
		}
		if !f.done && now.Sub(f.since) >= settledAfter && !now.Before(f.retryAt) {
			f.done = true
			arrived = append(arrived, e.Name())
		}
	}
	for name := range files {
		if !there[name] {
			delete(files, name)
		}
	}
	return arrived, nil
}

// arrived imports a file of the folder, and prints what changed.
func (r *importRun) arrived(ctx context.Context, name string) error {
	dir, err := os.MkdirTemp(r.dir, "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the parent folder is removed at the end
	files, err := r.filesOf(filepath.Join(r.Folder, name), dir)
	if err != nil {
		return err
	}
	for _, f := range labelled(files, r.Label, true) {
		one, failed := r.one(ctx, f, true)
		if _, err := r.pub.Flush(ctx); err != nil { // also after a failure: its rows are known then
			return err
		}
		if failed != nil {
			return failed
		}
		if err := r.Applied.wait(ctx, r.bus); err != nil {
			return err
		}
		fmt.Fprintf(r.std.out, "%s: %s, %s known, %s rejected\n", f.Name, plural(one.Observations, "new observation"), plural(one.Known, "row"), thousands(one.Rejected))
		if one.rejects != "" {
			fmt.Fprintf(r.std.out, "%s: the rejected rows and their reasons are in %s\n", f.Name, one.rejects)
		}
		r.printChanges(one.Changes)
		if r.account.Known == nil { // it exists now, and stays unchanged from now on
			if r.account.Known, err = accountOf(ctx, r.bus, r.Login); err != nil {
				return err
			}
		}
	}
	return nil
}

// printChanges prints the largest price changes in a file.
func (r *importRun) printChanges(changes []maps.PriceChange) {
	const shown = 10
	if len(changes) == 0 {
		return
	}
	fmt.Fprintf(r.std.out, "  %s of the prices known before changed:\n", thousands(len(changes)))
	for _, c := range changes[:min(shown, len(changes))] {
		fmt.Fprintf(r.std.out, "  %s\n", printable(c.String(), ""))
	}
	if more := len(changes) - shown; more > 0 {
		fmt.Fprintf(r.std.out, "  and %s more; `preismon movers` ranks them\n", thousands(more))
	}
}
