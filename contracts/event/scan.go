package event

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"preismon/contracts"
)

// maxDepth bounds nesting, unknown fields included.
const maxDepth = 64

// scanner reads one JSON text in one pass. It exists beside encoding/json for
// speed, and for what a contract must settle and encoding/json leaves open:
// names are matched exactly, a known name given twice is an error, null is
// the same as absent, and faults are named with their path.
//
// The first fault stays in err; every method after it returns a zero value.
type scanner struct {
	s      string
	i      int
	depth  int
	clone  bool // copy strings, so that a long-lived one does not hold the text
	err    error
	path   string // of the fault
	broken bool   // the fault is that the text is no JSON

	unescaped strings.Builder // of all strings with escapes, one after the other
}

// failf notes a fault of the value that is being read.
func (p *scanner) failf(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// syntax notes that the text is no JSON here.
func (p *scanner) syntax() {
	if p.err != nil {
		return
	}
	p.broken = true
	if p.i >= len(p.s) {
		p.err = errors.New("the text ends too early")
		return
	}
	r, _ := utf8.DecodeRuneInString(p.s[p.i:])
	p.err = fmt.Errorf("unexpected %q at byte %d", r, p.i)
}

// fault gives the first fault, nil without one.
func (p *scanner) fault() error {
	switch {
	case p.err == nil:
		return nil
	case p.broken:
		return fmt.Errorf("not an event: %w", p.err)
	case p.path == "":
		return p.err
	}
	return fmt.Errorf("%s: %w", strings.TrimPrefix(p.path, "."), p.err)
}

// space skips blanks.
func (p *scanner) space() {
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return
		}
	}
}

// next gives the first byte of the next token, 0 at the end.
func (p *scanner) next() byte {
	p.space()
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

// literal takes the word when it stands here.
func (p *scanner) literal(word string) bool {
	if p.next(); p.err == nil && strings.HasPrefix(p.s[p.i:], word) {
		p.i += len(word)
		return true
	}
	return false
}

func (p *scanner) enter() {
	if p.depth++; p.depth > maxDepth {
		p.failf("nested deeper than %d", maxDepth)
	}
}

// object reads an object and calls field for each of the names that has a
// value other than null; field must read it. Other names are skipped.
func (p *scanner) object(names []string, field func(name string)) {
	if p.next() != '{' {
		p.failf("not an object")
		return
	}
	var given uint64
	hint := 0 // names mostly come in our order
	p.members(func(key string) {
		for n := range names {
			at := hint + n
			if at >= len(names) {
				at -= len(names)
			}
			if names[at] != key {
				continue
			}
			if given&(1<<at) != 0 {
				p.failf("given twice")
				return
			}
			given |= 1 << at
			hint = at + 1
			if !p.literal("null") {
				field(names[at])
			}
			return
		}
		p.skip()
	})
}

// members reads an object, whose brace is next, and calls value for each key.
func (p *scanner) members(value func(key string)) {
	p.i++
	p.enter()
	if p.next() == '}' {
		p.i++
		p.depth--
		return
	}
	for p.err == nil {
		if p.next() != '"' {
			p.syntax()
			return
		}
		key := p.quoted()
		if p.next() != ':' {
			p.syntax()
			return
		}
		p.i++
		if p.err != nil {
			return
		}
		if value(key); p.err != nil {
			p.path = "." + clip(key) + p.path
			return
		}
		switch p.next() {
		case ',':
			p.i++
		case '}':
			p.i++
			p.depth--
			return
		default:
			p.syntax()
		}
	}
}

// array reads an array and calls value for each of its values.
func (p *scanner) array(value func()) {
	if p.next() != '[' {
		p.failf("not an array")
		return
	}
	p.i++
	p.enter()
	if p.next() == ']' {
		p.i++
		p.depth--
		return
	}
	for n := 0; p.err == nil; n++ {
		if value(); p.err != nil {
			p.path = "[" + strconv.Itoa(n) + "]" + p.path
			return
		}
		switch p.next() {
		case ',':
			p.i++
		case ']':
			p.i++
			p.depth--
			return
		default:
			p.syntax()
		}
	}
}

// text reads a string.
func (p *scanner) text() string {
	if p.next() != '"' {
		p.failf("not a string")
		return ""
	}
	s := p.quoted()
	if p.clone {
		return strings.Clone(s)
	}
	return s
}

// quoted reads a string, whose quote is next.
func (p *scanner) quoted() string {
	s, from := p.s, p.i+1
	for i := special(s, from); i < len(s); i = special(s, i+1) {
		switch c := s[i]; {
		case c == '"':
			p.i = i + 1
			return s[from:i]
		case c == '\\':
			return p.escaped(from, i)
		case c < ' ':
			p.i = i
			p.syntax()
			return ""
		}
	}
	p.i = len(s)
	p.syntax()
	return ""
}

// escaped reads the rest of a string from its first backslash on.
func (p *scanner) escaped(from, at int) string {
	b := &p.unescaped
	if b.Len() == 0 {
		b.Grow(max(len(p.s)/8, at-from+32))
	}
	start := b.Len()
	b.WriteString(p.s[from:at])
	for p.i = at; p.i < len(p.s); {
		c := p.s[p.i]
		switch {
		case c == '"':
			p.i++
			return b.String()[start:]
		case c < ' ':
			p.syntax()
			return ""
		case c != '\\':
			plain := special(p.s, p.i+1)
			b.WriteString(p.s[p.i:plain])
			p.i = plain
			continue
		}
		p.i++
		if p.i >= len(p.s) {
			break
		}
		const names, values = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
		if p.s[p.i] == 'u' {
			r := p.unicode()
			if utf16.IsSurrogate(r) && strings.HasPrefix(p.s[p.i:], `\u`) {
				before := p.i
				p.i++
				if r = utf16.DecodeRune(r, p.unicode()); r == utf8.RuneError {
					p.i = before // the second stands for itself
				}
			}
			if p.err != nil {
				return ""
			}
			b.WriteRune(r) // half a pair becomes U+FFFD
			continue
		}
		n := strings.IndexByte(names, p.s[p.i])
		if n < 0 {
			p.syntax()
			return ""
		}
		b.WriteByte(values[n])
		p.i++
	}
	p.syntax()
	return ""
}

// unicode reads uXXXX.
func (p *scanner) unicode() rune {
	if p.i+5 > len(p.s) {
		p.i = len(p.s)
		p.syntax()
		return 0
	}
	n, err := strconv.ParseUint(p.s[p.i+1:p.i+5], 16, 16)
	if err != nil {
		p.syntax()
		return 0
	}
	p.i += 5
	return rune(n)
}

// number gives the digits of a number as they stand; empty: there is none.
func (p *scanner) number() string {
	p.next()
	from, i, s := p.i, p.i, p.s
	digits := func() bool {
		start := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > start
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		return ""
	}
	if i < len(s) && s[i] == '.' {
		if i++; !digits() {
			return ""
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return ""
		}
	}
	p.i = i
	return s[from:i]
}

// integer reads a number without fraction and exponent.
func (p *scanner) integer() int64 {
	n, err := strconv.ParseInt(p.number(), 10, 64)
	if err != nil {
		p.failf("not an integer of 64 bits")
	}
	return n
}

func (p *scanner) boolean() bool {
	switch {
	case p.literal("true"):
		return true
	case !p.literal("false"):
		p.failf("neither true nor false")
	}
	return false
}

// time reads an instant in RFC 3339, and gives it in UTC.
func (p *scanner) time() (t time.Time) {
	s := p.text()
	if p.err == nil && (!contracts.IsRFC3339(s) || t.UnmarshalText([]byte(s)) != nil) {
		p.failf("%q is not a time like 2026-01-31T12:00:00Z", clip(s))
	}
	return t.UTC()
}

// skip reads any value.
func (p *scanner) skip() {
	switch p.next() {
	case '{':
		p.members(func(string) { p.skip() })
	case '[':
		p.array(p.skip)
	case '"':
		p.quoted()
	case 't', 'f', 'n':
		if !p.literal("true") && !p.literal("false") && !p.literal("null") {
			p.syntax()
		}
	default:
		if p.number() == "" {
			p.syntax()
		}
	}
}

// clip shortens what is quoted in a fault.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
