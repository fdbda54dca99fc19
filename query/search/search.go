// Package search compares what people type with names: without regard to case,
// accents and the order of words, and tolerating small misspellings. The list
// of items, the notes about selectors that match nothing, and the command
// "items" use it. It knows no access rights: everything passed to it may be
// shown.
package search

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// Fold returns text without what people omit when they search: case and
// accents.
func Fold(text string) string {
	if ascii(text) {
		return strings.ToLower(text)
	}
	plain, _, err := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn))), text)
	if err != nil {
		plain = text
	}
	return cases.Fold().String(plain)
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// words returns the letters and digits of a folded text, split at all other
// characters.
func words(folded string) []string {
	return strings.FieldsFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// Query is what someone searches for: all of its words, in any order.
type Query struct{ words []string }

// New returns a query for the words of a text.
func New(text string) Query { return Query{words(Fold(text))} }

// Empty reports whether there is no word to search for: every text matches.
func (q Query) Empty() bool { return len(q.words) == 0 }

// Match is how well a text fits a query.
type Match struct {
	Misspelled bool // some word was found only in another spelling
	Distance   int  // 0: every word is in the text exactly; more is worse
}

// The costs of a word that is not in a text as a whole word.
const (
	asPrefix   = 1
	asPart     = 2
	asMistake  = 4 // for each letter
	shortWord  = 3 // runes up to which a word is not misspelled
	mediumWord = 7 // runes up to which it has one mistake; longer ones have two
)

// In searches a text for the words.
func (q Query) In(text string) (m Match, found bool) {
	folded := Fold(text)
	all := words(folded)
	for _, w := range q.words {
		cost, misspelled, ok := find(w, folded, all)
		if !ok {
			return Match{}, false
		}
		m.Distance += cost
		m.Misspelled = m.Misspelled || misspelled
	}
	return m, true
}

func find(w, folded string, all []string) (cost int, misspelled, ok bool) {
	switch {
	case slices.Contains(all, w):
		return 0, false, true
	case slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, w) }):
		return asPrefix, false, true
	case strings.Contains(folded, w):
		return asPart, false, true
	}
	most := mistakes(w)
	best := most + 1
	for _, s := range all {
		best = min(best, Distance(w, s, best-1))
	}
	return asMistake * best, true, best <= most
}

// mistakes returns how many mistakes a word may have. A word with a digit may
// have none: a different number is not a misspelling.
func mistakes(w string) int {
	n := 0
	for _, r := range w {
		if unicode.IsDigit(r) {
			return 0
		}
		n++
	}
	switch {
	case n <= shortWord:
		return 0
	case n <= mediumWord:
		return 1
	}
	return 2
}

// Distance returns how many letters must be added, left out, changed or swapped
// with their neighbour to turn one word into another (optimal string
// alignment); most+1 if that is more than most.
func Distance(a, b string, most int) int {
	x, y := []rune(a), []rune(b)
	if most < 0 || len(x)-len(y) > most || len(y)-len(x) > most {
		return most + 1
	}
	before, last, now := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		now[0] = i + 1
		least := now[0]
		for j := range y {
			changed := last[j]
			if x[i] != y[j] {
				changed++
			}
			now[j+1] = min(changed, last[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
			least = min(least, now[j+1])
		}
		if least > most {
			return most + 1
		}
		before, last, now = last, now, before
	}
	return min(last[len(y)], most+1)
}
