package maps

import (
	"slices"
	"strings"
)

// What shops write for yes and no, folded.
var (
	yesWords = []string{"yes", "y", "true", "1", "available", "in stock", "instock", "in_stock", "ja", "j", "wahr", "verfugbar", "lieferbar", "sofort lieferbar", "auf lager", "vorratig"}
	noWords  = []string{"no", "n", "false", "0", "unavailable", "out of stock", "outofstock", "out_of_stock", "sold out", "not available", "nein", "falsch", "nicht verfugbar", "nicht lieferbar", "ausverkauft", "nicht auf lager", "vergriffen"}
)

// spelled returns folded words with their umlauts, and without numbers if these are
// quantities.
func spelled(words []string, quantities bool) []string {
	umlauts := strings.NewReplacer("verfugbar", "verfügbar", "vorratig", "vorrätig")
	all := make([]string, 0, len(words))
	for _, w := range words {
		if !quantities || !isQuantity(w) {
			all = append(all, umlauts.Replace(w))
		}
	}
	return all
}

// quantities reports whether a column of availabilities has quantities in stock.
func (g *guesser) quantities(column int) bool {
	if strings.HasSuffix(plainName(g.header[column]), "status") {
		return false // numbers are codes
	}
	return slices.ContainsFunc(g.values(column), func(v string) bool { return isQuantity(v) && v != "0" && v != "1" })
}

// sides divides the texts of a column of flags into yes, no and others.
func (g *guesser) sides(field string, column int, texts []string) (yes, no, other []string) {
	quantities := field == "availability" && g.quantities(column)
	var numbers []string
	for _, v := range texts {
		switch f := folded(v); {
		case slices.Contains(yesWords, f):
			yes = append(yes, v)
		case slices.Contains(noWords, f):
			no = append(no, v)
		case quantities && isQuantity(v):
			numbers = append(numbers, v)
		default:
			other = append(other, v)
		}
	}
	return append(yes, numbers...), no, other
}

// assumeUnread reports the columns that are named like a field, but hold something
// else.
func (g *guesser) assumeUnread(field string) {
	for i, h := range g.header {
		if values := g.values(i); len(values) > 0 && slices.Contains(namesOf(field), plainName(h)) {
			g.assume("%q in column %q is neither yes nor no: the column is not used (columns.%s)", cut(values[0], 40), h, field)
		}
	}
}

// writeFlags writes the columns of yes and no, with the words in them.
func (g *guesser) writeFlags() {
	for _, field := range []string{"availability", "isBuyBox", "isPrime"} {
		column, ok := g.columns[field]
		if !ok {
			g.assumeUnread(field)
			continue
		}
		yes, no, other := g.sides(field, column, g.values(column))
		quantities := field == "availability" && g.quantities(column)
		if quantities {
			g.assume("numbers in column %q are read as quantities: 0 is unavailable, more is available (columns.availability)", g.header[column])
		}
		switch { // a later file may have the other
		case len(yes) > 0 && len(no) == 0:
			no = spelled(noWords, quantities)
		case len(no) > 0 && len(yes) == 0:
			yes = spelled(yesWords, quantities)
		}
		g.put("  %s: {column: %s%s%s}\n", field, scalar(g.header[column]), wordOption("yes", yes), wordOption("no", no))
		if len(other) > 0 {
			g.assume("%q in column %q is neither yes nor no (columns.%s)", cut(other[0], 40), g.header[column], field)
		}
	}
}
