package query

import (
	"slices"
	"strconv"
	"strings"

	"preismon/contracts"
)

// choose makes the encoder write rows as arrays of some fields instead of
// objects: "a", or "a.b" for the member b of the object a. What a row does not
// have is null.
func (e *rowEncoder) choose(names []string) {
	e.arrays, e.pens, e.dicts = true, nil, nil
	fields := e.include.fields()
	for _, name := range names {
		e.pens = append(e.pens, e.chosen(fields, name))
	}
}

func (e *rowEncoder) chosen(fields []*field, name string) pen {
	name, member, nested := strings.Cut(name, ".")
	if i := slices.IndexFunc(fields, func(f *field) bool { return f.Name == name }); i >= 0 {
		switch made := fields[i].made.(type) {
		case parted:
			if nested {
				return made.part(e, member)
			}
			return made.alone(e)
		case source:
			if !nested {
				return made.pen(e, "")
			}
		}
	}
	return func(out []byte, _ *Block, _ int) []byte { return out }
}

// parted is the source of an object whose members are known.
type parted interface {
	source
	// alone returns a pen of the whole object that does not need the pens of
	// other fields.
	alone(e *rowEncoder) pen
	// part returns the pen of a member.
	part(e *rowEncoder, member string) pen
}

// appendArray writes row i of the block as an array of the chosen fields.
func (e *rowEncoder) appendArray(out []byte, b *Block, i int) []byte {
	before := byte('[')
	for _, p := range e.pens {
		out = append(out, before)
		before = ','
		from := len(out)
		if out = p(out, b, i); len(out) == from {
			out = append(out, "null"...)
		}
	}
	return append(out, ']')
}

func (o moneyOf) alone(e *rowEncoder) pen {
	amount, money := o.amount.pen(e, ""), o.pen(e, "")
	return func(out []byte, b *Block, i int) []byte {
		from := len(out)
		out = amount(out, b, i) // that money copies
		to := len(out)
		out = money(out, b, i)
		return append(out[:from], out[to:]...)
	}
}

func (o moneyOf) part(e *rowEncoder, member string) pen {
	if member == "value" {
		return o.amount.pen(e, "")
	}
	return func(out []byte, b *Block, i int) []byte {
		minor := o.of(b, i)
		switch {
		case minor < 0:
			return out
		case member == "amountMinor":
			return strconv.AppendInt(out, minor, 10)
		}
		return appendTextOrNull(out, b.Currency.At(i))
	}
}

func (r rating) alone(e *rowEncoder) pen { return r.pen(e, "") }

func (r rating) part(e *rowEncoder, member string) pen {
	return func(out []byte, b *Block, i int) []byte {
		tenths, ok := r.of(e, b, i)
		switch {
		case !ok:
			return out
		case member == "value":
			return contracts.AppendMinor(out, tenths, 1)
		}
		return strconv.AppendInt(out, ratingScale, 10)
	}
}

func (m referencePriceMoney) alone(e *rowEncoder) pen { return m.pen(e, "") }

func (referencePriceMoney) part(e *rowEncoder, member string) pen {
	return func(out []byte, _ *Block, i int) []byte {
		p := e.rich.prices[i].single()
		switch {
		case p == nil:
			return out
		case member == "value":
			return contracts.AppendMinor(out, p.AmountMinor, p.CurrencyCode.Digits())
		case member == "amountMinor":
			return strconv.AppendInt(out, p.AmountMinor, 10)
		}
		return AppendJSONString(out, []byte(p.CurrencyCode))
	}
}
