package query

import (
	"strconv"
	"unicode/utf8"

	"preismon/contracts"
	"preismon/query/frame"
)

// itemNumber is the number of the row's item.
type itemNumber struct{}

func (itemNumber) pen(_ *rowEncoder, key string) pen {
	key += `"`
	return func(out []byte, b *Block, i int) []byte {
		out = append(out, key...)
		out = strconv.AppendUint(out, b.Item[i], 10)
		return append(out, '"')
	}
}

func (itemNumber) vector(m *batcher, v *frame.Vector) {
	t := own(v)
	for _, i := range m.at {
		from := len(t.Buf)
		t.Buf = strconv.AppendUint(t.Buf, m.b.Item[i], 10)
		t.End(from)
	}
}

// own returns the vector's own texts, emptied.
func own(v *frame.Vector) *Texts {
	if v.Values == nil {
		v.Values = new(Texts)
	}
	v.Values.Reset()
	return v.Values
}

// dictText is a column of the block with few values; an empty one is null.
type dictText struct{ of func(*Block) *Dict }

func (d *dictText) pen(e *rowEncoder, key string) pen {
	f := &fragments{of: d.of, key: key}
	e.dicts = append(e.dicts, f)
	return func(out []byte, _ *Block, i int) []byte {
		return append(out, f.texts.At(int(f.index[i]))...)
	}
}

func (d *dictText) vector(m *batcher, v *frame.Vector) {
	dict := d.of(m.b)
	if v.Version != m.version {
		v.Values, v.Version = clean(&dict.Values), m.version
	}
	v.Index, v.Valid = room32(v.Index, len(m.at)), v.Valid.Room(len(m.at))
	some, spans := false, v.Values.Spans
	for k, i := range m.at {
		n := dict.Index[i]
		v.Index[k] = n
		if spans[n].From != spans[n].To {
			v.Valid.Set(k)
		} else {
			some = true
		}
	}
	v.Valid = missing(v.Valid, some)
}

// ownText is a column of the block with a separate text for each row; an empty
// one is null.
type ownText struct{ of func(*Block) *Texts }

func (o ownText) pen(_ *rowEncoder, key string) pen {
	return func(out []byte, b *Block, i int) []byte {
		return appendTextOrNull(append(out, key...), o.of(b).At(i))
	}
}

func (o ownText) vector(m *batcher, v *frame.Vector) {
	all := o.of(m.b)
	t := own(v)
	t.Buf = all.Buf
	v.Valid = v.Valid.Room(len(m.at))
	some, bad := false, false
	for k, i := range m.at {
		s := all.Spans[i]
		t.Spans = append(t.Spans, s)
		if s.From == s.To {
			some = true
			continue
		}
		v.Valid.Set(k)
		bad = bad || !utf8.Valid(all.Buf[s.From:s.To])
	}
	if v.Valid = missing(v.Valid, some); bad {
		*t = *cleaned(t)
	}
}

// captured is the time of the row's capture.
type captured struct{}

func (captured) pen(e *rowEncoder, key string) pen {
	key += `"`
	return func(out []byte, b *Block, i int) []byte {
		return append(e.zone.append(append(out, key...), b.CapturedMs[i]), '"')
	}
}

func (captured) vector(m *batcher, v *frame.Vector) {
	if m.flat {
		t := own(v)
		for _, i := range m.at {
			from := len(t.Buf)
			t.Buf = m.e.zone.append(t.Buf, m.b.CapturedMs[i])
			t.End(from)
		}
		return
	}
	v.Ints = room64(v.Ints, len(m.at))
	for k, i := range m.at {
		v.Ints[k] = m.b.CapturedMs[i]
	}
}

// codes are texts selected by a small number of the row.
type codes struct {
	of     func(b *Block, i int) uint8
	values *Texts
}

func (c *codes) pen(_ *rowEncoder, key string) pen {
	f := &fragments{key: key}
	f.fill(c.values)
	return func(out []byte, b *Block, i int) []byte {
		return append(out, f.texts.At(int(c.of(b, i)))...)
	}
}

func (c *codes) vector(m *batcher, v *frame.Vector) {
	v.Values, v.Version, v.Index = c.values, 1, room32(v.Index, len(m.at))
	for k, i := range m.at {
		v.Index[k] = uint32(c.of(m.b, int(i)))
	}
}

// flagOf is an observed flag, at sites that have it; an unknown one is left out
// (FLD-02d), as shown decides.
type flagOf struct{ of func(*Block) []uint8 }

// shown returns the flag of a row; false: the row does not show it.
func (f flagOf) shown(e *rowEncoder, b *Block, i int) (set, ok bool) {
	flag := contracts.Flag(f.of(b)[i])
	return flag == contracts.FlagTrue, (flag == contracts.FlagTrue || flag == contracts.FlagFalse) && e.marks[b.Site.Index[i]].offerFlags
}

func (f flagOf) pen(e *rowEncoder, key string) pen {
	yes, no := key+"true", key+"false"
	return func(out []byte, b *Block, i int) []byte {
		switch set, ok := f.shown(e, b, i); {
		case !ok:
			return out
		case set:
			return append(out, yes...)
		}
		return append(out, no...)
	}
}

func (f flagOf) vector(m *batcher, v *frame.Vector) {
	v.Valid, v.Bits = v.Valid.Room(len(m.at)), v.Bits.Room(len(m.at))
	for k, i := range m.at {
		set, ok := f.shown(m.e, m.b, int(i))
		if ok {
			v.Valid.Set(k)
		}
		if set && ok {
			v.Bits.Set(k)
		}
	}
}

// rating is the buyers' rating of the product, at sites that have it.
type rating struct{}

const ratingScale = 5

func (rating) of(e *rowEncoder, b *Block, i int) (tenths int64, ok bool) {
	t := b.RatingTenths[i]
	return int64(t), t != contracts.NoRating && e.marks[b.Site.Index[i]].rating
}

func (r rating) pen(e *rowEncoder, key string) pen {
	key += `{"value":`
	return func(out []byte, b *Block, i int) []byte {
		if tenths, ok := r.of(e, b, i); ok {
			out = appendRating(append(out, key...), tenths)
		}
		return out
	}
}

func appendRating(out []byte, tenths int64) []byte {
	out = contracts.AppendMinor(out, tenths, 1)
	out = append(out, `,"scale":`...)
	return append(strconv.AppendInt(out, ratingScale, 10), '}')
}

func (r rating) vector(m *batcher, v *frame.Vector) {
	n := len(m.at)
	v.Valid = v.Valid.Room(n)
	if m.flat {
		t := own(v)
		for k, i := range m.at {
			from := len(t.Buf)
			if tenths, ok := r.of(m.e, m.b, int(i)); ok {
				v.Valid.Set(k)
				t.Buf = appendRating(append(t.Buf, `{"value":`...), tenths)
			}
			t.End(from)
		}
		return
	}
	v.Members = members(v, 2)
	value, scale := &v.Members[0], &v.Members[1]
	value.Ints, value.Digits, scale.Ints = room64(value.Ints, n), room8(value.Digits, n), room64(scale.Ints, n)
	for k, i := range m.at {
		tenths, ok := r.of(m.e, m.b, int(i))
		value.Ints[k], value.Digits[k], scale.Ints[k] = tenths, 1, ratingScale
		if ok {
			v.Valid.Set(k)
		}
	}
	value.Valid, scale.Valid = v.Valid, v.Valid
}

// members returns the vector's own members.
func members(v *frame.Vector, n int) []frame.Vector {
	if v.Members == nil {
		v.Members = make([]frame.Vector, n)
	}
	return v.Members
}
