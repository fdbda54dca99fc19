package event

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"preismon/contracts"
)

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

// quoted reads a string whose opening quote is next.
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
					p.i = before // the second escape stands for itself
				}
			}
			if p.err != nil {
				return ""
			}
			b.WriteRune(r) // half a surrogate pair becomes U+FFFD
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

// number returns the text of a number as written; empty: there is none.
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

// integer reads a number without a fraction or an exponent.
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

// time reads an instant in RFC 3339, and returns it in UTC.
func (p *scanner) time() (t time.Time) {
	s := p.text()
	if p.err == nil && (!contracts.IsRFC3339(s) || t.UnmarshalText([]byte(s)) != nil) {
		p.failf("%q is not a time like 2026-01-31T12:00:00Z", clip(s))
	}
	return t.UTC()
}

// clip shortens what a fault quotes.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
