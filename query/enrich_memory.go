package query

import (
	"preismon/contracts"
	"preismon/query/admission"
)

// What an enrichment keeps besides texts, in bytes.
const (
	itemBytes     = 300 // itemParts, and its place in the map of items
	pairBytes     = 128 // orderTexts, and its place in a map of pairs
	priceBytes    = 72  // contracts.ReferencePrice
	referenceSize = 80  // referenceText
)

// leastEnrichedBytes is what a stream may keep however small its share is.
const leastEnrichedBytes = 1 << 20

// chargeTo charges what is loaded from now on to a stream, until release is
// called.
func (e *enrichment) chargeTo(holds *admission.Read) (release func()) {
	if e.include == (Include{}) {
		return func() {}
	}
	e.holds, e.room, e.drop = holds, holds.Keep(), e.forget
	return e.room.Release
}

// tooMuch reports whether a stream keeps more than one of its parts may have.
func (e *enrichment) tooMuch() bool {
	return e.holds != nil && e.loaded > leastEnrichedBytes && e.loaded > e.holds.Part()
}

// charge corrects the charge to what is kept now.
func (e *enrichment) charge() {
	if e.room == nil {
		return
	}
	bytes := e.loaded + 16*int64(cap(e.near)) + 8*int64(cap(e.rows)+cap(e.prices)+cap(e.missing))
	if bytes != e.charged {
		e.charged = bytes
		e.room.Resize(bytes)
	}
}

// lend lets others reclaim what is loaded, as long as no row is encoded.
func (e *enrichment) lend() {
	if e.room != nil && e.loaded > 0 {
		e.charge()
		e.room.Lend(e.drop)
	}
}

// takeBack ends the lending; false: everything was forgotten.
func (e *enrichment) takeBack() bool { return e.room.TakeBack() }

// textBytes returns what texts hold apart from their headers.
func textBytes(texts ...string) (n int64) {
	for _, s := range texts {
		if s != "" {
			n += int64(len(s)+len(s)/8) + 8 // allocations are rounded up
		}
	}
	return n
}

func (t *orderTexts) bytes() int64 {
	return 16*int64(cap(t.ids)) + textBytes(t.ids...) + int64(cap(t.json))
}

// referenceBytes returns what the reference prices of an item hold, with their
// texts.
func referenceBytes(prices []contracts.ReferencePrice, texts []referenceText) int64 {
	n := priceBytes*int64(cap(prices)) + referenceSize*int64(cap(texts))
	for i := range prices {
		p := &prices[i]
		n += textBytes(string(p.CurrencyCode), string(p.AppliesToSite), p.ReferenceQuantity, p.PriceType)
	}
	for i := range texts {
		n += 8*int64(cap(texts[i].prices)) + int64(cap(texts[i].json))
	}
	return n
}
