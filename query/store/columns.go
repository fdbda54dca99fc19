package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"preismon/query"

	"github.com/ClickHouse/ch-go/proto"
)

// dictColumn reads LowCardinality(String) as the dictionary and the index that
// the server sends, without expanding each row, so that a value is processed
// only once per block.
type dictColumn struct {
	to   *query.Dict
	keep bool // append to the existing rows
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

// DecodeState reads the version that precedes the column.
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
	c.to.Index = slices.Grow(c.to.Index, rows)
	index := c.to.Index[len(c.to.Index) : len(c.to.Index)+rows]
	greatest := uint64(0)
	switch width {
	case 1:
		for i, key := range raw[:rows] {
			index[i] = first + uint32(key)
			greatest = max(greatest, uint64(key))
		}
	case 2:
		for i := range index {
			key := binary.LittleEndian.Uint16(raw[2*i:])
			index[i] = first + uint32(key)
			greatest = max(greatest, uint64(key))
		}
	default:
		for i := range index {
			key := uint64(binary.LittleEndian.Uint32(raw[width*i:]))
			if width == 8 {
				key = binary.LittleEndian.Uint64(raw[width*i:])
			}
			index[i] = first + uint32(key)
			greatest = max(greatest, key)
		}
	}
	if greatest >= uint64(n) {
		return fmt.Errorf("key %d in a dictionary of %d", greatest, n)
	}
	c.to.Index = c.to.Index[:len(c.to.Index)+rows]
	return nil
}

// textColumn reads String into one buffer.
type textColumn struct {
	to   *query.Texts
	keep bool // append to the existing rows
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

// readTexts reads n strings, each preceded by its length, as they are on the
// wire. It never reads beyond the last: each string that is still missing takes
// at least one byte, so it reads at least that many at once.
func readTexts(r *proto.Reader, to *query.Texts, n int) error {
	to.Spans = slices.Grow(to.Spans, n)
	at, end := len(to.Buf), uint64(len(to.Buf)) // where parsing continues, and where the string there ends
	for n > 0 {
		more := n
		if end > uint64(len(to.Buf)) { // the first of them has begun: add its rest
			more += int(end) - len(to.Buf) - 1
		}
		start := len(to.Buf)
		if uint64(start+more) > math.MaxUint32 {
			return errors.New("strings of more than 4 GiB")
		}
		to.Buf = slices.Grow(to.Buf, more)[:start+more]
		if err := r.ReadFull(to.Buf[start:]); err != nil {
			return err
		}
		for n > 0 {
			size, width := binary.Uvarint(to.Buf[at:])
			if width == 0 {
				break // the length itself is not complete
			}
			if width < 0 || size > math.MaxUint32 {
				return errors.New("length of a string")
			}
			from := at + width
			if end = uint64(from) + size; end > uint64(len(to.Buf)) {
				break
			}
			to.Spans = append(to.Spans, query.Span{From: uint32(from), To: uint32(end)})
			at = int(end)
			n--
		}
	}
	return nil
}

// blockColumns are the columns of a block as ch-go fills them.
type blockColumns struct {
	query.Block
	mandate proto.ColUInt64 // for rows of several mandates
}

// columnSet is which columns rows have in addition to those of every read.
type columnSet uint8

const (
	noMore columnSet = iota
	standingColumns
	exportColumns
	// ofMandates is added where rows are read for several mandates.
	ofMandates columnSet = 1 << 7
)

func columnsOf(q *query.ResultsQuery) columnSet {
	switch {
	case q.Export:
		return exportColumns
	case q.Standing:
		return standingColumns
	}
	return noMore
}

// results names the columns in the order of results.sql; numbers replace those of
// c, and texts go to b, appended to those it has if keep is set.
func (c *blockColumns) results(more columnSet, b *query.Block, keep bool) proto.Results {
	dict := func(d *query.Dict) dictColumn { return dictColumn{d, keep} }
	text := func(t *query.Texts) textColumn { return textColumn{t, keep} }
	cols := proto.Results{
		{Name: "item", Data: (*proto.ColUInt64)(&c.Item)},
		{Name: "site", Data: dict(&b.Site)},
		{Name: "captured_ms", Data: (*proto.ColInt64)(&c.CapturedMs)},
		{Name: "epoch", Data: (*proto.ColUInt32)(&c.Epoch)},
		{Name: "seq", Data: (*proto.ColUInt64)(&c.Seq)},
		{Name: "capture", Data: (*proto.ColUInt16)(&c.Capture)},
		{Name: "offer", Data: (*proto.ColUInt16)(&c.Offer)},
		{Name: "outcome_code", Data: (*proto.ColUInt8)(&c.Outcome)},
		{Name: "currency", Data: dict(&b.Currency)},
		{Name: "price_minor", Data: (*proto.ColInt64)(&c.PriceMinor)},
		{Name: "merchant", Data: dict(&b.Merchant)},
	}
	switch more &^ ofMandates {
	case standingColumns:
		cols = append(cols,
			proto.ResultColumn{Name: "shipping_minor", Data: (*proto.ColInt64)(&c.ShippingMinor)},
			proto.ResultColumn{Name: "is_buy_box", Data: (*proto.ColUInt8)(&c.IsBuyBox)},
		)
	case exportColumns:
		cols = append(cols,
			proto.ResultColumn{Name: "shipping_minor", Data: (*proto.ColInt64)(&c.ShippingMinor)},
			proto.ResultColumn{Name: "is_prime", Data: (*proto.ColUInt8)(&c.IsPrime)},
			proto.ResultColumn{Name: "is_buy_box", Data: (*proto.ColUInt8)(&c.IsBuyBox)},
			proto.ResultColumn{Name: "rating_tenths", Data: (*proto.ColUInt8)(&c.RatingTenths)},
			proto.ResultColumn{Name: "manufacturer", Data: dict(&b.Manufacturer)},
			proto.ResultColumn{Name: "delivery_text", Data: dict(&b.DeliveryText)},
			proto.ResultColumn{Name: "title", Data: text(&b.Title)},
			proto.ResultColumn{Name: "url", Data: text(&b.URL)},
		)
	}
	if more&ofMandates != 0 {
		cols = append(cols, proto.ResultColumn{Name: "mandate", Data: &c.mandate})
	}
	return cols
}

// addTo appends the numbers that were just read to a block that already has the
// texts, and at first makes room for all expected rows: room that grows step by
// step leaves several times its size as garbage.
func (c *blockColumns) addTo(b *query.Block, expected int) {
	if b.Len == 0 {
		reserve(b, len(c.Item), expected)
	}
	b.Len += len(c.Item)
	b.Item = add(b.Item, c.Item, expected)
	b.CapturedMs = add(b.CapturedMs, c.CapturedMs, expected)
	b.Epoch = add(b.Epoch, c.Epoch, expected)
	b.Seq = add(b.Seq, c.Seq, expected)
	b.Capture = add(b.Capture, c.Capture, expected)
	b.Offer = add(b.Offer, c.Offer, expected)
	b.Outcome = add(b.Outcome, c.Outcome, expected)
	b.PriceMinor = add(b.PriceMinor, c.PriceMinor, expected)
	b.ShippingMinor = add(b.ShippingMinor, c.ShippingMinor, expected)
	b.IsPrime = add(b.IsPrime, c.IsPrime, expected)
	b.IsBuyBox = add(b.IsBuyBox, c.IsBuyBox, expected)
	b.RatingTenths = add(b.RatingTenths, c.RatingTenths, expected)
}

// add appends values; the first call makes room for all that are expected.
func add[T any](to, values []T, expected int) []T {
	if len(to) == 0 && len(values) > 0 {
		to = slices.Grow(to, max(len(values), expected))
	}
	return append(to, values...)
}

// reserve makes room for the texts of all rows, based on those of the first
// block.
func reserve(b *query.Block, rows, expected int) {
	more := expected - rows
	if more <= 0 {
		return
	}
	for _, t := range []*query.Texts{&b.Title, &b.URL} {
		if t.Len() > 0 {
			t.Spans = slices.Grow(t.Spans, more)
			t.Buf = slices.Grow(t.Buf, len(t.Buf)/rows*more+len(t.Buf)/8)
		}
	}
	for _, d := range []*query.Dict{&b.Site, &b.Currency, &b.Merchant, &b.Manufacturer, &b.DeliveryText} {
		if len(d.Index) > 0 {
			d.Index = slices.Grow(d.Index, more)
		}
	}
}

// filled returns the block that was just read.
func (c *blockColumns) filled() *query.Block {
	c.Len = len(c.Item)
	return &c.Block
}
