package records

import (
	"io"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"preismon/contracts/plaintext"
)

const (
	measured = 200 // number of records that widths are determined from
	widest   = 44  // cells of Table are cut to this width
	longest  = 500 // runes of a text
)

// Table writes records for people: aligned columns, numbers to the right, null
// as –, fields named ...Money left out, and untrusted text without control
// characters. Columns are the fields of the first 200 records. A line has at
// most width cells, and a note at the end says what did not fit; 0: no limit.
func Table(w io.Writer, colours bool, width int) Writer {
	return newBuffered(w, func(w io.Writer) Writer {
		return &aligned{out: w, colours: colours, width: width, widest: widest, all: "a wider terminal, or --format csv, has all"}
	})
}

// List is Table for records that have no other form: only the terminal limits it.
func List(w io.Writer, colours bool, width int) Writer {
	return newBuffered(w, func(w io.Writer) Writer {
		return &aligned{out: w, colours: colours, width: width, widest: longest, all: "a wider terminal has all"}
	})
}

type aligned struct {
	out     io.Writer
	colours bool
	width   int
	widest  int       // of a cell
	all     string    // where to see what was cut
	held    [][]field // until the widths are known
	known   bool
	columns []column
	cut     bool     // a text was cut, for the width
	left    []string // columns left out, from the right
}

type column struct {
	name  string
	width int
	right bool // numbers
	whole bool // has only texts that are not cut
	empty bool // has no value
}

func (t *aligned) Write(record []byte) error {
	all, err := fieldsOf(slices.Clone(record))
	if err != nil {
		return err
	}
	if t.known {
		return t.line(all)
	}
	if t.held = append(t.held, all); len(t.held) >= measured {
		return t.begin()
	}
	return nil
}

func (t *aligned) Flush() error { return t.Close() }

func (t *aligned) Close() error {
	err := t.begin()
	note := t.note()
	if err != nil || note == "" {
		return err
	}
	t.cut, t.left = false, nil // reported once
	if t.colours {
		note = faint + note + plain
	}
	_, err = io.WriteString(t.out, note+"\n")
	return err
}

// begin determines columns and widths, and writes what was held back.
func (t *aligned) begin() error {
	if t.known {
		return nil
	}
	t.known = true
	for _, record := range t.held {
		after := -1
		for _, f := range record {
			if strings.HasSuffix(f.name, "Money") {
				continue
			}
			i := slices.IndexFunc(t.columns, func(c column) bool { return c.name == f.name })
			if i < 0 {
				i = after + 1 // where the record has it
				t.columns = slices.Insert(t.columns, i, column{f.name, uniseg.StringWidth(f.name), true, true, true})
			}
			after = i
			text, _ := t.shown(f)
			c := &t.columns[i]
			c.width = max(c.width, uniseg.StringWidth(text))
			c.right = c.right && (f.null() || f.value[0] == '-' || f.value[0] >= '0' && f.value[0] <= '9')
			c.whole = c.whole && (f.null() || whole(text))
			c.empty = c.empty && f.null()
		}
	}
	if len(t.columns) == 0 {
		return nil
	}
	t.fit()
	var header []field
	for _, c := range t.columns {
		header = append(header, field{name: c.name})
	}
	if err := t.row(header, func(f field) (string, string) { return f.name, bold }); err != nil {
		return err
	}
	for _, record := range t.held {
		if err := t.line(record); err != nil {
			return err
		}
	}
	t.held = nil
	return nil
}

func (t *aligned) line(record []field) error { return t.row(record, t.shown) }

func (t *aligned) row(record []field, shown func(field) (text, style string)) error {
	var b strings.Builder
	for i, c := range t.columns {
		text, style := "", ""
		if at := slices.IndexFunc(record, func(f field) bool { return f.name == c.name }); at >= 0 {
			text, style = shown(record[at])
		}
		if t.width > 0 && !c.right && !c.whole && uniseg.StringWidth(text) > c.width {
			text, t.cut = fitted(text, c.width), true
		}
		gap := strings.Repeat(" ", max(0, c.width-uniseg.StringWidth(text)))
		if style != "" && t.colours {
			text = style + text + plain
		}
		switch {
		case c.right:
			text = gap + text
		case i < len(t.columns)-1:
			text += gap
		}
		if i > 0 {
			b.WriteString("  ")
		}
		b.WriteString(text)
	}
	_, err := io.WriteString(t.out, strings.TrimRight(b.String(), " ")+"\n")
	return err
}

// ANSI styles.
const (
	bold   = "\x1b[1m"
	faint  = "\x1b[2m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// shown returns what people see of a value.
func (t *aligned) shown(f field) (text, style string) {
	text, ok := f.text()
	switch {
	case f.null():
		return "–", faint
	case !ok:
		text = string(f.value)
	case text == "UNAVAILABLE" || text == "PRODUCT_NOT_FOUND" || text == "NO_RESULT":
		return text, yellow
	case text == "UNKNOWN":
		return text, faint
	}
	return fitted(plaintext.Clean(text, longest), t.widest), ""
}
