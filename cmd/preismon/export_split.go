package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"preismon/cmd/preismon/client"
	"preismon/query"
)

// splitState is what the folder of an export by days records about itself. It is
// written last for each day.
type splitState struct {
	Query  string              `json:"query"`           // what the folder holds
	Token  string              `json:"token,omitempty"` // of the last run that completed
	Days   map[string]splitDay `json:"days"`            // by the date of the day
	folder string
	lock   *flock.Flock // one export at a time writes the folder
}

type splitDay struct {
	Rows   int64  `json:"rows"`
	Digest string `json:"digest"`
}

const (
	splitStateName = ".preismon-export.json"
	splitLockName  = ".preismon-export.lock"
)

// split writes a folder with a file for each day; a later run only reads the
// days whose rows have changed since.
func (c *exportCmd) split(ctx context.Context, std streams, log *slog.Logger, r *remote) error {
	state, err := c.openSplit()
	if err != nil {
		return err
	}
	defer state.close()
	found, err := r.Windows(ctx, state.Token, c.windows())
	if client.Restart(err) {
		fmt.Fprintf(std.err, "%s\nComparing all days.\n", r.explain(err))
		found, err = r.Windows(ctx, "", c.windows())
	}
	if err != nil {
		return r.explain(err)
	}
	read, rows := 0, int64(0)
	for _, w := range found.Data {
		day := w.CapturedFrom[:len("2026-03-01")]
		had, known := state.Days[day]
		if had.Digest == w.Digest || w.Rows == 0 && !known {
			continue
		}
		n, err := c.day(ctx, std, log, r, state.file(day, c.Format), w)
		if err == nil && n < w.Rows { // not recorded, so that the next run reads it again
			err = fmt.Errorf("%d of %s: the server's tables are behind those that were counted", n, plural(w.Rows, "row"))
		}
		if err != nil {
			next := "; run the command again for the others"
			if client.Invalid(err) { // which another try cannot help
				next = ""
			}
			return fmt.Errorf("day %s: %w\nComplete before it: %s%s", day, err, plural(read, "day"), next)
		}
		state.Days[day] = splitDay{n, w.Digest}
		if err := state.keep(); err != nil {
			return err
		}
		fmt.Fprintf(std.err, "%s  %s\n", day, plural(n, "row"))
		read++
		rows += n
	}
	state.Token = found.Query.Token
	if err := state.keep(); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "%d of %s read, %s; %s holds %s.\n", read, plural(found.Query.Windows, "day"), plural(rows, "row"), c.Output, plural(state.rows(), "row"))
	return nil
}

// day writes the rows of one window; without any there is no file, and without a
// file no folder. Parts that earlier runs left are removed.
func (c *exportCmd) day(ctx context.Context, std streams, log *slog.Logger, r *remote, name string, w client.CountedWindow) (int64, error) {
	if err := removeParts(name); err != nil {
		return 0, err
	}
	defer os.Remove(filepath.Dir(name)) //nolint:errcheck // it stays if it holds a file
	if w.Rows == 0 {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
		return 0, nil
	}
	params := c.params()
	params.Set("capturedFrom", w.CapturedFrom)
	params.Set("capturedTo", w.CapturedTo)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return 0, err
	}
	return c.toFile(ctx, std, log, r, params, name)
}

// removeParts removes the parts of a file.
func removeParts(name string) error {
	there, err := os.ReadDir(filepath.Dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range there {
		if strings.HasPrefix(strings.TrimPrefix(e.Name(), "."), filepath.Base(name)+".") && strings.HasSuffix(e.Name(), partEnding) {
			err = errors.Join(err, os.Remove(filepath.Join(filepath.Dir(name), e.Name())))
		}
	}
	return err
}

// windows returns the parameters that determine the rows of the days. Field
// groups and order do not affect which rows there are.
func (c *exportCmd) windows() url.Values {
	p := c.params()
	for _, name := range slices.Concat([]string{"globalScope", "sort"}, slices.Collect(maps.Values(includes))) {
		p.Del(name)
	}
	p.Set("bucket", c.Split)
	return p
}

// openSplit returns the state of the folder, which must hold this very export
// and which no other run may write until close is called.
func (c *exportCmd) openSplit() (*splitState, error) {
	if err := c.checkSplit(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Output, 0o755); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(c.Output, splitLockName))
	held, err := lock.TryLock()
	if err != nil {
		return nil, err
	}
	if !held {
		return nil, fmt.Errorf("another export is writing %s; run the command again when it has ended", c.Output)
	}
	state, err := c.readSplit()
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	state.lock = lock
	return state, nil
}

// checkSplit refuses flags that do not go with days in a folder.
func (c *exportCmd) checkSplit() error {
	if c.Output == "-" {
		return faulty(errors.New("split: name a folder with --output"))
	}
	given := c.params()
	for _, p := range query.ResultsParameters {
		if p.FeedsRefuse() && given.Has(p.Name) {
			return faulty(fmt.Errorf("%s: cannot be combined with --split, because nobody can say which days it changes; leave it out, and filter the rows yourself", dashed(p.Name)))
		}
	}
	return nil
}

// readSplit reads the state that the folder records; without one it is empty.
func (c *exportCmd) readSplit() (*splitState, error) {
	query := c.params()
	query.Set("format", c.Format)
	state := &splitState{Query: query.Encode(), Days: map[string]splitDay{}, folder: c.Output}
	name := filepath.Join(c.Output, splitStateName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return state, nil
	}
	if err != nil {
		return nil, err
	}
	kept := splitState{folder: c.Output}
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if kept.Query != state.Query {
		return nil, faulty(fmt.Errorf("output: %s holds another export (%s); name another folder, or give the same flags", c.Output, kept.Query))
	}
	return &kept, nil
}

// close lets other runs write the folder.
func (s *splitState) close() { _ = s.lock.Close() }

// file returns the file of a day. Readers of partitioned folders take the day
// from the name of its folder.
func (s *splitState) file(day, format string) string {
	return filepath.Join(s.folder, "day="+day, "rows."+format)
}

func (s *splitState) rows() (n int64) {
	for _, day := range s.Days {
		n += day.Rows
	}
	return n
}

// keep writes the state, completely or not at all.
func (s *splitState) keep() error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = save(bytes.NewReader(append(text, '\n')), filepath.Join(s.folder, splitStateName))
	return err
}
