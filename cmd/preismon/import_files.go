package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"preismon/ingest/maps"
)

// importFile is a CSV to import, with the labels that distinguish its rejected
// rows and its orders from those of other files. Files of one kind, whose names
// differ only by a time, share their orders.
type importFile struct {
	maps.Source
	label  string // its own
	orders string // that of its orders
}

// sources returns the CSV files of everything that is named: of patterns, of
// standard input, and of the contents of workbooks and archives.
func (r *importRun) sources(ctx context.Context) ([]importFile, error) {
	var all []importFile
	seen := map[string]bool{}
	for _, name := range r.Files {
		names := []string{name}
		if name == "-" {
			saved, err := r.stdin(ctx)
			if err != nil {
				return nil, err
			}
			names = []string{saved}
		} else if _, err := os.Stat(name); err != nil && strings.ContainsAny(name, "*?[") {
			if names, err = filepath.Glob(name); err != nil {
				return nil, fmt.Errorf("file: %q: %w", name, err)
			}
			if len(names) == 0 {
				return nil, fmt.Errorf("no file matches %q", name)
			}
		}
		for _, n := range names {
			if seen[filepath.Clean(n)] {
				continue
			}
			seen[filepath.Clean(n)] = true
			files, err := r.filesOf(n, r.dir)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", n, err)
			}
			all = append(all, files...)
		}
	}
	return labelled(all, r.Label, false), nil
}

// filesOf returns the CSV files of one file. What is unpacked goes into dir.
func (r *importRun) filesOf(name, dir string) ([]importFile, error) {
	sources, err := maps.Sources(name, dir)
	if err != nil {
		return nil, err
	}
	files := make([]importFile, len(sources))
	for i, s := range sources {
		files[i] = importFile{Source: s, label: maps.Label(s.Path), orders: maps.Series(s.Path)}
		if len(sources) > 1 {
			files[i].label = maps.Label(name) + "/" + files[i].label
			files[i].orders = maps.Series(name) + "/" + files[i].orders
		}
		if s.Note != "" {
			fmt.Fprintf(r.std.err, "%s\n", s.Note)
		}
	}
	return files, nil
}

// labelled adds the label of the flag to the labels of files: it replaces those
// of a single file, but that of its rejected rows only if there are no others
// beside it, and is otherwise put before them. Two files with the same name in
// two folders are distinguished by their paths.
func labelled(files []importFile, label string, others bool) []importFile {
	if label != "" && len(files) == 1 {
		f := &files[0]
		if f.orders = label; others {
			label += "/" + f.label
		}
		f.label = label
		return files
	}
	taken := map[string]bool{}
	for i := range files {
		f := &files[i]
		if label != "" {
			f.label, f.orders = label+"/"+f.label, label+"/"+f.orders
		}
		if taken[f.label] {
			f.label = filepath.ToSlash(filepath.Clean(f.Name))
			f.orders = f.label
		}
		taken[f.label] = true
	}
	return files
}

// stdin saves standard input, which can be read only one time. The file has the
// time 1970-01-01, because standard input has none of its own.
func (r *importRun) stdin(ctx context.Context) (string, error) {
	if isTerminal(r.std.in) {
		return "", errors.New("standard input is a terminal; pipe a file into it")
	}
	f, err := os.Create(filepath.Join(r.dir, "stdin.csv"))
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, interruptible(ctx, r.std.in))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("standard input: %w", err)
	}
	return f.Name(), os.Chtimes(f.Name(), time.Unix(0, 0), time.Unix(0, 0))
}

// rejectsOf returns the file for the rejected rows of a file.
func rejectsOf(name, label string, several bool) *lazyFile {
	if several && !isDevice(name) {
		ext := filepath.Ext(name)
		name = strings.TrimSuffix(name, ext) + "-" + strings.NewReplacer("/", "-", `\`, "-", "..", "").Replace(label) + ext
	}
	return &lazyFile{name: name}
}
