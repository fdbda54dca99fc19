package event

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds nesting, unknown fields included.
const maxDepth = 64

// scanner reads one JSON text in one pass. It exists alongside encoding/json for
// speed, and for what a contract must settle and encoding/json leaves open:
// names are matched exactly, a known name given twice is an error, null is the
// same as absent, and faults are named with their path.
//
// The first fault stays in err; every method called after it returns a zero value.
type scanner struct {
	s      string
	i      int
	depth  int
	clone  bool // copy strings, so that a long-lived one does not hold the text
	err    error
	path   string // of the fault
	broken bool   // the fault is that the text is not JSON

	unescaped strings.Builder // of all strings with escapes, one after the other
}

// failf records a fault of the value that is being read.
func (p *scanner) failf(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// syntax records that the text is not JSON at this point.
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

// fault returns the first fault, nil if there is none.
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

// space skips white space.
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

// next returns the first byte of the next token, 0 at the end.
func (p *scanner) next() byte {
	p.space()
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

// literal consumes the word if it comes next.
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
