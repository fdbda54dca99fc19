package maps

import (
	"encoding/json"
	"io"
	"maps"
	"slices"

	"preismon/contracts"
)

// doubt is a kind of value that was accepted, but may be wrong: its index in doubtKinds.
type doubt int

// doubtKinds has each doubt's unit and sentence, in the order of a summary.
var doubtKinds []Count

func newDoubt(unit, what string) doubt {
	doubtKinds = append(doubtKinds, Count{Unit: unit, What: what})
	return doubt(len(doubtKinds) - 1)
}

var (
	zoneAssumed       = newDoubt("rows", "time without a zone: the mapping's zone assumed")
	dayAssumed        = newDoubt("rows", "day without a time: the mapping's time of day assumed")
	clockShift        = newDoubt("rows", "local time that a change of the clock makes double or missing")
	currencyAssumed   = newDoubt("rows", "no currency: the site's or the mapping's assumed")
	unavailablePriced = newDoubt("rows", "unavailable, yet with a price: taken as unavailable, the price kept")
	priceMissing      = newDoubt("rows", "without a price")
	priceZero         = newDoubt("rows", "price of zero")
	ratingLong        = newDoubt("rows", "rating over 64 bytes: left out")
	urlLong           = newDoubt("rows", "URL over 2,048 bytes: left out")
	textCut           = newDoubt("rows", "text longer than its field: cut")
	buyBoxUnread      = newDoubt("rows", "buy box neither yes nor no: taken as not observed")
	primeUnread       = newDoubt("rows", "prime neither yes nor no: taken as not observed")
	siteUnnamed       = newDoubt("sites", "site that the mapping does not name: its default facts assumed")
	eanPad            = newDoubt("products", "EAN of 11 digits, right with a 0 before it: taken as GTIN-12")
	eanStore          = newDoubt("products", "EAN of a range that each shop uses as it likes: kept, but an item of its site alone")
	eanDigit          = newDoubt("products", "EAN with a wrong check digit: kept as the site's own key")
	eanLength         = newDoubt("products", "EAN of a wrong length: kept as the site's own key")
	eanText           = newDoubt("products", "EAN that is no number: kept as the site's own key")
	eanForms          = newDoubt("items", "EAN written in several lengths: one item")
	pznPad            = newDoubt("products", "PZN without its leading zeros: put back")
	pznWrong          = newDoubt("products", "PZN of a wrong length or check digit: kept as the site's own key")
	asinWrong         = newDoubt("products", "ASIN of a wrong form, or without a right locale: kept as the site's own key")
	renamed           = newDoubt("products", "product that changes its name: the last one kept")
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

// tally counts doubts and rejections, and writes the latter.
type tally struct {
	doubts   []Count // of each kind
	rejected map[string]*Count
	total    int
	out      *json.Encoder // nil: counted only
	err      error
}

func newTally(out io.Writer) *tally {
	t := &tally{doubts: slices.Clone(doubtKinds), rejected: map[string]*Count{}}
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

// counts returns what occurred: doubts in their order, reasons by frequency.
func (t *tally) counts() (doubtful, rejected []Count) {
	for _, c := range t.doubts {
		if c.N > 0 {
			doubtful = append(doubtful, c)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(t.rejected)) {
		rejected = append(rejected, *t.rejected[code])
	}
	slices.SortStableFunc(rejected, func(a, b Count) int { return b.N - a.N })
	return doubtful, rejected
}

// doubts adds the doubts of one row; without a tally it adds none.
type doubts struct {
	t    *tally
	line int
}

func (d *doubts) add(kind doubt) {
	if d.t != nil {
		d.t.doubts[kind].add(d.line)
	}
}

func (d *doubts) addIf(doubtful bool, kind doubt) {
	if doubtful {
		d.add(kind)
	}
}

func (d *doubts) cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	d.add(textCut)
	return cut(s, limit)
}

func (d *doubts) flag(g *Flag, at int, rec []string, unread doubt) contracts.Flag {
	if at < 0 {
		return contracts.FlagUnknown
	}
	f, ok := flag(g, squeeze(rec[at]))
	d.addIf(!ok, unread)
	return f
}
