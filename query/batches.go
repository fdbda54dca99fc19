package query

import (
	"slices"
	"unicode/utf8"

	"preismon/contracts"
	"preismon/query/frame"
)

// batcher builds batches from the rows of blocks. The next batch reuses its
// memory.
type batcher struct {
	e      *rowEncoder
	flat   bool // see Flat
	fields []*field
	batch  frame.Batch

	b       *Block
	version uint64   // of the dictionaries of the block
	at      []uint32 // where the rows of the batch are in it

	currency   frame.Vector
	digits     []uint8 // of the rows' currencies
	amounts    [3]amounts
	references []*referenceText // of the rows; built at most once per batch
	prices     []*contracts.ReferencePrice
}

func newBatcher(e *rowEncoder, flat bool) *batcher {
	m := &batcher{e: e, flat: flat, fields: e.include.columns()}
	m.batch.Columns = make([]frame.Vector, len(m.fields))
	return m
}

// add fills one more column, after the others.
func (m *batcher) add(f *field) {
	m.fields, m.batch.Columns = append(m.fields, f), append(m.batch.Columns, frame.Vector{})
}

// A batch has at most so many rows, and about so many bytes of texts that
// belong to single rows or items, among them the customer's data and prices, and
// of texts that repeat, which some tables write out in each row. A batch of
// texts and numbers only (flat) is small, because more rows gain nothing.
const (
	batchRows   = 8192
	flatRows    = 1024
	batchBytes  = 1 << 20
	repeatBytes = 2 << 20
	flatBytes   = 256 << 10 // of either kind
)

// begin prepares for the rows of a block.
func (m *batcher) begin(b *Block) {
	m.b = b
	m.version++
	m.e.beginFacts(b)
}

// make builds a batch of the rows in their order, starting at from. It has no
// more rows than most; make returns the index after its last row.
func (m *batcher) make(from, most int) (*frame.Batch, int) {
	b := m.b
	to, single, repeated := from, 0, 0
	m.at = m.at[:0]
	rows, mostSingle, mostRepeated := batchRows, batchBytes, repeatBytes
	if m.flat {
		rows, mostSingle, mostRepeated = flatRows, flatBytes, flatBytes
	}
	for most = min(most, from+rows, b.Len); to < most && single < mostSingle && repeated < mostRepeated; to++ {
		i := b.At(to)
		m.at = append(m.at, uint32(i))
		repeated += b.Site.size(i) + b.Merchant.size(i)
		if m.e.include.ExportFields {
			single += b.Title.Size(i) + b.URL.Size(i) + len(m.e.rich.prices[i].json)
			repeated += b.Manufacturer.size(i) + b.DeliveryText.size(i)
		}
		if m.e.include.Identity {
			r := &m.e.rich.rows[i].record
			single += len(r.EAN) + len(r.PZN) + len(r.ASIN) + len(r.ASINLocale) + len(r.Name) + len(r.Brand) + len(r.Manufacturer)
		}
		if m.e.include.OrderIDs {
			repeated += len(orderIDs{}.of(m.e, b, i).json)
		}
		if m.e.include.CustomerData {
			single += len(m.e.rich.rows[i].fields)
		}
	}
	m.batch.Len = len(m.at)
	m.digits = room8(m.digits, len(m.at))
	for k, i := range m.at {
		m.digits[k] = uint8(m.e.currencies[b.Currency.Index[i]].digits)
	}
	currencies.dictText.vector(m, &m.currency)
	for a := range m.amounts {
		m.amounts[a].made = false
	}
	for n, f := range m.fields {
		f.made.vector(m, &m.batch.Columns[n])
	}
	clear(m.references) // what they belong to may be dropped
	clear(m.prices[:cap(m.prices)])
	m.references = m.references[:0]
	return &m.batch, to
}

func room8(s []uint8, n int) []uint8 { return slices.Grow(s[:0], n)[:n] }

func room32(s []uint32, n int) []uint32 { return slices.Grow(s[:0], n)[:n] }

func room64(s []int64, n int) []int64 { return slices.Grow(s[:0], n)[:n] }

// missing returns the bits of the values that are present; nil if all are.
func missing(valid frame.Bits, some bool) frame.Bits {
	if some {
		return valid
	}
	return nil
}

// clean returns texts as valid UTF-8: an invalid byte becomes U+FFFD, as in
// JSON.
func clean(t *Texts) *Texts {
	for i := range t.Len() {
		if !utf8.Valid(t.At(i)) {
			return cleaned(t)
		}
	}
	return t
}

func cleaned(t *Texts) *Texts {
	all := new(Texts)
	for i := range t.Len() {
		all.Append(string([]rune(string(t.At(i)))))
	}
	return all
}
