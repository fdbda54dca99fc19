package query

import (
	"slices"

	"preismon/contracts"
	"preismon/query/frame"
)

// Block is a run of rows as columns, as the store read them. It is reused: no
// part of it may be kept.
type Block struct {
	Len int
	// Order lists the indexes of the rows in their order; nil: as stored.
	Order []uint32

	Item       []uint64
	Site       Dict
	CapturedMs []int64
	Epoch      []uint32
	Seq        []uint64
	Capture    []uint16
	Offer      []uint16
	Outcome    []uint8 // contracts.Outcome
	Currency   Dict
	PriceMinor []int64 // -1: none
	Merchant   Dict

	// Only with ResultsQuery.Export or Standing.
	ShippingMinor []int64 // -1: none
	IsBuyBox      []uint8 // contracts.Flag

	// Only with ResultsQuery.Export.
	IsPrime      []uint8 // contracts.Flag
	RatingTenths []uint8 // contracts.NoRating: none
	Manufacturer Dict
	DeliveryText Dict
	Title        Texts
	URL          Texts

	// Held is set for a block of a stream; otherwise nil.
	Held Held
}

// Held is the memory of a block, which may be reclaimed while its reader waits
// for a client.
type Held interface {
	// Lend marks the block as not being read for now.
	Lend()
	// TakeBack ends the lending; not ok: the block was reclaimed.
	TakeBack() (ok bool)
}

// Reclaimed ends the reading of a reclaimed block. The stream continues behind
// a position; nil: at the first row of the block.
type Reclaimed struct{ After *Position }

func (*Reclaimed) Error() string { return "the block was reclaimed" }

// Texts is a column of strings in one buffer.
type Texts = frame.Texts

// Span is where a string lies in its buffer.
type Span = frame.Span

// Dict is a column of strings with few distinct values: row i holds
// Values.At(Index[i]).
type Dict struct {
	Values Texts
	Index  []uint32
}

// At returns the string of row i.
func (d *Dict) At(i int) []byte { return d.Values.At(int(d.Index[i])) }

// size is the length of the string of row i in bytes.
func (d *Dict) size(i int) int { return d.Values.Size(int(d.Index[i])) }

// Bytes is the memory that the block holds.
func (b *Block) Bytes() int64 {
	n := 8*(cap(b.Item)+cap(b.CapturedMs)+cap(b.Seq)+cap(b.PriceMinor)+cap(b.ShippingMinor)) + 4*(cap(b.Order)+cap(b.Epoch)) +
		2*(cap(b.Capture)+cap(b.Offer)) + cap(b.Outcome) + cap(b.IsPrime) + cap(b.IsBuyBox) + cap(b.RatingTenths)
	for _, d := range []*Dict{&b.Site, &b.Currency, &b.Merchant, &b.Manufacturer, &b.DeliveryText} {
		n += 4*cap(d.Index) + bytesOf(&d.Values)
	}
	return int64(n + bytesOf(&b.Title) + bytesOf(&b.URL))
}

func bytesOf(t *Texts) int { return cap(t.Buf) + 8*cap(t.Spans) }

// Reset empties the block and keeps its capacity.
func (b *Block) Reset() {
	b.Len, b.Order = 0, b.Order[:0]
	b.Item, b.CapturedMs, b.Epoch, b.Seq = b.Item[:0], b.CapturedMs[:0], b.Epoch[:0], b.Seq[:0]
	b.Capture, b.Offer, b.Outcome, b.PriceMinor = b.Capture[:0], b.Offer[:0], b.Outcome[:0], b.PriceMinor[:0]
	b.ShippingMinor, b.IsPrime, b.IsBuyBox, b.RatingTenths = b.ShippingMinor[:0], b.IsPrime[:0], b.IsBuyBox[:0], b.RatingTenths[:0]
	for _, d := range []*Dict{&b.Site, &b.Currency, &b.Merchant, &b.Manufacturer, &b.DeliveryText} {
		d.Values.Reset()
		d.Index = d.Index[:0]
	}
	b.Title.Reset()
	b.URL.Reset()
}

// At is the index of the k-th row in order.
func (b *Block) At(k int) int {
	if b.Order != nil {
		return int(b.Order[k])
	}
	return k
}

// Position is where row i is in the order of results.
func (b *Block) Position(i int) Position {
	return Position{
		CapturedMs: b.CapturedMs[i], Item: contracts.ItemID(b.Item[i]), Site: contracts.SiteKey(b.Site.At(i)),
		Epoch: b.Epoch[i], Seq: b.Seq[i], Capture: b.Capture[i], Offer: b.Offer[i],
	}
}

// Part returns some of the rows of a block whose rows are stored in order.
func (b *Block) Part(from, to int) *Block {
	if from == 0 && to == b.Len {
		return b
	}
	out := *b
	out.Len = to - from
	out.Item, out.CapturedMs, out.Epoch, out.Seq = cut(b.Item, from, to), cut(b.CapturedMs, from, to), cut(b.Epoch, from, to), cut(b.Seq, from, to)
	out.Capture, out.Offer, out.Outcome, out.PriceMinor = cut(b.Capture, from, to), cut(b.Offer, from, to), cut(b.Outcome, from, to), cut(b.PriceMinor, from, to)
	out.ShippingMinor, out.IsPrime = cut(b.ShippingMinor, from, to), cut(b.IsPrime, from, to)
	out.IsBuyBox, out.RatingTenths = cut(b.IsBuyBox, from, to), cut(b.RatingTenths, from, to)
	for _, d := range []*Dict{&out.Site, &out.Currency, &out.Merchant, &out.Manufacturer, &out.DeliveryText} {
		d.Index = cut(d.Index, from, to)
	}
	out.Title.Spans, out.URL.Spans = cut(b.Title.Spans, from, to), cut(b.URL.Spans, from, to)
	return &out
}

// cut returns a part of a column. A column that was not read is shorter than
// the block, or holds what an earlier read left there.
func cut[T any](column []T, from, to int) []T {
	if len(column) < to {
		return nil
	}
	return slices.Clip(column[from:to])
}
