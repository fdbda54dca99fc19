package maps

import (
	"strings"
	"time"
	"unicode/utf8"

	"preismon/contracts"
)

// state is whether a row offers its product.
type state uint8

const (
	offered     state = iota // with a price
	unavailable              // with or without a price
	unknown                  // neither a price nor an availability
)

// said is the content of a row about its capture, in the mapped columns. Two
// rows of one capture with the same content are exact duplicates.
type said struct {
	product                                      *product
	state                                        state
	price, shipping                              int64 // minor units; -1: none
	currency                                     contracts.Currency
	prime, buyBox                                contracts.Flag
	merchant, rating, title, url                 string
	delivery, name, brand, maker, distinguishing string
}

// texts returns the texts of a row.
func (s *said) texts() [10]*string {
	return [...]*string{(*string)(&s.currency), &s.merchant, &s.rating, &s.title, &s.url, &s.delivery, &s.name, &s.brand, &s.maker, &s.distinguishing}
}

// own copies the texts, which are parts of the whole record as it was read: a
// row that is held would hold all of it.
func (s *said) own() {
	size := 0
	for _, text := range s.texts() {
		size += len(*text)
	}
	var b strings.Builder
	b.Grow(size)
	for _, text := range s.texts() {
		b.WriteString(*text)
	}
	all := b.String()
	for _, text := range s.texts() {
		*text, all = all[:len(*text)], all[len(*text):]
	}
}

// row is one parsed row.
type row struct {
	said
	line int
	ms   int64 // capture time, Unix milliseconds
}

// parse parses one row into r, or returns why it cannot.
func (b *book) parse(c *Columns, from record, r *row) *rejection {
	rec, line := from.cells, from.line
	*r = row{line: line}
	for _, s := range rec {
		if !utf8.ValidString(s) {
			return reject(line, notUTF8, "not UTF-8")
		}
	}
	s, bad := b.site(c.Site.read(rec), line)
	if bad != nil {
		return bad
	}
	if r.product, bad = b.product(c, rec, s, line); bad != nil {
		return bad
	}
	at, bad := b.capturedAt(c, rec, s.zone, line)
	if bad != nil {
		return bad
	}
	r.ms = at.ms
	assumed, bad := b.money(c, rec, r)
	if bad != nil {
		return bad
	}
	if bad := b.stand(c, rec, r); bad != nil {
		return bad
	}
	d := rowWarnings{t: b.tally, line: line}
	if bad := b.describe(c, rec, r, &d); bad != nil {
		return bad
	}
	if d.t != nil {
		d.addIf(at.zoneless, zoneAssumed)
		d.addIf(at.day, dayAssumed)
		d.addIf(at.shifted, clockShift)
		d.addIf(assumed && c.Currency.mapped() && (r.price >= 0 || r.shipping >= 0), currencyAssumed)
		d.addIf(r.state == unavailable && r.price >= 0, unavailablePriced)
		d.addIf(r.price < 0, priceMissing)
		d.addIf(r.price == 0, priceZero)
	}
	return nil
}

// capturedAt reads the capture time, in zone if it names none.
func (b *book) capturedAt(c *Columns, rec []string, zone *time.Location, line int) (moment, *rejection) {
	at := b.at
	if c.CapturedAt.at >= 0 {
		at = c.CapturedAt.at.read(rec)
	}
	if at == "" {
		return moment{}, reject(line, timeNone, "no capture time")
	}
	if c.CapturedAt.clock >= 0 {
		at = strings.TrimSpace(at + " " + c.CapturedAt.clock.read(rec))
	}
	no := func(why *cause, text string) (moment, *rejection) {
		return moment{}, reject(line, why, "capture time %q %s", cut(at, 40), text)
	}
	switch m, why := c.CapturedAt.parse(at, zone); {
	case why == timeZoneless:
		return no(why, "has no zone, and the mapping assumes none")
	case why == timeUnread:
		return no(why, "is in none of the mapping's layouts")
	case m.ms < b.earliest:
		return no(timeRange, "lies before the year 2000")
	case m.ms > b.latest:
		return no(timeRange, "lies in the future")
	default:
		return m, nil
	}
}

// money reads the amounts; assumed: their currency is the site's.
func (b *book) money(c *Columns, rec []string, r *row) (assumed bool, bad *rejection) {
	r.currency = contracts.Currency(c.Currency.read(rec))
	if r.currency == "" {
		assumed, r.currency = true, r.product.site.CurrencyCode
	}
	if !r.currency.Valid() {
		return false, reject(r.line, currencyUnknown, "currency %q is no active ISO 4217 code", cut(string(r.currency), 20))
	}
	if r.price, bad = c.Price.read(rec, r.currency, r.line, &priceCauses); bad != nil {
		return false, bad
	}
	r.shipping, bad = c.Shipping.read(rec, r.currency, r.line, &shippingCauses)
	return assumed, bad
}

// stand reads whether the product was offered.
func (b *book) stand(c *Columns, rec []string, r *row) *rejection {
	v := c.Availability.at.read(rec)
	stock, ok := available(&c.Availability, v)
	if !ok {
		return reject(r.line, availabilityUnread, "availability %q is in neither list of the mapping", cut(v, 40))
	}
	switch {
	case stock == contracts.FlagFalse:
		r.state = unavailable
	case r.price >= 0:
		r.state = offered
	case stock == contracts.FlagTrue:
		return reject(r.line, availableUnpriced, "available, but without a price")
	case c.Price.Missing == "unavailable":
		r.state = unavailable
	case c.Price.Missing == "unknown":
		r.state = unknown
	default:
		return reject(r.line, priceNone, "no price, and nothing says that the product is unavailable")
	}
	return nil
}

// describe reads the texts and flags that describe the offer and the product.
func (b *book) describe(c *Columns, rec []string, r *row, d *rowWarnings) *rejection {
	r.merchant = c.Merchant.read(rec)
	if len(r.merchant) > 256 {
		return reject(r.line, merchantLong, "the merchant's name has %d bytes, at most 256", len(r.merchant))
	}
	r.rating = c.Rating.read(rec)
	if len(r.rating) > 64 {
		r.rating = ""
		d.add(ratingLong)
	}
	r.url = c.URL.read(rec)
	if len(r.url) > 2048 {
		r.url = ""
		d.add(urlLong)
	}
	r.title = d.cut(c.Title.read(rec), 1024)
	r.delivery = d.cut(c.DeliveryText.read(rec), 512)
	r.name = d.cut(c.Name.read(rec), 1024)
	r.brand = d.cut(c.Brand.read(rec), 256)
	r.maker = d.cut(c.Manufacturer.read(rec), 256)
	r.buyBox = d.flag(&c.IsBuyBox, rec, buyBoxUnread)
	r.prime = d.flag(&c.IsPrime, rec, primeUnread)
	switch len(c.distinguish) {
	case 0:
	case 1:
		r.distinguishing = rec[c.distinguish[0]]
	default:
		parts := make([]string, len(c.distinguish))
		for i, at := range c.distinguish {
			parts[i] = rec[at]
		}
		r.distinguishing = strings.Join(parts, "\x00")
	}
	return nil
}
