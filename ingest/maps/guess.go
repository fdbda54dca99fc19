package maps

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Guess is what a file looks like to a reader who has no mapping for it.
type Guess struct {
	Text    []byte   // the mapping file (YAML), ready to be refined
	Mapping *Mapping // the same, parsed
	Doubts  []string // what was assumed, a sentence each, with the setting that changes it
	Rows    []Shown  // the first rows as the mapping understands them
}

// Shown is a row as a mapping understands it.
type Shown struct {
	Line                               int
	Site, Product, CapturedAt          string // CapturedAt in RFC 3339
	Price, Currency, Outcome, Merchant string // Price empty: none
	Reject                             string // why the row would be rejected; empty: it would not
}

// How much of a file is looked at.
const (
	guessBytes = 1 << 20
	guessRows  = 2000
	guessShown = 5
)

// GuessMapping reads the beginning of a CSV file and writes a mapping for it:
// encoding, delimiter, columns by their names and else by what stands in them,
// forms of amounts and times. What it cannot know it assumes, and says so in
// Doubts. Errors are Invalid, and name what is missing and how to say it.
func GuessMapping(file string, now time.Time) (*Guess, error) {
	s, err := sampleOf(file)
	if err != nil {
		return nil, err
	}
	g := &guesser{sample: s, file: file, label: Series(file), columns: map[string]int{}}
	g.findColumns()
	text, err := g.write()
	if err != nil {
		return nil, err
	}
	m, err := ParseMapping(text)
	if err != nil {
		return nil, err
	}
	rows, err := preview(file, m, s, now)
	return &Guess{Text: text, Mapping: m, Doubts: g.doubts, Rows: rows}, err
}

// Preview gives the first rows of a file as a mapping understands them.
func Preview(file string, m *Mapping, now time.Time) ([]Shown, error) {
	s, err := sampleOf(file)
	if err != nil {
		return nil, err
	}
	return preview(file, m, s, now)
}

func sampleOf(file string) (*sample, error) {
	begin, err := beginning(file)
	if err != nil {
		return nil, err
	}
	return takeSample(begin)
}

// beginning gives the first bytes of a file, decompressed.
func beginning(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	plain, finish, err := unpacked(f)
	if err != nil {
		return nil, err
	}
	defer finish()
	b, err := io.ReadAll(io.LimitReader(plain, guessBytes))
	if err != nil {
		return nil, unreadable(err)
	}
	return b, nil
}

// sample is the beginning of a file, as records.
type sample struct {
	encoding, delimiter string
	lazy                bool // quotation marks stand inside fields
	header              []string
	rows                [][]string
	lines               []int
}

// takeSample finds the encoding, and the delimiter by which the most lines have as
// many fields as the header.
func takeSample(begin []byte) (*sample, error) {
	s := &sample{encoding: encodingOf(begin)}
	whole := len(begin) < guessBytes
	r, err := decoded(bytes.NewReader(begin), s.encoding)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(r)
	if err != nil && whole {
		return nil, unreadable(err)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if !whole { // the last line is cut
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	best := 0
	for _, delimiter := range []string{",", ";", "\t", "|"} {
		header, rows, lines := records(text, delimiter)
		score := 0
		for _, row := range rows {
			if len(row) == len(header) {
				score += len(header) - 1
			}
		}
		if len(rows) == 0 {
			score = len(header) - 1 // a header alone
		}
		if score > best {
			best, s.delimiter, s.header, s.rows, s.lines = score, delimiter, header, rows, lines
		}
	}
	switch {
	case best == 0:
		return nil, fault.New(fault.Invalid, "", "the file does not look like a CSV: no line has several fields, whether parted by comma, semicolon, tab or |")
	case len(s.rows) == 0:
		return nil, fault.New(fault.Invalid, "", "the file has a header and no rows")
	}
	s.lazy = strayQuotes(text, s.delimiter)
	return s, nil
}

// strayQuotes tells whether a text has quotation marks that do not enclose
// fields, among the rows of a sample.
func strayQuotes(text []byte, delimiter string) bool {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma = rune(delimiter[0])
	r.FieldsPerRecord = -1
	for range guessRows + 1 {
		if _, err := r.Read(); err != nil {
			return errors.Is(err, csv.ErrBareQuote) || errors.Is(err, csv.ErrQuote)
		}
	}
	return false
}

// records reads a text by a delimiter, at most guessRows rows of it.
func records(text []byte, delimiter string) (header []string, rows [][]string, lines []int) {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma = rune(delimiter[0])
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	for len(rows) < guessRows {
		rec, err := r.Read()
		if err != nil {
			break
		}
		if header == nil {
			for _, h := range rec {
				header = append(header, strings.TrimSpace(h))
			}
			continue
		}
		line, _ := r.FieldPos(0)
		rows, lines = append(rows, rec), append(lines, line)
	}
	return header, rows, lines
}

// values gives what stands in a column, without blanks and empty fields, each once.
func (s *sample) values(column int) []string {
	var all []string
	seen := map[string]bool{}
	for _, row := range s.rows {
		if column >= len(row) {
			continue
		}
		if v := strings.TrimSpace(row[column]); v != "" && !seen[v] {
			seen[v] = true
			all = append(all, v)
		}
	}
	return all
}

// share is the part of texts for which ok holds; of none, 0.
func share(texts []string, ok func(string) bool) float64 {
	if len(texts) == 0 {
		return 0
	}
	n := 0
	for _, s := range texts {
		if ok(s) {
			n++
		}
	}
	return float64(n) / float64(len(texts))
}

// preview reads the first rows as an import would.
func preview(file string, m *Mapping, s *sample, now time.Time) ([]Shown, error) {
	cols, err := m.find(s.header)
	if err != nil {
		return nil, err
	}
	b := newBook(m, now, nil)
	if b.at, err = m.Columns.CapturedAt.ofFile(file); err != nil {
		return nil, err
	}
	var all []Shown
	for i, rec := range s.rows {
		if len(all) == guessShown {
			break
		}
		if len(rec) != len(s.header) {
			continue
		}
		all = append(all, b.show(cols, rec, s.lines[i]))
	}
	return all, nil
}

func (b *book) show(cols *columnIndex, rec []string, line int) Shown {
	var r row
	if bad := b.parse(cols, rec, line, &r); bad != nil {
		return Shown{Line: line, Reject: bad.Reason}
	}
	shown := Shown{
		Line: line, Site: string(r.product.site.Site.Site), Product: first(r.name, r.product.item.EAN, r.product.key),
		CapturedAt: time.UnixMilli(r.ms).UTC().Format(time.RFC3339), Merchant: r.merchant,
		Outcome: []string{offered: "available", unavailable: "unavailable", unknown: "unknown"}[r.state],
	}
	if r.price >= 0 {
		shown.Price, shown.Currency = shift(itoa(r.price), r.currency.Digits()), string(r.currency)
	}
	return shown
}

// slug is a text as a site's key may be written; empty: there is nothing left.
func slug(s string) string {
	fields := strings.FieldsFunc(folded(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-'
	})
	if key := cut(strings.Join(fields, "-"), 64); contracts.SiteKey(key).Valid() {
		return key
	}
	return ""
}
