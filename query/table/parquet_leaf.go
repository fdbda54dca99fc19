package table

import (
	"bytes"
	"encoding/binary"
	"math"

	"preismon/query/frame"
)

// leaf is a column of a Parquet file that has values, and its part of the row
// group in progress.
type leaf struct {
	kind                   frame.Kind
	path                   []string
	definition, repetition uint8 // the maximum levels

	known known    // dictionary of texts
	met   *numbers // dictionary of numbers; an amount shares it with its money
	spilt bool     // there are too many texts for a dictionary

	pages        []byte
	values       int64 // including missing ones
	nulls        int64
	uncompressed int64
	bounds       bounds // of values that are in no dictionary
	plain        bool   // some pages contain plain values
	numbered     bool   // some pages contain numbers of dictionary values
}

// dictionaryBytes is the size up to which texts get a dictionary.
const dictionaryBytes = 1 << 20

// chunk describes a column of a row group that was written.
type chunk struct {
	Start, Data              int64
	Compressed, Uncompressed int64
	Dictionary               bool
	Values, Nulls            int64
	Least, Most              []byte // nil: unknown
	Plain, Numbered          bool   // how its pages are encoded
}

func (l *leaf) chunk() chunk {
	c := chunk{Uncompressed: l.uncompressed, Values: l.values, Nulls: l.nulls, Plain: l.plain, Numbered: l.numbered}
	c.Least, c.Most = l.extremes()
	return c
}

func (l *leaf) forget() {
	l.known.forget()
	l.met.forget()
	l.spilt, l.plain, l.numbered = false, false, false
	l.pages, l.values, l.nulls, l.uncompressed, l.bounds = l.pages[:0], 0, 0, 0, bounds{}
}

// numbers returns how many values the dictionary has.
func (l *leaf) numbers() int {
	if l.kind == frame.Text || l.kind == frame.JSON {
		return l.known.values.Len()
	}
	return len(l.met.values)
}

// dictionary returns the values of the dictionary in the form of its page.
func (l *leaf) dictionary(b []byte) []byte {
	switch l.kind {
	case frame.Text, frame.JSON:
		for i := range l.known.values.Len() {
			b = appendText(b, l.known.values.At(i))
		}
	case frame.Number:
		for _, d := range l.met.values {
			b = appendFloat(b, d.float())
		}
	default:
		for _, d := range l.met.values {
			b = binary.LittleEndian.AppendUint64(b, uint64(d.units))
		}
	}
	return b
}

func appendText(b, text []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}

func appendFloat(b []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
}

// bounds are the least and the greatest of some integers.
type bounds struct {
	some        bool
	least, most int64
}

func (b *bounds) add(n int64) {
	if !b.some {
		*b = bounds{true, n, n}
		return
	}
	b.least, b.most = min(b.least, n), max(b.most, n)
}

// statisticsBytes is the maximum length of a text in statistics.
const statisticsBytes = 64

// extremes returns the least and the greatest value, in the form of statistics.
func (l *leaf) extremes() (least, most []byte) {
	switch l.kind {
	case frame.Text:
		if l.spilt {
			return nil, nil
		}
		for i := range l.known.values.Len() {
			text := l.known.values.At(i)
			if least == nil || bytes.Compare(text, least) < 0 {
				least = text
			}
			if most == nil || bytes.Compare(text, most) > 0 {
				most = text
			}
		}
		if len(least) > statisticsBytes || len(most) > statisticsBytes {
			return nil, nil
		}
		return bytes.Clone(least), bytes.Clone(most)
	case frame.Number:
		low, high := math.Inf(1), math.Inf(-1)
		for _, d := range l.met.values {
			f := d.float()
			low, high = min(low, f), max(high, f)
		}
		if len(l.met.values) > 0 {
			return appendFloat(nil, low), appendFloat(nil, high)
		}
	case frame.Integer, frame.Instant:
		all := l.bounds
		for _, d := range l.met.values {
			all.add(d.units)
		}
		if all.some {
			return binary.LittleEndian.AppendUint64(nil, uint64(all.least)), binary.LittleEndian.AppendUint64(nil, uint64(all.most))
		}
	}
	return nil, nil
}

// decimal is a number in units of its last decimal place.
type decimal struct {
	units  int64
	digits uint8
}

func (d decimal) float() float64 { return frame.Float(d.units, d.digits) }

// numbers holds the numbers seen so far, numbered in order of appearance.
type numbers struct {
	values []decimal
	slots  []uint32 // number plus 1 by hash, open addressing
}

func (n *numbers) forget() {
	n.values = n.values[:0]
	clear(n.slots)
}

func (n *numbers) number(v decimal) uint32 {
	if 2*len(n.values) >= len(n.slots) {
		n.grow()
	}
	mask := uint64(len(n.slots) - 1)
	for at := (uint64(v.units)<<4 | uint64(v.digits)) * 0x9e3779b97f4a7c15 >> 20 & mask; ; at = (at + 1) & mask {
		switch s := n.slots[at]; {
		case s == 0:
			n.values = append(n.values, v)
			n.slots[at] = uint32(len(n.values))
			return uint32(len(n.values) - 1)
		case n.values[s-1] == v:
			return s - 1
		}
	}
}

func (n *numbers) grow() {
	n.slots = make([]uint32, max(1024, 2*len(n.slots)))
	values := n.values
	n.values = n.values[:0]
	for _, v := range values {
		n.number(v)
	}
}
