package query

import "preismon/contracts"

// Block is a run of rows as columns, as the store read them. It is reused:
// nothing of it may be kept.
type Block struct {
	Len int

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

	// Only with ResultsQuery.Export.
	ShippingMinor []int64 // -1: none
	IsPrime       []uint8 // contracts.Flag
	IsBuyBox      []uint8 // contracts.Flag
	RatingTenths  []uint8 // contracts.NoRating: none
	Manufacturer  Dict
	DeliveryText  Dict
	Title         Texts
	URL           Texts
}

// Texts is a column of strings that lie in one buffer.
type Texts struct {
	Buf  []byte
	Ends []int
}

// Len is the number of strings.
func (t *Texts) Len() int { return len(t.Ends) }

// At gives a string; it lies in the column's buffer.
func (t *Texts) At(i int) []byte {
	if i == 0 {
		return t.Buf[:t.Ends[0]]
	}
	return t.Buf[t.Ends[i-1]:t.Ends[i]]
}

// Append adds a string.
func (t *Texts) Append(s string) {
	t.Buf = append(t.Buf, s...)
	t.Ends = append(t.Ends, len(t.Buf))
}

// Reset empties the column and keeps its room.
func (t *Texts) Reset() { t.Buf, t.Ends = t.Buf[:0], t.Ends[:0] }

// Dict is a column of strings with few distinct values: row i holds
// Values.At(Index[i]).
type Dict struct {
	Values Texts
	Index  []uint32
}

// At gives the string of row i.
func (d *Dict) At(i int) []byte { return d.Values.At(int(d.Index[i])) }

// Position is the place of row i in the order of results.
func (b *Block) Position(i int) Position {
	return Position{
		CapturedMs: b.CapturedMs[i], Item: contracts.ItemID(b.Item[i]), Site: contracts.SiteKey(b.Site.At(i)),
		Epoch: b.Epoch[i], Seq: b.Seq[i], Capture: b.Capture[i], Offer: b.Offer[i],
	}
}
