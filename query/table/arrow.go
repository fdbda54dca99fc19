package table

import (
	"bytes"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"preismon/query/frame"
)

// ArrowOptions are what a reader of Arrow may request. Not all readers support
// all of them.
type ArrowOptions struct {
	// Dictionaries encodes texts that repeat with dictionaries. When there are
	// new texts, a new dictionary replaces the previous one: there are no
	// deltas.
	Dictionaries bool
	// Compression is that of the buffers: lz4, zstd, or none.
	Compression string
}

// Arrow writes rows as a stream of Arrow record batches (the IPC streaming
// format), one for each batch that is written.
func Arrow(w io.Writer, columns []frame.Column, o ArrowOptions) Sections {
	schema := arrow.NewSchema(arrowFields(columns, false, o.Dictionaries), nil)
	a := &batches{schema: schema, to: messages{to: w}, options: []ipc.Option{ipc.WithSchema(schema)}}
	switch o.Compression {
	case "lz4":
		a.options = append(a.options, ipc.WithLZ4(), ipc.WithCompressConcurrency(1))
	case "zstd":
		a.options = append(a.options, ipc.WithZstd(), ipc.WithCompressConcurrency(1))
	}
	for i := range columns {
		a.columns = append(a.columns, arrowColumnOf(&columns[i], schema.Field(i).Type))
	}
	return a
}

// arrowFields returns the fields of columns. ofEmpty: they are members of an
// object that can be empty. Such members are nullable, so that a reader that
// does not support null objects does not take what is stored below one for
// values.
func arrowFields(columns []frame.Column, ofEmpty, dictionaries bool) (all []arrow.Field) {
	for i := range columns {
		c := &columns[i]
		f := arrow.Field{Name: c.Name, Type: arrowType(c, ofEmpty, dictionaries), Nullable: ofEmpty || c.Empty()}
		if c.Optional {
			f.Metadata = arrow.MetadataFrom(map[string]string{absentKey: "null"})
		}
		all = append(all, f)
	}
	return all
}

func arrowType(c *frame.Column, ofEmpty, dictionaries bool) arrow.DataType {
	switch c.Kind {
	case frame.Number:
		return arrow.PrimitiveTypes.Float64
	case frame.Integer:
		return arrow.PrimitiveTypes.Int64
	case frame.Boolean:
		return arrow.FixedWidthTypes.Boolean
	case frame.Instant:
		return &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}
	case frame.List:
		return arrow.ListOfField(arrowFields(c.Members, false, false)[0])
	case frame.Object:
		return arrow.StructOf(arrowFields(c.Members, ofEmpty || c.Empty(), dictionaries)...)
	case frame.Words:
		return arrow.MapOfFields(arrow.Field{Name: "key", Type: arrow.BinaryTypes.String}, arrow.Field{Name: "value", Type: arrow.BinaryTypes.String})
	}
	if c.Few && dictionaries {
		return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.String}
	}
	return arrow.BinaryTypes.String // Text, JSON
}

type batches struct {
	schema  *arrow.Schema
	options []ipc.Option
	to      messages
	out     *ipc.Writer // of the section in progress; nil: it has no rows yet
	columns []*arrowColumn
	shared  shared
}

// messages passes on what the writers of all sections write: the schema with
// which each of them begins only once, and no end marks.
type messages struct {
	to     io.Writer
	schema int // bytes of the schema; 0: it is not written yet
	skip   int // bytes of it that the writer of this section is about to write
}

// endMark is what an Arrow stream ends with.
var endMark = []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}

func (m *messages) Write(p []byte) (int, error) {
	skipped := min(m.skip, len(p))
	m.skip -= skipped
	n, err := m.to.Write(p[skipped:])
	return skipped + n, err
}

// begin writes the schema, unless it is written.
func (a *batches) begin() error {
	if a.to.schema > 0 {
		return nil
	}
	var empty bytes.Buffer
	if err := ipc.NewWriter(&empty, a.options...).Close(); err != nil {
		return err
	}
	schema := bytes.TrimSuffix(empty.Bytes(), endMark)
	a.to.schema = len(schema)
	_, err := a.to.to.Write(schema)
	return err
}

func (a *batches) Write(rows *frame.Batch) error {
	if rows.Len == 0 {
		return nil
	}
	a.shared = a.shared[:0]
	arrays := make([]arrow.Array, len(a.columns))
	for i, c := range a.columns {
		arrays[i] = array.MakeFromData(c.data(&rows.Columns[i], rows.Len, &a.shared))
	}
	batch := array.NewRecordBatch(a.schema, arrays, int64(rows.Len))
	defer batch.Release()
	if a.out == nil {
		if err := a.begin(); err != nil {
			return err
		}
		a.to.skip = a.to.schema
		a.out = ipc.NewWriter(&a.to, a.options...)
	}
	return a.out.Write(batch)
}

// Close writes the end mark. If there are no rows, it follows the schema.
func (a *batches) Close() error {
	if err := a.begin(); err != nil {
		return err
	}
	_, err := a.to.to.Write(endMark)
	return err
}

// Cut implements Sections: dictionaries are written again after it.
func (a *batches) Cut() ([]byte, error) {
	if a.out != nil {
		a.out = nil
		for _, c := range a.columns {
			c.forget()
		}
	}
	return nil, a.begin()
}

// Splice implements Sections.
func (a *batches) Splice([]byte) error { return a.begin() }

// arrowColumn builds the arrays of a column, in buffers that it reuses.
type arrowColumn struct {
	*frame.Column
	typed   arrow.DataType
	members []*arrowColumn

	floats []float64
	ends   []int32
	bytes  []byte

	known      known
	numbers    []uint32
	dictionary arrow.ArrayData // of the texts known when it was built
}

func arrowColumnOf(c *frame.Column, typed arrow.DataType) *arrowColumn {
	a := &arrowColumn{Column: c, typed: typed}
	switch t := typed.(type) {
	case *arrow.ListType:
		a.members = []*arrowColumn{arrowColumnOf(&c.Members[0], t.Elem())}
	case *arrow.StructType:
		for i := range c.Members {
			a.members = append(a.members, arrowColumnOf(&c.Members[i], t.Field(i).Type))
		}
	case *arrow.MapType:
		word := &frame.Column{Kind: frame.Text}
		a.members = []*arrowColumn{arrowColumnOf(word, t.KeyType()), arrowColumnOf(word, t.ItemType())}
	}
	return a
}

// data returns a vector of n rows in the form of Arrow. It uses the vector's
// memory where it can, and is valid as long as the vector is.
func (a *arrowColumn) data(v *frame.Vector, n int, s *shared) arrow.ArrayData {
	buffers := []*memory.Buffer{nil}
	if v.Valid != nil {
		buffers[0] = memory.NewBufferBytes(v.Valid)
	}
	var children []arrow.ArrayData
	switch a.Kind {
	case frame.Number:
		if v.Floats != nil {
			buffers = append(buffers, memory.NewBufferBytes(arrow.Float64Traits.CastToBytes(v.Floats[:n])))
			break
		}
		buffers = append(buffers, s.once(first(v.Ints), func() []*memory.Buffer { return a.numbersOf(v, n) })...)
	case frame.Integer, frame.Instant:
		buffers = append(buffers, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(v.Ints[:n])))
	case frame.Boolean:
		buffers = append(buffers, memory.NewBufferBytes(v.Bits))
	case frame.List, frame.Words:
		buffers = append(buffers, a.endsOf(v.Ends[:n]))
		count := 0
		if n > 0 {
			count = int(v.Ends[n-1])
		}
		for i, m := range a.members {
			children = append(children, m.data(&v.Members[i], count, s))
		}
		if t, ok := a.typed.(*arrow.MapType); ok {
			children = []arrow.ArrayData{array.NewData(t.Elem(), count, []*memory.Buffer{nil}, children, 0, 0)}
		}
	case frame.Object:
		for i, m := range a.members {
			children = append(children, m.data(&v.Members[i], n, s))
		}
	default:
		if _, ok := a.typed.(*arrow.DictionaryType); ok {
			return a.dictionaryOf(v, n, buffers)
		}
		buffers = append(buffers, s.once(first(v.Index), func() []*memory.Buffer { return a.textsOf(v, n) })...)
	}
	return array.NewData(a.typed, n, buffers, children, v.Nulls(n), 0)
}

func (a *arrowColumn) numbersOf(v *frame.Vector, n int) []*memory.Buffer {
	a.floats = a.floats[:0]
	for i := range n {
		a.floats = append(a.floats, v.Float(i))
	}
	return []*memory.Buffer{memory.NewBufferBytes(arrow.Float64Traits.CastToBytes(a.floats))}
}

func (a *arrowColumn) endsOf(ends []int32) *memory.Buffer {
	a.ends = append(append(a.ends[:0], 0), ends...)
	return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(a.ends))
}

func (a *arrowColumn) textsOf(v *frame.Vector, n int) []*memory.Buffer {
	a.ends, a.bytes = append(a.ends[:0], 0), a.bytes[:0]
	for i := range n {
		a.bytes = append(a.bytes, v.Text(i)...)
		a.ends = append(a.ends, int32(len(a.bytes)))
	}
	return []*memory.Buffer{memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(a.ends)), memory.NewBufferBytes(a.bytes)}
}

// forget begins new dictionaries.
func (a *arrowColumn) forget() {
	a.known.forget()
	a.dictionary = nil
	for _, m := range a.members {
		m.forget()
	}
}

// knownBytes is about the maximum size of the texts of a dictionary, in bytes.
const knownBytes = 1 << 20

// dictionaryOf returns indexes into a dictionary that stays the same unless
// there are new texts.
func (a *arrowColumn) dictionaryOf(v *frame.Vector, n int, buffers []*memory.Buffer) arrow.ArrayData {
	if len(a.known.values.Buf) > knownBytes {
		a.forget()
	}
	a.known.begin(v)
	a.numbers = a.numbers[:0]
	for i := range n {
		number := uint32(0)
		if v.Has(i) {
			number = a.known.of(v, i)
		}
		a.numbers = append(a.numbers, number)
	}
	if a.dictionary == nil || a.dictionary.Len() != a.known.values.Len() {
		var copied arrowColumn // not in a, because the writer keeps it
		all := frame.Vector{Values: &a.known.values}
		count := a.known.values.Len()
		a.dictionary = array.NewData(arrow.BinaryTypes.String, count, append([]*memory.Buffer{nil}, copied.textsOf(&all, count)...), nil, 0, 0)
	}
	buffers = append(buffers, memory.NewBufferBytes(arrow.Uint32Traits.CastToBytes(a.numbers)))
	return array.NewDataWithDictionary(a.typed, n, buffers, v.Nulls(n), 0, a.dictionary.(*array.Data))
}

// shared holds the buffers that were built from what several vectors of a batch
// share.
type shared []sharedBuffers

type sharedBuffers struct {
	of      any
	buffers []*memory.Buffer
}

func (s *shared) once(of any, do func() []*memory.Buffer) []*memory.Buffer {
	if of == nil {
		return do()
	}
	for _, one := range *s {
		if one.of == of {
			return one.buffers
		}
	}
	made := do()
	*s = append(*s, sharedBuffers{of, made})
	return made
}

// first returns the address of values, which identifies them; nil: there are
// none.
func first[T any](values []T) any {
	if len(values) == 0 {
		return nil
	}
	return &values[0]
}
