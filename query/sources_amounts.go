package query

import (
	"strconv"

	"preismon/contracts"
	"preismon/query/frame"
)

// amount is an amount of the row, in the main unit of its currency.
type amount uint8

const (
	priceOf amount = iota
	shippingOf
	totalOf
)

// amounts are those of a batch's rows, in minor units.
type amounts struct {
	ints  []int64
	valid frame.Bits // those that are present; nil: all
	room  frame.Bits
	made  bool
}

// of is the amount of a row in minor units; below 0: none.
func (a amount) of(b *Block, i int) int64 {
	switch a {
	case priceOf:
		return b.PriceMinor[i]
	case shippingOf:
		return b.ShippingMinor[i]
	}
	price, shipping := b.PriceMinor[i], b.ShippingMinor[i]
	if price < 0 || shipping < 0 {
		return -1
	}
	return price + shipping
}

func (a amount) pen(e *rowEncoder, key string) pen {
	none := key + "null"
	return func(out []byte, b *Block, i int) []byte {
		minor := a.of(b, i)
		if minor < 0 {
			return append(out, none...)
		}
		out = append(out, key...)
		e.amount.from = len(out)
		out = contracts.AppendMinor(out, minor, e.currencies[b.Currency.Index[i]].digits)
		e.amount.to = len(out)
		return out
	}
}

func (a amount) vector(m *batcher, v *frame.Vector) {
	all := m.amountsOf(a)
	v.Ints, v.Digits, v.Valid = all.ints, m.digits, all.valid
}

func (m *batcher) amountsOf(a amount) *amounts {
	all := &m.amounts[a]
	if all.made {
		return all
	}
	all.made = true
	all.ints, all.room = room64(all.ints, len(m.at)), all.room.Room(len(m.at))
	some := false
	for k, i := range m.at {
		minor := a.of(m.b, int(i))
		all.ints[k] = minor
		if minor >= 0 {
			all.room.Set(k)
		} else {
			some = true
		}
	}
	all.valid = missing(all.room, some)
	return all
}

// moneyOf is an amount with its currency. Its field follows that of the plain
// amount, whose digits it copies.
type moneyOf struct{ amount }

func (o moneyOf) pen(e *rowEncoder, key string) pen {
	none, some := key+"null", key+`{"value":`
	return func(out []byte, b *Block, i int) []byte {
		minor := o.of(b, i)
		if minor < 0 {
			return append(out, none...)
		}
		out = append(out, some...)
		out = append(out, out[e.amount.from:e.amount.to]...)
		out = append(out, `,"amountMinor":`...)
		out = strconv.AppendInt(out, minor, 10)
		return append(out, e.currencies[b.Currency.Index[i]].money...)
	}
}

func (o moneyOf) vector(m *batcher, v *frame.Vector) {
	all := m.amountsOf(o.amount)
	v.Valid = all.valid
	v.Members = members(v, 3)
	v.Members[0] = frame.Vector{Ints: all.ints, Digits: m.digits, Valid: all.valid}
	v.Members[1] = frame.Vector{Ints: all.ints, Valid: all.valid}
	v.Members[2] = m.currency
	v.Members[2].Valid = all.valid
}

// currencyCode is the currency of the row.
type currencyCode struct{ *dictText }

func (currencyCode) vector(m *batcher, v *frame.Vector) { *v = m.currency }
