package maps

import (
	"strings"
	"time"

	"preismon/contracts"
)

// Guess is what can be guessed about a file without a mapping.
type Guess struct {
	Text        []byte   // the mapping file (YAML), ready to be refined
	Mapping     *Mapping // the same, parsed
	Assumptions []string // what was assumed, one sentence each, with the setting that changes it
	Rows        []Shown  // the first rows as interpreted by the mapping
}

// GuessMapping reads the beginning of a CSV file and excerpts from all over it,
// and writes a mapping for it: encoding, delimiter, columns by their names or
// otherwise by their values, forms of amounts and times. What it cannot know it
// assumes, and says so in Assumptions. The rows are shown as they would be for the
// mandate, which may be empty. Errors are Invalid, and name what is missing and
// how to specify it.
func GuessMapping(file, mandate string, now time.Time) (*Guess, error) {
	s, err := sampleOf(file)
	if err != nil {
		return nil, err
	}
	g := &guesser{sample: s, file: file, label: Series(file), columns: map[string]int{}}
	g.findColumns()
	if err := g.unpivot(); err != nil {
		return nil, err
	}
	text, err := g.write()
	if err != nil {
		return nil, err
	}
	m, err := ParseMapping(text)
	if err != nil {
		return nil, err
	}
	rows, err := Preview(file, m.For(mandate), now)
	return &Guess{Text: text, Mapping: m, Assumptions: g.assumptions, Rows: rows}, err
}

// texts returns what the rows have in a column, trimmed and without empty ones.
func (s *sample) texts(column int) []string {
	all := make([]string, 0, len(s.rows))
	for _, row := range s.rows {
		if v := strings.TrimSpace(row[column]); v != "" {
			all = append(all, v)
		}
	}
	return all
}

// values returns the distinct texts of a column.
func (s *sample) values(column int) []string { return distinct(s.texts(column)) }

// distinct returns the first of each of the texts.
func distinct(texts []string) []string {
	var all []string
	seen := map[string]bool{}
	for _, v := range texts {
		if !seen[v] {
			seen[v] = true
			all = append(all, v)
		}
	}
	return all
}

// share returns the fraction of texts for which ok holds; 0 if there are none.
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

// slug converts a text to a form that a site's key may have; empty: nothing is
// left.
func slug(s string) string {
	fields := strings.FieldsFunc(folded(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-'
	})
	if key := cut(strings.Join(fields, "-"), 64); contracts.SiteKey(key).Valid() {
		return key
	}
	return ""
}
