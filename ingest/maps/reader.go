package maps

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"preismon/contracts/fault"
)

// maxRowBytes is the maximum size of one row. An unclosed quote would otherwise
// hold the rest of the file in memory.
const maxRowBytes = 16 << 20

var errLongRow = errors.New("row too long")

// input is an open file, positioned after its header.
type input struct {
	ctx      context.Context
	csv      *csv.Reader
	quotes   *quotes  // nil: they enclose fields
	guard    *counter // of the bytes of one row
	closers  []func()
	header   []string
	fields   int // of a row in the file
	cols     *Columns
	wide     wide
	comma    string
	rows     int
	progress func(Progress)
	state    Progress
	offset   int64
	used     int64    // of the bytes of the file as stored on disk
	raw      *counter // of those that were read, ahead of what is used
}

// counter counts the bytes that are read, and fails after too many.
type counter struct {
	r        io.Reader
	n, limit int64 // limit 0: none
}

func (c *counter) Read(p []byte) (int, error) {
	if c.limit > 0 && c.n > c.limit {
		return 0, errLongRow
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func unreadable(err error) error {
	return fault.Wrap(err, fault.Invalid, "the file cannot be read")
}

// open starts round number round, counted from 0, of a pass with that many
// rounds.
func (im *importer) open(ctx context.Context, pass, round, rounds int) (_ *input, err error) {
	f, err := os.Open(im.File)
	if err != nil {
		return nil, unreadable(err)
	}
	in := &input{ctx: ctx, raw: &counter{r: f}, progress: im.Progress, comma: im.Mapping.CSV.Delimiter}
	in.closers = append(in.closers, func() { _ = f.Close() })
	defer func() {
		if err != nil {
			in.close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, unreadable(err)
	}
	if info.IsDir() {
		return nil, fault.New(fault.Invalid, "", "%s is a folder, not a CSV file", info.Name())
	}
	in.state = Progress{Pass: pass, TotalBytes: info.Size() * int64(rounds)}
	in.offset = info.Size() * int64(round)

	plain, finish, err := unpacked(in.raw)
	if err != nil {
		return nil, err
	}
	in.closers = append(in.closers, finish)
	if plain, err = im.decoded(plain); err != nil {
		return nil, err
	}
	in.guard = &counter{r: plain, limit: maxRowBytes}
	br := bufio.NewReaderSize(in.guard, 256<<10)
	bom, err := br.Peek(3)
	switch {
	case bytes.Equal(bom, []byte("\xef\xbb\xbf")):
		_, _ = br.Discard(3)
	case bytes.HasPrefix(bom, []byte{0xff, 0xfe}), bytes.HasPrefix(bom, []byte{0xfe, 0xff}):
		return nil, fault.New(fault.Invalid, "", "the file is in UTF-16: say so by csv.encoding: utf-16")
	case err != nil && err != io.EOF:
		return nil, unreadable(err)
	}
	if im.Mapping.CSV.LazyQuotes {
		in.csv, in.quotes = quotedReader(br, in.comma)
	} else {
		in.csv = csv.NewReader(br)
	}
	in.csv.Comma, _ = utf8.DecodeRuneInString(in.comma)
	in.csv.ReuseRecord = true

	head, err := in.head(im.Mapping.CSV.Skip)
	switch {
	case err == io.EOF && im.Mapping.CSV.Skip > 0:
		return nil, fault.New(fault.Invalid, "", "the file has no header line after the %d that csv.skip leaves out", im.Mapping.CSV.Skip)
	case err == io.EOF:
		return nil, fault.New(fault.Invalid, "", "the file is empty: it has no header line")
	case err != nil:
		return nil, unreadable(err)
	}
	for _, h := range head {
		in.header = append(in.header, strings.Clone(strings.TrimSpace(h)))
	}
	in.fields = len(in.header)
	if in.quotes != nil {
		in.quotes.fields = in.fields
	}
	if in.wide, in.header, err = widen(im.Mapping.CSV.Unpivot, in.header); err != nil {
		return nil, err
	}
	in.cols, err = im.Mapping.find(in.header)
	return in, err
}

// head reads the header, the first row below so many lines.
func (in *input) head(skip int) ([]string, error) {
	in.csv.FieldsPerRecord = -1
	for {
		row, err := in.csv.Read()
		if bad, ok := errors.AsType[*csv.ParseError](err); ok && bad.Line <= skip {
			continue
		}
		if err != nil {
			return nil, err
		}
		if line, _ := in.csv.FieldPos(0); line <= skip || namesDelimiter(row, in.comma) {
			continue
		}
		in.csv.FieldsPerRecord = len(row)
		return row, nil
	}
}

// decoded returns the text of a file in UTF-8. A file that is in UTF-8 although
// the mapping says otherwise would be read without an error, and wrongly.
func (im *importer) decoded(plain io.Reader) (io.Reader, error) {
	name := im.Mapping.CSV.Encoding
	if name != windowsText && name != latinText {
		return decoded(plain, name)
	}
	const begin = 64 << 10
	br := bufio.NewReaderSize(plain, begin)
	text, _ := br.Peek(begin) // an error comes again
	if right, wrong := beyondASCII(text); right > wrong {
		return nil, fault.New(fault.Invalid, "", "the file is in UTF-8, and not in %s: say so by csv.encoding: %s", name, utf8Text)
	}
	return decoded(br, name)
}

// namesDelimiter reports whether a line before the header is one like sep=; for
// Excel.
func namesDelimiter(line []string, delimiter string) bool {
	name, mark, ok := strings.Cut(strings.Join(line, delimiter), "=")
	return ok && strings.EqualFold(name, "sep") && len(mark) == 1
}

func (in *input) close() {
	for _, c := range slices.Backward(in.closers) {
		c()
	}
}

// record is a row as it was read.
type record struct {
	cells []string   // overwritten by the next one
	line  int        // the physical line on which it begins
	bad   *rejection // why it is no row
}

// all yields the rows of the file, or those that it is split into. It ends after an
// error.
func (in *input) all() iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		give := func(rec record) bool {
			if in.rows%2048 == 0 {
				if err := in.ctx.Err(); err != nil {
					yield(record{}, err)
					return false
				}
				in.report()
			}
			in.rows++
			return yield(rec, nil)
		}
		some, used := in.ahead()
		for of := range some {
			in.used = of.read
			for _, l := range of.all {
				rec, err := in.record(l)
				switch {
				case err == io.EOF:
					return
				case err != nil:
					yield(record{}, err)
					return
				case rec.bad != nil:
					if !give(rec) {
						return
					}
					continue
				}
				for cells := range in.wide.split(rec.cells) {
					if !give(record{cells: cells, line: rec.line}) {
						return
					}
				}
			}
			used <- of
		}
	}
}

// record returns the row of a line of the file, or why it is none.
func (in *input) record(l line) (record, error) {
	cells, err := l.cells, l.err
	if err == nil {
		return record{cells: cells, line: l.number}, nil
	}
	if err == io.EOF {
		in.report()
		return record{}, io.EOF
	}
	bad, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		if errors.Is(err, errLongRow) {
			help := "csv.lazyQuotes may help"
			if in.quotes != nil {
				help = quoteOpen.help
			}
			return record{}, fault.New(fault.Invalid, "", "after %d rows one row has more than %d MiB; most likely a quotation mark there never ends (%s)", in.rows, maxRowBytes>>20, help)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("it ends early, as if cut off: %w", err)
		}
		return record{}, unreadable(err)
	}
	no := func(why *cause, format string, args ...any) (record, error) {
		return record{bad: reject(bad.StartLine, why, format, args...)}, nil
	}
	switch {
	case in.quotes != nil && errors.Is(err, csv.ErrQuote):
		return no(quoteOpen, "a quotation mark is not closed; lines %d to %d are lost", bad.StartLine, bad.Line)
	case errors.Is(err, csv.ErrFieldCount):
		rec, _ := no(fieldCount, "%d fields, but the header has %d", len(cells), in.fields)
		if more := strings.Count(strings.Join(cells, ""), "\n"); more > 0 {
			rec, _ = no(fieldCount, "%d fields, but the header has %d; the row goes on to line %d, so a quotation mark is probably not closed, and these lines are lost",
				len(cells), in.fields, bad.StartLine+more)
		}
		rec.bad.Text = excerpt(cells, in.comma)
		return rec, nil
	case bad.Line != bad.StartLine:
		return no(notCSV, "%s at line %d, column %d; lines %d to %d are lost", bad.Err, bad.Line, bad.Column, bad.StartLine, bad.Line)
	default:
		return no(notCSV, "%s at column %d", bad.Err, bad.Column)
	}
}

func (in *input) report() {
	if in.progress != nil {
		in.state.Bytes = in.offset + in.used
		in.progress(in.state)
	}
}

// find returns the columns with their places in the header.
func (m *Mapping) find(header []string) (*Columns, error) {
	var missing, twice []string
	at := func(name string) place {
		i := slices.Index(header, name)
		if i < 0 {
			missing = append(missing, name)
		} else if slices.Index(header[i+1:], name) >= 0 {
			twice = append(twice, name)
		}
		return place(i)
	}
	all := func(names []string) (places []place) {
		for _, name := range names {
			places = append(places, at(name))
		}
		return places
	}
	c := m.Columns
	for _, t := range c.texts() {
		t.at = all(t.names())
	}
	for _, e := range append(c.cells(), cell{"clock", c.CapturedAt.Clock, &c.CapturedAt.clock}) {
		*e.at = -1
		if e.column != "" {
			*e.at = at(e.column)
		}
	}
	c.distinguish = all(m.Distinguish)
	quoted := func(names []string) string { return list(slices.Compact(slices.Sorted(slices.Values(names)))) }
	switch {
	case len(missing) > 0:
		return nil, fault.New(fault.Invalid, "", "the file has no column %s; its columns are %s", quoted(missing), quoted(header))
	case len(twice) > 0:
		return nil, fault.New(fault.Invalid, "", "the file has the column %s more than once: rename all but one in its header", quoted(twice))
	}
	return &c, nil
}

// excerpt returns the row as text, shortened if it is long.
func excerpt(rec []string, comma string) string {
	const limit = 240
	var b strings.Builder
	for i, s := range rec {
		if i > 0 {
			b.WriteString(comma)
		}
		b.WriteString(s)
		if b.Len() > limit {
			break
		}
	}
	return cut(strings.ToValidUTF8(b.String(), "?"), limit)
}

// cut shortens a text to at most limit bytes without splitting a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
