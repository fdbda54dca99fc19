package table

import "encoding/binary"

// thrift writes structures in the compact protocol of Apache Thrift, which
// Parquet uses for its metadata. Fields must be written in the order of their
// numbers.
type thrift struct {
	buf  []byte
	last []byte // the previous field of each open structure
}

// The types of the compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

func (t *thrift) field(id, kind byte) {
	last := &t.last[len(t.last)-1]
	t.buf = append(t.buf, (id-*last)<<4|kind)
	*last = id
}

// begin begins a structure that is not a field: the whole, or an element.
func (t *thrift) begin() { t.last = append(t.last, 0) }

func (t *thrift) end() {
	t.buf = append(t.buf, 0)
	t.last = t.last[:len(t.last)-1]
}

// object writes a field that is a structure.
func (t *thrift) object(id byte, fields func()) {
	t.field(id, thriftStruct)
	t.begin()
	fields()
	t.end()
}

func (t *thrift) i32(id byte, v int32) {
	t.field(id, thriftI32)
	t.buf = binary.AppendVarint(t.buf, int64(v))
}

func (t *thrift) i64(id byte, v int64) {
	t.field(id, thriftI64)
	t.buf = binary.AppendVarint(t.buf, v)
}

func (t *thrift) bool(id byte, v bool) {
	if v {
		t.field(id, thriftTrue)
	} else {
		t.field(id, thriftFalse)
	}
}

func (t *thrift) binary(id byte, v []byte) {
	t.field(id, thriftBinary)
	t.bytes(v)
}

func (t *thrift) bytes(v []byte) {
	t.buf = binary.AppendUvarint(t.buf, uint64(len(v)))
	t.buf = append(t.buf, v...)
}

// list writes the header of a field that is a list; its elements follow.
func (t *thrift) list(id, kind byte, n int) {
	t.field(id, thriftList)
	if n < 15 {
		t.buf = append(t.buf, byte(n)<<4|kind)
		return
	}
	t.buf = append(t.buf, 0xf0|kind)
	t.buf = binary.AppendUvarint(t.buf, uint64(n))
}
