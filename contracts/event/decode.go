package event

import (
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"preismon/contracts"
)

// Decode reads and validates an event. The error can serve as the reason of a
// dead letter: it names the fault with its path, and quotes only short pieces of
// the input.
//
// Where JSON leaves a choice, Decode decides it: unknown fields are skipped,
// null is the same as absent, and times are converted to UTC. It refuses bytes
// that are not UTF-8, a known field given twice, names in another case (they are
// unknown, so required fields are missing), numbers that do not fit, nesting
// deeper than 64, anything after the event, and more than MaxBytes.
func Decode(b []byte) (*Event, error) {
	switch {
	case len(b) > MaxBytes:
		return nil, fmt.Errorf("event has %d bytes, at most %d", len(b), MaxBytes)
	case !utf8.Valid(b):
		return nil, errors.New("not an event: not UTF-8")
	}
	d := decoder{scanner: scanner{s: string(b)}}
	e, err := d.event()
	if err != nil {
		return nil, err
	}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	return e, nil
}

// decoder reads the contracts' records, field by field. Offers and amounts are
// allocated in slabs, so that the number of allocations per batch does not grow
// with its captures.
type decoder struct {
	scanner
	offers  []contracts.Offer
	amounts []int64
}

// slab returns the capacity of a new slab: as many as the rest of the text may
// hold at the usual size of an offer, within bounds.
func (p *decoder) slab() int { return min(max((len(p.s)-p.i)/256, 4), 2048) }

// amount reads an integer and returns a pointer to it in its slab.
func (p *decoder) amount() *int64 {
	if len(p.amounts) == cap(p.amounts) {
		p.amounts = make([]int64, 0, 2*p.slab())
	}
	p.amounts = append(p.amounts, p.integer())
	return &p.amounts[len(p.amounts)-1]
}

// offerList reads the offers of a capture.
func (p *decoder) offerList() []contracts.Offer {
	from := len(p.offers)
	p.array(func() {
		if len(p.offers) == cap(p.offers) { // move those of this capture along
			mine := p.offers[from:]
			p.offers = append(make([]contracts.Offer, 0, 2*len(mine)+p.slab()), mine...)
			from = 0
		}
		p.offers = append(p.offers, contracts.Offer{})
		p.offer(&p.offers[len(p.offers)-1])
	})
	if len(p.offers) == from {
		return nil
	}
	return p.offers[from:len(p.offers):len(p.offers)]
}

var (
	envelopeFields    = []string{"version", "eventId", "kind", "producer", "producedAt", "data"}
	batchFields       = []string{"site", "run", "observations"}
	observationFields = []string{"itemId", "capturedAt", "outcome", "offers"}
	offerFields       = []string{"merchant", "price", "shipping", "currencyCode", "isPrime", "isBuyBox", "rating", "manufacturer", "title", "url", "deliveryText"}
)

func (p *decoder) event() (*Event, error) {
	var (
		e       Event
		version int64
		missing = true
		data    = -1 // where the payload begins if it was skipped; -1: it was not
	)
	p.object(envelopeFields, func(name string) {
		switch name {
		case "version":
			version, missing = p.integer(), false
		case "eventId":
			e.ID = p.text()
		case "kind":
			e.Kind = Kind(p.text())
		case "producer":
			e.Producer = p.text()
		case "producedAt":
			e.ProducedAt = p.time()
		case "data":
			if version == Version && e.Kind.known() {
				e.Data = p.payload(e.Kind)
				return
			}
			// The kind or version is not known yet, so neither is the payload's type.
			p.next()
			data = p.i
			p.skip()
		}
	})
	if p.space(); p.i < len(p.s) {
		p.syntax()
	}
	if err := p.fault(); err != nil {
		return nil, err
	}
	switch {
	case missing:
		return nil, errors.New("version: missing")
	case version != Version:
		return nil, fmt.Errorf("version: %d is unknown, this consumer reads %d", version, Version)
	case !e.Kind.known():
		return nil, fmt.Errorf("kind: %q is unknown", clip(string(e.Kind)))
	}
	if data >= 0 {
		p.i = data
		if e.Data = p.payload(e.Kind); p.err != nil {
			p.path = "data" + p.path
		}
	}
	return &e, p.fault()
}

func (p *decoder) payload(k Kind) Payload {
	p.clone = k != KindObservations
	if k == KindObservations {
		return p.observations()
	}
	record := reflect.New(payloads[k])
	p.value(record.Elem())
	return record.Interface().(Payload)
}

// id reads the decimal text form.
func id[T ~uint64](p *decoder) T {
	s := p.text()
	if p.err != nil {
		return 0
	}
	n, err := contracts.ParseID[T](s)
	if err != nil {
		p.failf("%q is not an id: a decimal number from 1 to 18446744073709551615", clip(s))
	}
	return n
}

func (p *decoder) siteKey() contracts.SiteKey { return contracts.SiteKey(p.text()) }

func (p *decoder) currency() contracts.Currency { return contracts.Currency(p.text()) }

func (p *decoder) flag() contracts.Flag {
	switch {
	case p.literal("true"):
		return contracts.FlagTrue
	case p.literal("false"):
		return contracts.FlagFalse
	}
	p.skip()
	return contracts.FlagUnknown
}

func (p *decoder) rating() contracts.Rating {
	switch c := p.next(); {
	case c == '"':
		return contracts.Rating(p.text())
	case c == '-' || c >= '0' && c <= '9':
		digits := p.number()
		if digits == "" {
			p.syntax()
		}
		return contracts.Rating(digits)
	}
	p.skip()
	return ""
}

func (p *decoder) observations() *contracts.Observations {
	b := new(contracts.Observations)
	p.object(batchFields, func(name string) {
		switch name {
		case "site":
			b.Site = p.siteKey()
		case "run":
			b.Run = p.text()
		case "observations":
			b.Observations = make([]contracts.Observation, 0, min(max((len(p.s)-p.i)/256, 4), contracts.MaxObservationsPerBatch))
			p.array(func() {
				b.Observations = append(b.Observations, contracts.Observation{})
				p.observation(&b.Observations[len(b.Observations)-1])
			})
		}
	})
	return b
}

func (p *decoder) observation(o *contracts.Observation) {
	p.object(observationFields, func(name string) {
		switch name {
		case "itemId":
			o.ItemID = id[contracts.ItemID](p)
		case "capturedAt":
			o.CapturedAt = p.time()
		case "outcome":
			p.outcome(&o.Outcome)
		case "offers":
			o.Offers = p.offerList()
		}
	})
}

func (p *decoder) outcome(o *contracts.Outcome) {
	s := p.text()
	for known := range contracts.SiteUnavailable + 1 {
		if known.String() == s {
			*o = known
			return
		}
	}
	if p.err == nil {
		p.failf("%q is no outcome", clip(s))
	}
}

func (p *decoder) offer(o *contracts.Offer) {
	p.object(offerFields, func(name string) {
		switch name {
		case "merchant":
			o.Merchant = p.text()
		case "price":
			o.Price = p.amount()
		case "shipping":
			o.Shipping = p.amount()
		case "currencyCode":
			o.CurrencyCode = p.currency()
		case "isPrime":
			o.IsPrime = p.flag()
		case "isBuyBox":
			o.IsBuyBox = p.flag()
		case "rating":
			o.Rating = p.rating()
		case "manufacturer":
			o.Manufacturer = p.text()
		case "title":
			o.Title = p.text()
		case "url":
			o.URL = p.text()
		case "deliveryText":
			o.DeliveryText = p.text()
		}
	})
}
