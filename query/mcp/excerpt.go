package mcp

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"preismon/query"
	"preismon/query/wire"
)

// Bounds of an excerpt: of the JSON of its lines (about 4,500 tokens), of one
// line, and of a file that must be unpacked.
const (
	excerptBytes = 12 << 10
	excerptRunes = 2_000
	excerptFile  = 32 << 20
)

// excerpt is lines of a file: lines of a text unchanged, rows of the first
// sheet of a workbook as CSV, or the names and sizes in a ZIP file.
type excerpt struct {
	Rows   *int     `json:"rows"`   // lines of the file after the header; null: it has no lines
	From   int      `json:"from"`   // the first line here, counted from 1, which is the header; 0: none
	To     int      `json:"to"`     // the last one
	Header string   `json:"header"` // line 1
	Lines  []string `json:"lines"`  // without the header

	cut  bool // a line is truncated
	size int
}

// whole reports whether no part of the file's lines is missing.
func (e *excerpt) whole() bool {
	return e.Rows != nil && len(e.Lines) == *e.Rows && !e.cut
}

func (e *excerpt) reason() *reason {
	if e.whole() {
		return nil
	}
	why := moreContent
	return &why
}

// excerptOf reads lines of a file. It ends early when it is large enough, but
// has at least one line.
func excerptOf(ctx context.Context, s *query.Service, d *query.Download, part wire.FilePart) (*excerpt, error) {
	e, line := &excerpt{Lines: []string{}}, 0
	err := linesOf(ctx, s, d, func(text string, cut bool) {
		line++
		e.take(line, part, text, cut)
	})
	switch {
	case errors.Is(err, errNoLines):
		return &excerpt{Lines: []string{}}, nil
	case err != nil:
		return nil, err
	}
	rows := max(0, line-1)
	e.Rows = &rows
	return e, nil
}

// take keeps a line that was requested and fits.
func (e *excerpt) take(line int, part wire.FilePart, text string, cut bool) {
	switch {
	case line == 1:
		e.Header = text
		e.cut = cut
		return
	case line < part.From || line > part.To || e.size < 0:
		return
	}
	size := len(marshal(text)) + len(",")
	if len(e.Lines) > 0 && e.size+size > excerptBytes {
		e.size = -1 // and no line after this one
		return
	}
	if len(e.Lines) == 0 {
		e.From = line
	}
	e.To, e.size, e.cut = line, e.size+size, e.cut || cut
	e.Lines = append(e.Lines, text)
}

var errNoLines = errors.New("the file has no lines")

// linesOf passes the lines of a file to take, in order, truncating long ones.
func linesOf(ctx context.Context, s *query.Service, d *query.Download, take func(text string, cut bool)) error {
	kind := strings.ToLower(path.Ext(d.Filename))
	if kind != ".xlsx" && kind != ".zip" {
		content, err := d.Open(ctx, 0)
		if err != nil {
			return err
		}
		defer content.Close() //nolint:errcheck // it was read to its end
		return textLines(content, take)
	}
	if d.SizeBytes > excerptFile {
		return errNoLines
	}
	giveBack, err := s.Charge(ctx, d.SizeBytes+sheetBytes)
	if err != nil {
		return err
	}
	defer giveBack()
	content, err := d.Content(ctx)
	if err != nil {
		return err
	}
	z, err := zip.NewReader(bytes.NewReader(content), d.SizeBytes)
	if err != nil {
		return textLines(bytes.NewReader(content), take) // it is not what its name suggests
	}
	if kind == ".xlsx" {
		return sheetLines(ctx, z, take)
	}
	take("name,sizeBytes", false)
	for _, f := range z.File {
		take(cutLine(csvLine([]string{oneLine(f.Name), fmt.Sprint(f.UncompressedSize64)})))
	}
	return nil
}

// textLines splits a UTF-8 text at its line ends.
func textLines(content io.Reader, take func(string, bool)) error {
	r := bufio.NewReaderSize(transform.NewReader(content, encoding.UTF8Validator), 4*excerptRunes+len("\r\n"))
	for first := true; ; first = false {
		piece, err := r.ReadSlice('\n')
		text := strings.TrimRight(string(piece), "\r\n")
		if first {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
		switch {
		case errors.Is(err, encoding.ErrInvalidUTF8):
			return errNoLines
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		if err == nil || text != "" {
			short, cut := cutLine(text)
			take(short, cut || long)
		}
		if err != nil {
			return nil //nolint:nilerr // the end
		}
	}
}

// cutLine bounds a line; a truncated one ends in an ellipsis.
func cutLine(text string) (short string, cut bool) {
	if utf8.RuneCountInString(text) <= excerptRunes {
		return text, false
	}
	runes := []rune(text)[:excerptRunes-1]
	return string(runes) + "…", true
}
