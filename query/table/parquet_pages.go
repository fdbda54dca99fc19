package table

import (
	"encoding/binary"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"preismon/query/frame"
)

// page is a page as written, with its header.
type page struct {
	bytes []byte
	size  int64 // uncompressed, with its header
}

// page compresses a page. The result is valid until the next call.
func (p *groups) page(header format.PageHeader, plain []byte) page {
	p.plain = plain
	p.squeezed = p.compress.EncodeAll(plain, p.squeezed[:0])
	header.UncompressedPageSize, header.CompressedPageSize = int32(len(plain)), int32(len(p.squeezed))
	head := encoded(&header)
	p.packed = append(append(p.packed[:0], head...), p.squeezed...)
	return page{p.packed, int64(len(head) + len(plain))}
}

// encoded returns a structure of the format as it is written.
func encoded(v any) []byte {
	text, _ := thrift.Marshal(new(thrift.CompactProtocol), v) // to memory
	return text
}

// part is the part of a batch that goes to the leaves of a column.
type part struct {
	path   []step // from a column of the batch to that of the part
	rows   int
	listed bool    // it consists of elements of lists
	digits []uint8 // of the amount that an integer repeats
}

// step is a column and its vector in a batch.
type step struct {
	column *frame.Column
	vector *frame.Vector
}

// within returns the part of a member, or of the elements of lists.
func (of part) within(c *frame.Column, v *frame.Vector) part {
	of.path = append(of.path[:len(of.path):len(of.path)], step{c, v})
	return of
}

// put writes a column and returns the leaves after its own.
func (p *groups) put(leaves []*leaf, of part) []*leaf {
	c, v := of.path[len(of.path)-1].column, of.path[len(of.path)-1].vector
	switch c.Kind {
	case frame.List, frame.Words:
		of.listed = true
		for i := range v.Members {
			element := &frame.Column{Kind: frame.Text}
			if c.Kind == frame.List {
				element = &c.Members[0]
			}
			leaves = p.put(leaves, of.within(element, &v.Members[i]))
		}
		return leaves
	case frame.Object:
		for i := range c.Members {
			member := of.within(&c.Members[i], &v.Members[i])
			if member.digits = nil; c.Members[i].Name == "amountMinor" {
				member.digits = v.Members[0].Digits
			}
			leaves = p.put(leaves, member)
		}
		return leaves
	}
	p.write(leaves[0], of)
	return leaves[1:]
}

// pairs reports whether the next leaf repeats the amounts of l.
func (l *leaf) pairs(next *leaf) bool {
	name := next.path[len(next.path)-1]
	switch l.kind {
	case frame.Number:
		return len(l.path) == 1 && name == "value" && next.path[0] == l.path[0]+"Money" || name == "amountMinor" && slices.Equal(l.path[:len(l.path)-1], next.path[:len(next.path)-1])
	}
	return false
}

// countedKey identifies numbers of dictionary values, and sharedKey pages.
type countedKey struct {
	values any
	met    *numbers
}

type sharedKey struct {
	countedKey
	valid      any
	definition uint8
}

// write adds the page of a batch to a leaf.
func (p *groups) write(l *leaf, of part) {
	c, v := of.path[len(of.path)-1].column, of.path[len(of.path)-1].vector
	plain, count := p.plain[:0], of.rows
	deep := of.listed || l.definition > 1 // a single bit does not show how much of its path is present
	var valid frame.Bits
	there := 0
	if !deep {
		valid = of.valid()
		there = present(valid, of.rows)
	}
	key := sharedKey{countedKey{first(v.Ints), l.met}, first(valid), l.definition}
	numbered := (c.Kind == frame.Number || c.Kind == frame.Integer) && there > 0
	if numbered {
		if made, ok := p.shared[key]; ok {
			l.add(made, of.rows, of.rows-there)
			l.numbered = true
			return
		}
	}
	if deep {
		at := p.levels.of(&of)
		if l.repetition > 0 {
			plain = p.appendLevels(plain, at.repetition, l.repetition)
		}
		plain = p.appendLevels(plain, at.definition, l.definition)
		count, valid, of.rows = len(at.definition), at.valid, at.values
		there = present(valid, of.rows)
	} else if l.definition > 0 {
		plain = appendBits(plain, valid, of.rows)
	}
	encoding := format.RLEDictionary
	switch kind := c.Kind; {
	case there == 0: // there may be no dictionary
		encoding = format.Plain
	case kind == frame.Boolean:
		plain, encoding = appendFlags(plain, v, valid, of.rows), format.Plain
	case kind == frame.Instant:
		if l == p.sortedBy {
			p.sees(v.Ints[:of.rows])
		}
		for i := range of.rows {
			if valid == nil || valid.At(i) {
				l.bounds.add(v.Ints[i])
				plain = binary.LittleEndian.AppendUint64(plain, uint64(v.Ints[i]))
			}
		}
		encoding = format.Plain
	case kind == frame.Number, kind == frame.Integer:
		plain = p.appendNumbers(plain, l, v, valid, of)
	default:
		plain, encoding = p.appendTexts(plain, l, v, valid, of.rows)
	}
	made := p.page(format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
		NumValues: int32(count), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		Statistics: format.Statistics{NullCount: int64(count - there)},
	})}, plain)
	l.add(made, count, count-there)
	if encoding == format.Plain {
		l.plain = true
	} else {
		l.numbered = true
	}
	p.held += len(made.bytes)
	if numbered && key.values != nil {
		made.bytes = l.pages[len(l.pages)-len(made.bytes):]
		p.shared[key] = made
	}
}

func (l *leaf) add(made page, values, nulls int) {
	l.pages = append(l.pages, made.bytes...)
	l.uncompressed += made.size
	l.values += int64(values)
	l.nulls += int64(nulls)
}

func present(valid frame.Bits, n int) int {
	if valid == nil {
		return n
	}
	return valid.Count(n)
}

// appendBits writes levels of 0 and 1: the bits are already in the order of
// Parquet.
func appendBits(b []byte, valid frame.Bits, n int) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	if valid == nil {
		b = append(binary.AppendUvarint(b, uint64(n)<<1), 1)
	} else {
		groups := (n + 7) / 8
		b = binary.AppendUvarint(b, uint64(groups)<<1|1)
		b = append(b, valid[:groups]...)
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// appendFlags writes the booleans that are present, one bit each.
func appendFlags(b []byte, v *frame.Vector, valid frame.Bits, n int) []byte {
	var word byte
	held := 0
	for i := range n {
		if valid != nil && !valid.At(i) {
			continue
		}
		if v.Bits.At(i) {
			word |= 1 << held
		}
		if held++; held == 8 {
			b, word, held = append(b, word), 0, 0
		}
	}
	if held > 0 {
		b = append(b, word)
	}
	return b
}

func (p *groups) appendNumbers(b []byte, l *leaf, v *frame.Vector, valid frame.Bits, of part) []byte {
	digits := of.digits
	if digits == nil {
		digits = v.Digits
	}
	p.room = p.room[:0]
	for i := range of.rows {
		if valid != nil && !valid.At(i) {
			continue
		}
		d := decimal{units: v.Ints[i]}
		if digits != nil {
			d = decimal{v.Ints[i], digits[i]}
		}
		p.room = append(p.room, int32(l.met.number(d)))
	}
	return p.appendNumbered(b, p.room)
}

func (p *groups) appendTexts(b []byte, l *leaf, v *frame.Vector, valid frame.Bits, n int) (_ []byte, encoding format.Encoding) {
	if l.spilt {
		for i := range n {
			if valid == nil || valid.At(i) {
				b = appendText(b, v.Text(i))
			}
		}
		return b, format.Plain
	}
	l.known.begin(v)
	p.room = p.room[:0]
	for i := range n {
		if valid == nil || valid.At(i) {
			p.room = append(p.room, int32(l.known.of(v, i)))
		}
	}
	l.spilt = len(l.known.values.Buf) > dictionaryBytes
	return p.appendNumbered(b, p.room), format.RLEDictionary
}
