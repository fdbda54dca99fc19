package records

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

const (
	narrowest = 12 // a text is not cut to less if columns can be left out instead
	between   = 2  // spaces between columns
)

// fit makes all columns together no wider than the terminal: first it leaves out
// columns without any value, then columns from the right, until the rest can be
// made narrow enough, then it narrows the widest texts. One column is always
// kept.
func (t *aligned) fit() {
	if t.width <= 0 {
		return
	}
	for i := len(t.columns) - 1; i >= 0 && t.total() > t.width && len(t.columns) > 1; i-- {
		if t.columns[i].empty {
			t.leaveOut(i)
		}
	}
	for t.least() > t.width && len(t.columns) > 1 {
		t.leaveOut(len(t.columns) - 1)
	}
	for over := t.total() - t.width; over > 0; over-- {
		widest := -1
		for i, c := range t.columns {
			if c.narrows() && (widest < 0 || c.width > t.columns[widest].width) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		t.columns[widest].width--
		t.cut = true
	}
}

func (t *aligned) total() int {
	total := between * (len(t.columns) - 1)
	for _, c := range t.columns {
		total += c.width
	}
	return total
}

// least returns the width of all columns if every text is as narrow as allowed.
func (t *aligned) least() int {
	total := t.total()
	for _, c := range t.columns {
		if c.narrows() {
			total -= c.width - narrowest
		}
	}
	return total
}

// narrows reports whether texts of a column may be cut.
func (c *column) narrows() bool { return !c.right && !c.whole && c.width > narrowest }

func (t *aligned) leaveOut(i int) {
	t.left = append(t.left, t.columns[i].name)
	t.columns = slices.Delete(t.columns, i, i+1)
}

// note says what did not fit the terminal.
func (t *aligned) note() string {
	var said []string
	if t.cut {
		said = append(said, "texts that end in … are cut")
	}
	if len(t.left) > 0 {
		slices.Reverse(t.left)
		said = append(said, "no room for "+strings.Join(t.left, ", "))
	}
	if len(said) == 0 {
		return ""
	}
	return fmt.Sprintf("(%s: %s)", strings.Join(said, "; "), t.all)
}

// whole reports whether a text is useless when cut: an id.
func whole(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// fitted cuts a text to a width.
func fitted(text string, limit int) string {
	if uniseg.StringWidth(text) <= limit {
		return text
	}
	var b strings.Builder
	width := 0
	for g := uniseg.NewGraphemes(text); g.Next() && width+g.Width() < limit; {
		b.WriteString(g.Str())
		width += g.Width()
	}
	return b.String() + "…"
}
