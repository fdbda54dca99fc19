package table

import (
	"strings"

	"preismon/query/frame"
)

// Numbers defined by the format.
const (
	physicalBoolean = 0
	physicalInt64   = 2
	physicalDouble  = 5
	physicalBytes   = 6

	required = 0
	optional = 1
	repeated = 2

	compressedZstd = 6
)

func physical(k frame.Kind) int32 {
	switch k {
	case frame.Number:
		return physicalDouble
	case frame.Integer, frame.Instant:
		return physicalInt64
	case frame.Boolean:
		return physicalBoolean
	}
	return physicalBytes
}

// footer returns the description of the file (FileMetaData of the format).
func (p *groups) footer() []byte {
	var t thrift
	t.begin()
	t.i32(1, 1)
	t.list(2, thriftStruct, 1+elements(p.columns))
	t.element(-1, required, "results", len(p.columns), frame.Object)
	for i := range p.columns {
		t.column(&p.columns[i])
	}
	t.i64(3, p.total)
	t.list(4, thriftStruct, len(p.written))
	for n := range p.written {
		p.describe(&t, &p.written[n])
	}
	var absent []string
	for i := range p.columns {
		if p.columns[i].Optional {
			absent = append(absent, p.columns[i].Name)
		}
	}
	if len(absent) > 0 {
		t.list(5, thriftStruct, 1)
		t.begin()
		t.binary(1, []byte(absentKey))
		t.binary(2, []byte(strings.Join(absent, ",")))
		t.end()
	}
	t.binary(6, []byte("preismon"))
	t.list(7, thriftStruct, len(p.leaves))
	for range p.leaves { // statistics use the order of the type
		t.begin()
		t.object(1, func() {})
		t.end()
	}
	t.end()
	return t.buf
}

// elements returns how many schema elements the columns take.
func elements(columns []frame.Column) (n int) {
	for i := range columns {
		switch c := &columns[i]; c.Kind {
		case frame.List:
			n += 2 + elements(c.Members)
		case frame.Words:
			n += 4
		default:
			n += 1 + elements(c.Members)
		}
	}
	return n
}

// column writes the schema elements of a column.
func (t *thrift) column(c *frame.Column) {
	repetition := int32(required)
	if c.Empty() {
		repetition = optional
	}
	switch c.Kind {
	case frame.List:
		t.element(-1, repetition, c.Name, 1, frame.List)
		t.element(-1, repeated, "list", 1, frame.Object)
		element := c.Members[0]
		element.Name = "element"
		t.column(&element)
	case frame.Words:
		t.element(-1, repetition, c.Name, 1, frame.Words)
		t.element(-1, repeated, "key_value", 2, frame.Object)
		t.column(&frame.Column{Name: "key", Kind: frame.Text})
		t.column(&frame.Column{Name: "value", Kind: frame.Text})
	case frame.Object:
		t.element(-1, repetition, c.Name, len(c.Members), frame.Object)
		for i := range c.Members {
			t.column(&c.Members[i])
		}
	default:
		t.element(physical(c.Kind), repetition, c.Name, 0, c.Kind)
	}
}

// element writes one element of the schema; a kind below 0: it has no type.
func (t *thrift) element(kind, repetition int32, name string, children int, means frame.Kind) {
	t.begin()
	if kind >= 0 {
		t.i32(1, kind)
	}
	t.i32(3, repetition)
	t.binary(4, []byte(name))
	if children > 0 {
		t.i32(5, int32(children))
	}
	converted, logical, more := int32(-1), byte(0), func() {}
	switch means {
	case frame.Text, frame.JSON:
		converted, logical = 0, 1
	case frame.Words:
		converted, logical = 1, 2
	case frame.List:
		converted, logical = 3, 3
	case frame.Instant:
		converted, logical = 9, 8
		more = func() {
			t.bool(1, true) // in UTC
			t.object(2, func() { t.object(1, func() {}) })
		}
	case frame.Integer:
		converted, logical = 18, 10
		more = func() {
			t.field(1, thriftByte)
			t.buf = append(t.buf, 64)
			t.bool(2, true)
		}
	}
	if logical > 0 {
		t.i32(6, converted)
		t.object(10, func() { t.object(logical, more) })
	}
	t.end()
}

// describe writes the metadata of a row group.
func (p *groups) describe(t *thrift, g *rowGroup) {
	var plain, compressed int64
	for _, c := range g.Chunks {
		plain, compressed = plain+c.Uncompressed, compressed+c.Compressed
	}
	t.begin()
	t.list(1, thriftStruct, len(g.Chunks))
	for n := range g.Chunks {
		p.leaves[n].describe(t, &g.Chunks[n])
	}
	t.i64(2, plain)
	t.i64(3, g.Rows)
	for n, l := range p.leaves {
		if p.sorted != Unsorted && l == p.sortedBy {
			t.list(4, thriftStruct, 1)
			t.begin()
			t.i32(1, int32(n))
			t.bool(2, p.sorted == Descending)
			t.bool(3, false)
			t.end()
			break
		}
	}
	t.i64(5, g.Chunks[0].Start)
	t.i64(6, compressed)
	t.end()
}

// describe writes the metadata of a chunk.
func (l *leaf) describe(t *thrift, c *chunk) {
	t.begin()
	t.i64(2, 0) // an offset in another file, if the chunk were in one
	t.object(3, func() {
		t.i32(1, physical(l.kind))
		encodings := []byte{2 * encodingRuns}
		if c.Plain || c.Dictionary {
			encodings = append(encodings, 2*encodingPlain)
		}
		if c.Numbered {
			encodings = append(encodings, 2*encodingNumbered)
		}
		t.list(2, thriftI32, len(encodings))
		t.buf = append(t.buf, encodings...) // zigzag-encoded
		t.list(3, thriftBinary, len(l.path))
		for _, name := range l.path {
			t.bytes([]byte(name))
		}
		t.i32(4, compressedZstd)
		t.i64(5, c.Values)
		t.i64(6, c.Uncompressed)
		t.i64(7, c.Compressed)
		t.i64(9, c.Data)
		if c.Dictionary {
			t.i64(11, c.Start)
		}
		t.object(12, func() {
			if l.repetition == 0 {
				t.i64(3, c.Nulls)
			}
			if c.Least != nil {
				t.binary(5, c.Most)
				t.binary(6, c.Least)
			}
		})
	})
	t.end()
}
