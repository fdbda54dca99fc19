package maps

import (
	"cmp"
	"context"
	"strconv"
	"time"
)

// Shown is a row as interpreted by a mapping.
type Shown struct {
	Line                               int
	Site, Product, CapturedAt          string // CapturedAt in RFC 3339
	Price, Currency, Outcome, Merchant string // Price empty: none
	Reject                             string // why the row would be rejected; empty: it would not
}

// guessShown is how many rows are shown as interpreted.
const guessShown = 5

// Preview returns the first rows of a file as an import with the mapping reads
// them.
func Preview(file string, m *Mapping, now time.Time) ([]Shown, error) {
	im := &importer{Request: Request{File: file, Mapping: m}}
	in, err := im.open(context.Background(), 1, 0, 1)
	if err != nil {
		return nil, err
	}
	defer in.close()
	b := newBook(m, now, nil)
	if b.at, err = m.Columns.CapturedAt.ofFile(file); err != nil {
		return nil, err
	}
	var all []Shown
	for rec, err := range in.all() {
		if err != nil {
			return nil, err
		}
		if all = append(all, b.show(in.cols, rec)); len(all) == guessShown {
			break
		}
	}
	if len(all) == 0 {
		return nil, errNoRows
	}
	return all, nil
}

func (b *book) show(cols *Columns, rec record) Shown {
	var r row
	bad := rec.bad
	if bad == nil {
		bad = b.parse(cols, rec, &r)
	}
	if bad != nil {
		return Shown{Line: bad.Line, Reject: bad.Reason}
	}
	shown := Shown{
		Line: rec.line, Site: string(r.product.site.Site.Site), Product: cmp.Or(r.name, r.product.item.EAN, r.product.key),
		CapturedAt: time.UnixMilli(r.ms).UTC().Format(time.RFC3339), Merchant: r.merchant,
		Outcome: []string{offered: "available", unavailable: "unavailable", unknown: "unknown"}[r.state],
	}
	if r.price >= 0 {
		shown.Price, shown.Currency = shift(strconv.FormatInt(r.price, 10), r.currency.Digits()), string(r.currency)
	}
	return shown
}
