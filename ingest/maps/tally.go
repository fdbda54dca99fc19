package maps

import (
	"encoding/json"
	"io"
	"maps"
	"slices"

	"preismon/contracts"
)

// warning is a kind of value that was accepted, but may be wrong: its index in warningKinds.
type warning int

// warningKinds has each warning's unit and sentence, in the order of a summary.
var warningKinds []Count

func newWarning(unit, what string) warning {
	warningKinds = append(warningKinds, Count{Unit: unit, What: what})
	return warning(len(warningKinds) - 1)
}

var (
	zoneAssumed       = newWarning("rows", "time without a zone: the mapping's zone assumed")
	dayAssumed        = newWarning("rows", "day without a time: the mapping's time of day assumed")
	clockShift        = newWarning("rows", "local time that a change of the clock makes double or missing")
	currencyAssumed   = newWarning("rows", "no currency: the site's or the mapping's assumed")
	unavailablePriced = newWarning("rows", "unavailable, yet with a price: taken as unavailable, the price kept")
	priceMissing      = newWarning("rows", "without a price")
	priceZero         = newWarning("rows", "price of zero")
	ratingLong        = newWarning("rows", "rating over 64 bytes: left out")
	urlLong           = newWarning("rows", "URL over 2,048 bytes: left out")
	textCut           = newWarning("rows", "text longer than its field: cut")
	buyBoxUnread      = newWarning("rows", "buy box neither yes nor no: taken as not observed")
	primeUnread       = newWarning("rows", "prime neither yes nor no: taken as not observed")
	siteUnnamed       = newWarning("sites", "site that the mapping does not name: its default facts assumed")
	eanPad            = newWarning("products", "EAN of 11 digits, right with a 0 before it: taken as GTIN-12")
	eanStore          = newWarning("products", "EAN of a range that each shop uses as it likes: kept, but an item of its site alone")
	eanDigit          = newWarning("products", "EAN with a wrong check digit: kept as the site's own key")
	eanLength         = newWarning("products", "EAN of a wrong length: kept as the site's own key")
	eanText           = newWarning("products", "EAN that is no number: kept as the site's own key")
	eanForms          = newWarning("items", "EAN written in several lengths: one item")
	pznPad            = newWarning("products", "PZN without its leading zeros: put back")
	pznWrong          = newWarning("products", "PZN of a wrong length or check digit: kept as the site's own key")
	asinWrong         = newWarning("products", "ASIN of a wrong form, or without a right locale: kept as the site's own key")
	renamed           = newWarning("products", "product that changes its name: the last one kept")
)

// firstLines is how many lines a count names.
const firstLines = 5

// Count is how often something occurred, and the first lines on which it did.
type Count struct {
	What  string `json:"what"`
	Unit  string `json:"unit"` // rows, products, items or sites
	N     int    `json:"n"`
	Lines []int  `json:"lines"`
	// Example is why the first row was rejected, and the setting that would help.
	Example string `json:"example,omitempty"`
}

func (c *Count) add(line int) {
	c.N++
	if len(c.Lines) < firstLines {
		c.Lines = append(c.Lines, line)
	}
}

// tally counts warnings and rejections, and writes the latter.
type tally struct {
	warnings []Count // of each kind
	rejected map[string]*Count
	total    int
	out      *json.Encoder // nil: counted only
	err      error
}

func newTally(out io.Writer) *tally {
	t := &tally{warnings: slices.Clone(warningKinds), rejected: map[string]*Count{}}
	if out != nil {
		t.out = json.NewEncoder(out)
		t.out.SetEscapeHTML(false)
	}
	return t
}

func (t *tally) reject(r rejection) {
	t.total++
	c := t.rejected[r.Code]
	if c == nil {
		c = &Count{What: r.Code, Unit: "rows", Example: r.Reason}
		t.rejected[r.Code] = c
	}
	c.add(r.Line)
	if t.out != nil && t.err == nil {
		t.err = t.out.Encode(r)
	}
}

// counts returns what occurred: warnings in their order, reasons by frequency.
func (t *tally) counts() (warnings, rejected []Count) {
	for _, c := range t.warnings {
		if c.N > 0 {
			warnings = append(warnings, c)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(t.rejected)) {
		rejected = append(rejected, *t.rejected[code])
	}
	slices.SortStableFunc(rejected, func(a, b Count) int { return b.N - a.N })
	return warnings, rejected
}

// rowWarnings adds the warnings of one row; without a tally it adds none.
type rowWarnings struct {
	t    *tally
	line int
}

func (d *rowWarnings) add(kind warning) {
	if d.t != nil {
		d.t.warnings[kind].add(d.line)
	}
}

func (d *rowWarnings) addIf(wrong bool, kind warning) {
	if wrong {
		d.add(kind)
	}
}

func (d *rowWarnings) cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	d.add(textCut)
	return cut(s, limit)
}

func (d *rowWarnings) flag(g *Flag, rec []string, unread warning) contracts.Flag {
	f, ok := flag(g, squeeze(g.at.read(rec)))
	d.addIf(!ok, unread)
	return f
}
