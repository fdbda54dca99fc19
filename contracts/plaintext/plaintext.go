// Package plaintext makes untrusted text fit to be shown: names that clients
// choose for themselves, titles read from shops. Nothing in its result is
// invisible, changes the direction of other text, or controls a terminal. It
// does not escape: that depends on where the text goes.
package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// dropped are the characters that Clean removes, in addition to controls:
// invisible format characters (zero-width, bidirectional, tags), fillers without
// a glyph, the variation selectors that can carry hidden bytes, and
// noncharacters.
var dropped = []*unicode.RangeTable{
	unicode.Cf,
	unicode.Other_Default_Ignorable_Code_Point,
	unicode.Noncharacter_Code_Point,
	{R32: []unicode.Range32{{Lo: 0xE0100, Hi: 0xE01EF, Stride: 1}}},
}

const ellipsis = '…'

// Clean returns s without controls, bidirectional and zero-width characters,
// tags and invalid UTF-8, at most max runes long. Tabs and line ends become
// spaces, spaces at both ends are removed, and a text that was cut ends in "…".
func Clean(s string, max int) string {
	if max <= 0 {
		return ""
	}
	var b strings.Builder
	b.Grow(min(len(s), min(len(s), max)*utf8.UTFMax))
	var last rune // not written yet
	for n, rest := 0, strings.TrimSpace(s); rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
		if r == utf8.RuneError && size == 1 {
			continue
		}
		if r = visible(r); r == 0 || n == 0 && unicode.IsSpace(r) {
			continue
		}
		if n == max {
			last = ellipsis
			break
		}
		if n > 0 {
			b.WriteRune(last)
		}
		last = r
		n++
	}
	if last != 0 {
		b.WriteRune(last)
	}
	return strings.TrimRightFunc(b.String(), unicode.IsSpace)
}

// visible returns the rune to show, or 0 for none.
func visible(r rune) rune {
	switch {
	case ' ' <= r && r <= '~':
		return r
	case r == '\t', r == '\n', r == '\v', r == '\f', r == '\r', r == '\u0085', r == '\u2028', r == '\u2029':
		return ' '
	case unicode.IsControl(r), unicode.In(r, dropped...) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return 0
	}
	return r
}
