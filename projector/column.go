package projector

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/ClickHouse/ch-go/proto"
)

// dict is a LowCardinality(String) column for inserts. Unlike ch-go's own it
// looks up a value when it is appended, in a table that is reused from block to
// block; values of earlier blocks cost nothing.
type dict struct {
	seed   maphash.Seed
	slots  []uint32 // place in values, + 1; open addressing; length a power of two
	values []string
	keys   []uint32
	last   string
	lastAt uint32
}

func newDict() *dict {
	return &dict{seed: maphash.MakeSeed(), slots: make([]uint32, 256)}
}

// Append adds a row.
func (d *dict) Append(s string) {
	if s != d.last || len(d.values) == 0 {
		d.lastAt = d.place(s)
		d.last = s
	}
	d.keys = append(d.keys, d.lastAt)
}

func (d *dict) place(s string) uint32 {
	mask := uint64(len(d.slots) - 1)
	i := maphash.String(d.seed, s) & mask
	for d.slots[i] != 0 {
		if at := d.slots[i] - 1; d.values[at] == s {
			return at
		}
		i = (i + 1) & mask
	}
	d.values = append(d.values, s)
	at := uint32(len(d.values) - 1)
	d.slots[i] = at + 1
	if len(d.values)*2 > len(d.slots) {
		d.grow()
	}
	return at
}

func (d *dict) grow() {
	d.slots = make([]uint32, 2*len(d.slots))
	mask := uint64(len(d.slots) - 1)
	for at, s := range d.values {
		i := maphash.String(d.seed, s) & mask
		for d.slots[i] != 0 {
			i = (i + 1) & mask
		}
		d.slots[i] = uint32(at) + 1
	}
}

// Reset drops the rows and the values.
func (d *dict) Reset() {
	clear(d.slots)
	clear(d.values) // releases the events' strings
	d.values, d.keys, d.last = d.values[:0], d.keys[:0], ""
}

func (d *dict) Type() proto.ColumnType { return "LowCardinality(String)" }
func (d *dict) Rows() int              { return len(d.keys) }

func (d *dict) EncodeState(b *proto.Buffer) { b.PutInt64(1) } // dictionaries are sent with their block

func (d *dict) EncodeColumn(b *proto.Buffer) {
	if len(d.keys) == 0 {
		return
	}
	const additionalKeys, updateDictionary = 1 << 9, 1 << 10
	width := int64(2)
	switch n := len(d.values); {
	case n <= 1<<8:
		width = 0
	case n <= 1<<16:
		width = 1
	}
	b.PutInt64(additionalKeys | updateDictionary | width)
	b.PutInt64(int64(len(d.values)))
	for _, v := range d.values {
		b.PutString(v)
	}
	b.PutInt64(int64(len(d.keys)))
	// Nothing of d is written here: several inserts encode it concurrently.
	switch width {
	case 0:
		for _, k := range d.keys {
			b.Buf = append(b.Buf, uint8(k))
		}
	case 1:
		for _, k := range d.keys {
			b.Buf = binary.LittleEndian.AppendUint16(b.Buf, uint16(k))
		}
	default:
		proto.ColUInt32(d.keys).EncodeColumn(b)
	}
}

func (d *dict) WriteColumn(w *proto.Writer) { w.ChainBuffer(d.EncodeColumn) }

// text is a String column for inserts, kept in its wire format, so that no
// insert copies it: three tables send the same bytes.
type text struct {
	wire []byte // length as a varint, then the bytes, one value after the other
	rows int
}

// Append adds a row.
func (t *text) Append(s string) {
	t.wire = append(binary.AppendUvarint(t.wire, uint64(len(s))), s...)
	t.rows++
}

// Reset drops the rows.
func (t *text) Reset() { t.wire, t.rows = t.wire[:0], 0 }

func (t *text) Type() proto.ColumnType       { return proto.ColumnTypeString }
func (t *text) Rows() int                    { return t.rows }
func (t *text) EncodeColumn(b *proto.Buffer) { b.Buf = append(b.Buf, t.wire...) }
func (t *text) WriteColumn(w *proto.Writer)  { w.ChainWrite(t.wire) }

// array is an Array(T) column over the rows of another column; arrays of the
// same lengths share their ends.
type array struct {
	ends *proto.ColUInt64 // where each row's elements end in of
	of   proto.ColInput
}

func (a array) Type() proto.ColumnType { return proto.ColumnTypeArray.Sub(a.of.Type()) }
func (a array) Rows() int              { return len(*a.ends) }

func (a array) EncodeState(b *proto.Buffer) {
	if s, ok := a.of.(proto.StateEncoder); ok {
		s.EncodeState(b)
	}
}

func (a array) EncodeColumn(b *proto.Buffer) {
	a.ends.EncodeColumn(b)
	a.of.EncodeColumn(b)
}

func (a array) WriteColumn(w *proto.Writer) {
	a.ends.WriteColumn(w)
	a.of.WriteColumn(w)
}
