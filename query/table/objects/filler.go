package objects

import (
	"strconv"

	"preismon/query/frame"
)

// filler fills a column, and the columns within it, with JSON values.
type filler struct {
	*frame.Column
	to      frame.Vector
	n       int
	some    bool // some are missing
	texts   frame.Texts
	members []*filler
	object  *shape
	each    func(name, value []byte) error
	room    []byte
}

func fillerOf(c *frame.Column, loose bool) *filler {
	f := &filler{Column: c}
	switch c.Kind {
	case frame.List:
		f.members = []*filler{fillerOf(&c.Members[0], loose)}
		f.each = func(_, value []byte) error { return f.members[0].append(value) }
	case frame.Object:
		f.object = shapeOf(names(c.Members), loose)
		for i := range c.Members {
			f.members = append(f.members, fillerOf(&c.Members[i], loose))
		}
	case frame.Words:
		key, word := frame.Column{Name: "key", Kind: frame.Text}, frame.Column{Name: "value", Kind: frame.Text}
		f.members = []*filler{fillerOf(&key, loose), fillerOf(&word, loose)}
		f.each = func(name, value []byte) error {
			if err := f.members[0].append(name); err != nil {
				return err
			}
			return f.members[1].append(value)
		}
	}
	return f
}

// append adds a value; an empty one is absent.
func (f *filler) append(value []byte) error {
	if f.n%8 == 0 {
		f.to.Valid = append(f.to.Valid, 0)
	}
	if isNull(value) {
		if !f.Empty() {
			return missing(f.Column)
		}
		f.some = true
		f.skip()
		return nil
	}
	f.to.Valid.Set(f.n)
	f.n++
	switch f.Kind {
	case frame.List, frame.Words:
		if bracket := map[frame.Kind]byte{frame.List: '[', frame.Words: '{'}[f.Kind]; value[0] != bracket {
			return unfit(f.Column, value)
		}
		if _, err := items(value, f.each); err != nil {
			return err
		}
		f.to.Ends = append(f.to.Ends, int32(f.members[0].n))
		return nil
	case frame.Object:
		if _, err := f.object.read(value); err != nil {
			return err
		}
		for i, m := range f.members {
			if err := m.append(f.object.cells[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return f.scalar(value)
}

func (f *filler) scalar(value []byte) (err error) {
	switch f.Kind {
	case frame.Number:
		units, digits, ok := decimal(value)
		if !ok {
			return unfit(f.Column, value)
		}
		f.to.Ints, f.to.Digits = append(f.to.Ints, units), append(f.to.Digits, digits)
	case frame.Integer:
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return unfit(f.Column, value)
		}
		f.to.Ints = append(f.to.Ints, n)
	case frame.Instant:
		if len(value) < 2 || value[0] != '"' {
			return unfit(f.Column, value)
		}
		ms, ok := instant(value[1 : len(value)-1])
		if !ok {
			return unfit(f.Column, value)
		}
		f.to.Ints = append(f.to.Ints, ms)
	case frame.Boolean:
		f.flag(value[0] == 't')
	case frame.Text:
		if value[0] != '"' {
			return unfit(f.Column, value)
		}
		var text []byte
		if text, f.room, err = unquote(value, f.room[:0]); err != nil {
			return err
		}
		f.text(text)
	default:
		if value, err = compact(value); err != nil {
			return err
		}
		f.text(value)
	}
	return nil
}

func (f *filler) text(text []byte) {
	from := len(f.texts.Buf)
	f.texts.Buf = append(f.texts.Buf, text...)
	f.texts.End(from)
}

func (f *filler) flag(yes bool) {
	if (f.n-1)%8 == 0 {
		f.to.Bits = append(f.to.Bits, 0)
	}
	if yes {
		f.to.Bits.Set(f.n - 1)
	}
}

// skip adds a missing value.
func (f *filler) skip() {
	if f.n%8 == 0 && len(f.to.Valid) <= f.n/8 {
		f.to.Valid = append(f.to.Valid, 0)
	}
	f.n++
	switch f.Kind {
	case frame.Number:
		f.to.Ints, f.to.Digits = append(f.to.Ints, 0), append(f.to.Digits, 0)
	case frame.Integer, frame.Instant:
		f.to.Ints = append(f.to.Ints, 0)
	case frame.Boolean:
		f.flag(false)
	case frame.List, frame.Words:
		f.to.Ends = append(f.to.Ends, int32(f.members[0].n))
	case frame.Object:
		for _, m := range f.members {
			m.some = true
			m.skip()
		}
	default:
		f.text(nil)
	}
}

// vector returns the column filled so far.
func (f *filler) vector() *frame.Vector {
	v := &f.to
	if !f.some {
		v.Valid = nil
	}
	v.Values = &f.texts
	v.Members = v.Members[:0]
	for _, m := range f.members {
		v.Members = append(v.Members, *m.vector())
	}
	return v
}

func (f *filler) reset() {
	f.to = frame.Vector{Ints: f.to.Ints[:0], Digits: f.to.Digits[:0], Bits: f.to.Bits[:0], Ends: f.to.Ends[:0], Members: f.to.Members[:0]}
	f.n, f.some = 0, false
	f.texts.Reset()
	for _, m := range f.members {
		m.reset()
	}
}

// mostDigits fit into an int64, and are more than a double has.
const mostDigits = 18

// decimal parses a number without an exponent. Decimal places that do not fit
// are left out.
func decimal(b []byte) (units int64, digits uint8, ok bool) {
	var plain [24]byte
	n, point := 0, false
	for i, c := range b {
		switch {
		case c == '-' && i == 0, c >= '0' && c <= '9':
			if point && n >= mostDigits {
				continue
			}
			if n == len(plain) {
				return 0, 0, false
			}
			plain[n] = c
			if n++; point {
				digits++
			}
		case c == '.' && !point && i > 0:
			point = true
		default:
			return 0, 0, false
		}
	}
	units, err := strconv.ParseInt(string(plain[:n]), 10, 64)
	return units, digits, err == nil && digits <= 15
}
