package query

import (
	"math/bits"

	"preismon/contracts"
)

// The maximum sizes as JSON, with all bytes of texts escaped, which the limits
// of the events bound.
const (
	escaped       = 6                   // bytes of a byte that is escaped
	explainedPage = 8 << 10             // around the records of an answer
	explainedCore = 1_000 + 256*escaped // a row without field groups

	explainedIdentity  = 400 + (1_024+256+256)*escaped // name, brand, manufacturer
	explainedID        = 23                            // 20 digits
	explainedCustomer  = 100 + contracts.MaxCustomerFields*((128+2_048)*escaped+6)
	explainedKey       = 200 // what a lookup has for an identifier, without items
	explainedCoverage  = 200
	explainedOffer     = 1_500 + (2_048+1_024+512+256)*escaped // URL, title, delivery, manufacturer
	explainedReference = 200 + (64+64)*escaped                 // quantity, kind of price

	explainedSite  = 300 + 256*escaped
	explainedItem  = 400 + (1_024+256+256)*escaped
	explainedOrder = 300 + (128+256)*escaped
	explainedJob   = 200 + 256*escaped
	explainedFile  = 400 + (256+256+255)*escaped

	// exactNumber is the largest integer that every reader of JSON reads as it is.
	exactNumber = 1<<53 - 1
)

// rowBytes is the maximum size of a row with such field groups. No longer one
// is sent.
func (i Include) rowBytes(v Visibility, longest uint64) uint64 {
	row := uint64(explainedCore)
	if i.Identity {
		row += explainedIdentity
	}
	if i.CustomerData {
		row += explainedCustomer
	}
	if i.Coverage {
		row += explainedCoverage
	}
	if i.ExportFields {
		row += explainedOffer + contracts.MaxReferencePrices*explainedReference
	}
	switch {
	case !i.OrderIDs:
	case v.Scope.AllOrders: // a pair may be of any number of orders
		row = longest
	default:
		row += uint64(len(v.Scope.Orders)) * explainedID
	}
	return min(row, longest) + 1 // the line's end, or a comma
}

// lookupBytes is the maximum size of an answer about these keys, whose items have
// so many pairs: an item is shown as often as a key names it.
func lookupBytes(keys []LookupKey, n named, pairs, row uint64) uint64 {
	times, most := map[contracts.ItemID]uint64{}, uint64(0)
	for _, key := range keys {
		for _, item := range n.of(key) {
			times[item]++
			most = max(most, times[item])
		}
	}
	return explainedPage + uint64(len(keys))*explainedKey + most*(uint64(len(n.ids))*explainedID+pairs*row)
}

// bytes records the maximum size of the answer, as JSON.
func (e *Explanation) bytes(stream bool) {
	if e.Rows != nil && !e.more {
		high, rows := bits.Mul64(*e.Rows, e.row)
		if around := e.first + explainedPage; high == 0 && rows <= exactNumber-around {
			e.Bytes = new(around + rows)
		}
	}
	if !stream && (e.Bytes == nil || *e.Bytes > e.maxBytes) {
		e.Bytes = &e.maxBytes
	}
}
