package store

import (
	"fmt"
	"slices"

	"preismon/query"

	"github.com/ClickHouse/ch-go/proto"
)

// dictColumn reads LowCardinality(String) as the dictionary and the index
// that the server sends, without spelling out each row: what is done to a
// value is then done once a block.
type dictColumn struct {
	to   *query.Dict
	keep bool // add to the rows that are there
}

func (c dictColumn) Type() proto.ColumnType {
	return proto.ColumnTypeLowCardinality.Sub(proto.ColumnTypeString)
}
func (c dictColumn) Rows() int { return len(c.to.Index) }
func (c dictColumn) Reset() {
	if c.keep {
		return
	}
	c.to.Values.Reset()
	c.to.Index = c.to.Index[:0]
}

// The native form of a LowCardinality column: a version, then for each block
// flags with the width of the keys, the dictionary, and the keys.
const (
	lowCardinalityVersion = 1
	keyWidthMask          = 0xff
	globalDictionaryFlag  = 1 << 8
	additionalKeysFlag    = 1 << 9
)

// DecodeState reads the version that stands before the column.
func (c dictColumn) DecodeState(r *proto.Reader) error {
	v, err := r.Int64()
	if err != nil {
		return fmt.Errorf("dictionary version: %w", err)
	}
	if v != lowCardinalityVersion {
		return fmt.Errorf("dictionary version %d, expected %d", v, lowCardinalityVersion)
	}
	return nil
}

// DecodeColumn reads a block of rows.
func (c dictColumn) DecodeColumn(r *proto.Reader, rows int) error {
	if rows == 0 {
		return nil
	}
	flags, err := r.Int64()
	if err != nil {
		return fmt.Errorf("dictionary flags: %w", err)
	}
	if flags&globalDictionaryFlag != 0 || flags&additionalKeysFlag == 0 {
		return fmt.Errorf("dictionary flags %#x are not supported", flags)
	}
	n, err := r.Int64()
	if err != nil {
		return fmt.Errorf("dictionary size: %w", err)
	}
	if n < 0 || n > 1<<26 {
		return fmt.Errorf("dictionary size %d", n)
	}
	first := uint32(c.to.Values.Len())
	if err := readTexts(r, &c.to.Values, int(n)); err != nil {
		return fmt.Errorf("dictionary: %w", err)
	}
	keys, err := r.Int64()
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	if keys != int64(rows) {
		return fmt.Errorf("%d keys for %d rows", keys, rows)
	}
	width := 1 << (flags & keyWidthMask)
	if width > 8 {
		return fmt.Errorf("key width %d", width)
	}
	raw, err := r.ReadRaw(rows * width)
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	for i := 0; i < len(raw); i += width {
		var key uint64
		for b := width - 1; b >= 0; b-- {
			key = key<<8 | uint64(raw[i+b])
		}
		if key >= uint64(n) {
			return fmt.Errorf("key %d in a dictionary of %d", key, n)
		}
		c.to.Index = append(c.to.Index, first+uint32(key))
	}
	return nil
}

// textColumn reads String into one buffer.
type textColumn struct {
	to   *query.Texts
	keep bool // add to the rows that are there
}

func (c textColumn) Type() proto.ColumnType { return proto.ColumnTypeString }
func (c textColumn) Rows() int              { return c.to.Len() }

func (c textColumn) Reset() {
	if !c.keep {
		c.to.Reset()
	}
}

// DecodeColumn reads a block of rows.
func (c textColumn) DecodeColumn(r *proto.Reader, rows int) error { return readTexts(r, c.to, rows) }

func readTexts(r *proto.Reader, to *query.Texts, n int) error {
	to.Ends = slices.Grow(to.Ends, n)
	for range n {
		size, err := r.StrLen()
		if err != nil {
			return err
		}
		start := len(to.Buf)
		to.Buf = slices.Grow(to.Buf, size)[:start+size]
		if err := r.ReadFull(to.Buf[start:]); err != nil {
			return err
		}
		to.Ends = append(to.Ends, start+size)
	}
	return nil
}

// blockColumns are the columns of a query.Block as ch-go fills them.
type blockColumns struct {
	block query.Block

	item       proto.ColUInt64
	capturedMs proto.ColInt64
	epoch      proto.ColUInt32
	seq        proto.ColUInt64
	capture    proto.ColUInt16
	offer      proto.ColUInt16
	outcome    proto.ColUInt8
	price      proto.ColInt64

	shipping proto.ColInt64
	prime    proto.ColUInt8
	buyBox   proto.ColUInt8
	rating   proto.ColUInt8
}

// results names the columns in the order of results.sql; texts go to b,
// behind those it has when they are to be kept.
func (c *blockColumns) results(export bool, b *query.Block, keep bool) proto.Results {
	dict := func(d *query.Dict) dictColumn { return dictColumn{d, keep} }
	text := func(t *query.Texts) textColumn { return textColumn{t, keep} }
	cols := proto.Results{
		{Name: "item", Data: &c.item},
		{Name: "site", Data: dict(&b.Site)},
		{Name: "captured_ms", Data: &c.capturedMs},
		{Name: "epoch", Data: &c.epoch},
		{Name: "seq", Data: &c.seq},
		{Name: "capture", Data: &c.capture},
		{Name: "offer", Data: &c.offer},
		{Name: "outcome_code", Data: &c.outcome},
		{Name: "currency", Data: dict(&b.Currency)},
		{Name: "price_minor", Data: &c.price},
		{Name: "merchant", Data: dict(&b.Merchant)},
	}
	if export {
		cols = append(cols,
			proto.ResultColumn{Name: "shipping_minor", Data: &c.shipping},
			proto.ResultColumn{Name: "is_prime", Data: &c.prime},
			proto.ResultColumn{Name: "is_buy_box", Data: &c.buyBox},
			proto.ResultColumn{Name: "rating_tenths", Data: &c.rating},
			proto.ResultColumn{Name: "manufacturer", Data: dict(&b.Manufacturer)},
			proto.ResultColumn{Name: "delivery_text", Data: dict(&b.DeliveryText)},
			proto.ResultColumn{Name: "title", Data: text(&b.Title)},
			proto.ResultColumn{Name: "url", Data: text(&b.URL)},
		)
	}
	return cols
}

// addTo adds the numbers that were just read to a block that has the texts.
func (c *blockColumns) addTo(b *query.Block) {
	b.Len += len(c.item)
	b.Item = append(b.Item, c.item...)
	b.CapturedMs = append(b.CapturedMs, c.capturedMs...)
	b.Epoch = append(b.Epoch, c.epoch...)
	b.Seq = append(b.Seq, c.seq...)
	b.Capture = append(b.Capture, c.capture...)
	b.Offer = append(b.Offer, c.offer...)
	b.Outcome = append(b.Outcome, c.outcome...)
	b.PriceMinor = append(b.PriceMinor, c.price...)
	b.ShippingMinor = append(b.ShippingMinor, c.shipping...)
	b.IsPrime = append(b.IsPrime, c.prime...)
	b.IsBuyBox = append(b.IsBuyBox, c.buyBox...)
	b.RatingTenths = append(b.RatingTenths, c.rating...)
}

// filled gives the block of what was just read; it shares the columns.
func (c *blockColumns) filled() *query.Block {
	b := &c.block
	b.Len = len(c.item)
	b.Item, b.CapturedMs, b.Epoch, b.Seq = c.item, c.capturedMs, c.epoch, c.seq
	b.Capture, b.Offer, b.Outcome, b.PriceMinor = c.capture, c.offer, c.outcome, c.price
	b.ShippingMinor, b.IsPrime, b.IsBuyBox, b.RatingTenths = c.shipping, c.prime, c.buyBox, c.rating
	return b
}
