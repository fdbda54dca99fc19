package maps

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"preismon/contracts/fault"
)

// unpackedBytes is the maximum unpacked size of one ZIP, workbook or Parquet
// file.
const unpackedBytes = 64 << 30

// packedRatio is by how many times a ZIP may grow at most, beyond packedFree: a
// text of prices compresses to about a tenth.
const (
	packedRatio = 200
	packedFree  = 64 << 20
)

// zipEntries is how many files a ZIP may hold at most.
const zipEntries = 10_000

// Source is a CSV file that an import can read.
type Source struct {
	Name string // for people: prices.zip/june.csv
	Path string // where it is
	Note string // what was left out of it; empty: nothing

	made bool // from rows in another format
}

// Mapping returns the mapping adapted to the source: what was not a CSV has
// been converted to one, in UTF-8 with commas.
func (s Source) Mapping(m *Mapping) *Mapping {
	if !s.made {
		return m
	}
	made := *m
	made.CSV = Form{Encoding: utf8Text, Delimiter: ",", Skip: m.CSV.Skip, Unpivot: m.CSV.Unpivot}
	return &made
}

// Readable reports, from a file's name, whether it may hold prices.
func Readable(name string) bool {
	return isCSV(name) || slices.Contains([]string{".xlsx", ".zip", ".parquet"}, strings.ToLower(filepath.Ext(name)))
}

// Sources returns the CSV files in a file: the file itself; each CSV in a ZIP;
// a sheet of a workbook (XLSX), the first with a table; the rows of a Parquet file.
// Unless the file itself is a CSV, they are written to folders of their own
// under dir, with the time of the file, and without holding them in memory.
// Errors are Invalid.
func Sources(file, dir string) ([]Source, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the file cannot be opened")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, unreadable(err)
	}
	if info.IsDir() {
		return nil, fault.New(fault.Invalid, "", "%s is a folder; name its files", info.Name())
	}
	magic := make([]byte, 4)
	if n, err := io.ReadFull(f, magic); err != nil {
		magic = magic[:n] // such a short file is no archive
	}
	to := &unpacking{dir: dir, name: info.Name(), at: info.ModTime(), left: unpackedBytes}
	switch {
	case bytes.Equal(magic, []byte("PK\x03\x04")):
		z, err := zip.NewReader(f, info.Size())
		if err != nil {
			return nil, unreadable(err)
		}
		if slices.ContainsFunc(z.File, func(e *zip.File) bool { return e.Name == "xl/workbook.xml" }) {
			return to.workbook(file, z)
		}
		to.left = min(to.left, info.Size()*packedRatio+packedFree)
		return to.archive(z)
	case bytes.Equal(magic, []byte("PAR1")):
		return to.parquet(f, info.Size())
	}
	return []Source{{Name: file, Path: file}}, nil
}

// unpacking extracts the CSV files of a file.
type unpacking struct {
	dir, name string
	at        time.Time
	left      int64 // bytes that may still be written
	files     int
}

// source creates the next CSV file, called base, with the output of write.
func (u *unpacking) source(name, base string, at time.Time, write func(io.Writer) error) (Source, error) {
	u.files++
	folder, err := os.MkdirTemp(u.dir, strconv.Itoa(u.files)+"-")
	if err != nil {
		return Source{}, err
	}
	s := Source{Name: name, Path: filepath.Join(folder, base)}
	f, err := os.OpenFile(s.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return Source{}, err
	}
	if err := errors.Join(write(&limited{f, &u.left}), f.Close()); err != nil {
		return Source{}, fault.Wrap(err, fault.Invalid, fmt.Sprintf("%s cannot be unpacked", name))
	}
	return s, os.Chtimes(s.Path, at, at)
}

// limited fails when more is written than allowed.
type limited struct {
	w    io.Writer
	left *int64
}

func (l *limited) Write(b []byte) (int, error) {
	if *l.left -= int64(len(b)); *l.left < 0 {
		return 0, errors.New("it becomes larger than any file of prices of its size; unpack it by hand if it is one")
	}
	return l.w.Write(b)
}

// archive returns each CSV in a ZIP. Names of folders in it are only used as
// names.
func (u *unpacking) archive(z *zip.Reader) ([]Source, error) {
	if len(z.File) > zipEntries {
		return nil, fault.New(fault.Invalid, "", "%s holds %d files, at most %d", u.name, len(z.File), zipEntries)
	}
	var all []Source
	var other []string
	for _, e := range z.File {
		base := path.Base(strings.ReplaceAll(e.Name, `\`, "/"))
		if e.FileInfo().IsDir() || strings.HasPrefix(base, ".") || strings.HasPrefix(e.Name, "__MACOSX/") {
			continue
		}
		if !isCSV(base) || notice.MatchString(base) {
			other = append(other, e.Name)
			continue
		}
		s, err := u.source(u.name+"/"+e.Name, base, e.Modified, func(w io.Writer) error {
			r, err := e.Open()
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.Copy(w, r)
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, fault.New(fault.Invalid, "", "%s holds no .csv, .tsv or .txt", u.name)
	}
	if len(other) > 0 {
		all[0].Note = fmt.Sprintf("not looked at in %s: %s", u.name, strings.Join(other, ", "))
	}
	return all, nil
}

// isCSV reports, from its name, whether a file may be a CSV.
func isCSV(name string) bool {
	name = strings.ToLower(name)
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	return slices.Contains([]string{".csv", ".tsv", ".txt"}, filepath.Ext(name))
}

// notice matches the name of a file in a ZIP that is about the others.
var notice = regexp.MustCompile(`(?i)^(read.?me.*|lies.?mich.*|licen[cs]e|lizenz)\.txt$`)
