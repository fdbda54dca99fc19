package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"preismon/query/frame"
)

// ArrowReader reads the rows of an Arrow stream, in any of the forms that Arrow
// writes, as batches for other tables.
type ArrowReader struct {
	// Doubles leaves numbers as they came, instead of making them decimals again.
	// Only Arrow can write such batches.
	Doubles bool

	in *ipc.Reader
}

// ReadArrow reads the schema of an Arrow stream.
func ReadArrow(r io.Reader) (*ArrowReader, error) {
	in, err := ipc.NewReaderFromMessageReader(ipc.NewMessageReader(r)) // which bounds what a message may claim to hold
	if err != nil {
		return nil, err
	}
	return &ArrowReader{in: in}, nil
}

// Names returns the names of the stream's columns.
func (r *ArrowReader) Names() (all []string) {
	for _, f := range r.in.Schema().Fields() {
		all = append(all, f.Name)
	}
	return all
}

// Batches yields the rows once, as batches with these columns, one for each of
// Names. Values of a JSON column may be of any type. It ends after the first
// error: values that do not fit their column, or a malformed stream. A stream
// that was cut between two batches ends without an error.
func (r *ArrowReader) Batches(columns []frame.Column) iter.Seq2[*frame.Batch, error] {
	return func(yield func(*frame.Batch, error) bool) {
		defer r.in.Release()
		var all []*arrowValues
		made := &decimals{none: r.Doubles}
		for i := range columns {
			all = append(all, valuesOf(&columns[i], false, made))
		}
		batch := frame.Batch{Columns: make([]frame.Vector, len(columns))}
		for r.in.Next() {
			if err := fillBatch(&batch, all, r.in.RecordBatch()); err != nil {
				yield(nil, err)
				return
			}
			if !yield(&batch, nil) {
				return
			}
		}
		if err := r.in.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// fillBatch makes the batch that of a record batch. The library checks what it
// reads only in part: it panics over some buffers that are too short.
func fillBatch(b *frame.Batch, all []*arrowValues, rows arrow.RecordBatch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("table: a malformed batch: %v", p)
		}
	}()
	b.Len = int(rows.NumRows())
	for i, c := range all {
		if i == 0 || !c.isMoneyOf(all[i-1]) {
			c.made.floats = nil
		}
		if err := c.fill(&b.Columns[i], rows.Column(i), b.Len); err != nil {
			return err
		}
	}
	for i, c := range all { // amounts that are written twice
		if b.Columns[i].Floats == nil && i+1 < len(all) && all[i+1].isMoneyOf(c) {
			all[i+1].align(&b.Columns[i], b.Columns[i+1].Members)
		}
	}
	return nil
}

// dictionaries counts the dictionaries that were read, so that one table can take
// the batches of several streams.
var dictionaries atomic.Uint64

// arrowValues fills the vectors of a column from arrays. Values stay in the
// memory of the arrays where their form allows it.
type arrowValues struct {
	*frame.Column
	empty   bool // values may be missing: its own, or with the object around them
	members []*arrowValues
	made    *decimals

	ints       []int64
	digits     []uint8
	texts      frame.Texts
	dictionary arrow.ArrayData // that texts are from
	version    uint64          // of texts
}

func valuesOf(c *frame.Column, ofEmpty bool, made *decimals) *arrowValues {
	a := &arrowValues{Column: c, empty: ofEmpty || c.Empty(), made: made}
	switch c.Kind {
	case frame.List:
		a.members = []*arrowValues{valuesOf(&c.Members[0], false, made)}
	case frame.Object:
		for i := range c.Members {
			a.members = append(a.members, valuesOf(&c.Members[i], a.empty, made))
		}
	case frame.Words:
		word := &frame.Column{Name: c.Name, Kind: frame.Text}
		a.members = []*arrowValues{valuesOf(word, false, made), valuesOf(word, false, made)}
	}
	return a
}

// fill makes the vector that of an array of n values.
func (a *arrowValues) fill(v *frame.Vector, from arrow.Array, n int) error {
	v.Valid = nil
	if from.Len() != n {
		return fmt.Errorf("table: %s has %d values instead of %d", a.Name, from.Len(), n)
	}
	if from.NullN() > 0 {
		if !a.empty {
			return fmt.Errorf("table: %s is missing in a row", a.Name)
		}
		if v.Valid = from.NullBitmapBytes(); 8*len(v.Valid) < n {
			return a.short()
		}
	}
	switch from := from.(type) {
	case *array.Float64:
		if a.Kind == frame.Number {
			return a.numbers(v, from.Values())
		}
	case *array.Int64:
		if a.Kind == frame.Integer {
			v.Ints = from.Values()
			return nil
		}
	case *array.Timestamp:
		if t := from.DataType().(*arrow.TimestampType); a.Kind == frame.Instant && t.Unit == arrow.Millisecond {
			a.ints = a.ints[:0]
			for _, ms := range from.Values() {
				a.ints = append(a.ints, int64(ms))
			}
			v.Ints = a.ints
			return nil
		}
	case *array.Boolean:
		if a.Kind == frame.Boolean {
			v.Bits = nil
			if bits := from.Data().Buffers()[1]; bits != nil { // nil: no values
				v.Bits = bits.Bytes()
			}
			if 8*len(v.Bits) < n {
				return a.short()
			}
			return nil
		}
	case *array.String:
		if a.Kind == frame.Text {
			v.Values = &a.texts
			return a.textsOf(from)
		}
	case *array.Dictionary:
		if a.Kind == frame.Text {
			return a.indexed(v, from)
		}
	case *array.Struct:
		if a.Kind == frame.Object && a.named(from.DataType().(*arrow.StructType)) {
			if err := a.fillMembers(v, n, func(i int) arrow.Array { return from.Field(i) }); err != nil {
				return err
			}
			for i, m := range a.members {
				if m.Kind == frame.Number && v.Members[i].Floats == nil {
					a.align(&v.Members[i], v.Members)
				}
			}
			return nil
		}
	case *array.Map: // before List, which it is as well
		if a.Kind == frame.Words {
			return a.elements(v, from.Len(), from.Offsets(), from.Keys(), from.Items())
		}
	case *array.List:
		if a.Kind == frame.List {
			return a.elements(v, from.Len(), from.Offsets(), from.ListValues())
		}
	}
	if a.Kind == frame.JSON {
		return a.jsonOf(v, from)
	}
	return fmt.Errorf("table: %s holds %s", a.Name, from.DataType())
}

// short is the error of a buffer with fewer values than its array.
func (a *arrowValues) short() error {
	return fmt.Errorf("table: %s has fewer values than rows", a.Name)
}

// named reports whether the members of an object are those of a struct.
func (a *arrowValues) named(from *arrow.StructType) bool {
	if from.NumFields() != len(a.members) {
		return false
	}
	for i, m := range a.members {
		if from.Field(i).Name != m.Name {
			return false
		}
	}
	return true
}

func (a *arrowValues) fillMembers(v *frame.Vector, n int, of func(i int) arrow.Array) error {
	if v.Members == nil {
		v.Members = make([]frame.Vector, len(a.members))
	}
	for i, m := range a.members {
		if err := m.fill(&v.Members[i], of(i), n); err != nil {
			return err
		}
	}
	return nil
}

// elements fills the vector of n lists, of which each begins where the previous
// one ends.
func (a *arrowValues) elements(v *frame.Vector, n int, offsets []int32, members ...arrow.Array) error {
	v.Ends = nil
	held := int32(0)
	if n > 0 {
		if offsets[0] != 0 || !slices.IsSorted(offsets[:n+1]) {
			return fmt.Errorf("table: the lists of %s do not follow each other from 0 on", a.Name)
		}
		v.Ends, held = offsets[1:n+1], offsets[n]
	}
	return a.fillMembers(v, int(held), func(i int) arrow.Array { return members[i] })
}

// textsOf makes the column's texts those of an array.
func (a *arrowValues) textsOf(from *array.String) error {
	a.texts.Reset()
	if from.Len() == 0 { // not even offsets
		return nil
	}
	offsets := from.ValueOffsets()
	a.texts.Buf = from.ValueBytes()
	for i, end := range offsets[1:] {
		if end < offsets[i] {
			return fmt.Errorf("table: a text of %s ends before it begins", a.Name)
		}
		a.texts.Spans = append(a.texts.Spans, frame.Span{From: uint32(offsets[i] - offsets[0]), To: uint32(end - offsets[0])})
	}
	return nil
}

// beginsWithTexts reports whether an array begins with the column's texts.
func (a *arrowValues) beginsWithTexts(all *array.String) bool {
	if all.Len() < a.texts.Len() {
		return false
	}
	offsets := all.ValueOffsets()
	for i, s := range a.texts.Spans {
		if uint32(offsets[i+1]-offsets[0]) != s.To {
			return false
		}
	}
	return bytes.HasPrefix(all.ValueBytes(), a.texts.Buf)
}

// indexed fills the vector with indexes into a dictionary.
func (a *arrowValues) indexed(v *frame.Vector, from *array.Dictionary) error {
	index, ok := from.Indices().(*array.Uint32)
	values, isText := from.Dictionary().(*array.String)
	if !ok || !isText {
		return fmt.Errorf("table: %s holds %s", a.Name, from.DataType())
	}
	if all := from.Data().Dictionary(); all != a.dictionary {
		grown := a.dictionary != nil && a.beginsWithTexts(values)
		if err := a.textsOf(values); err != nil {
			return err
		}
		if a.texts.Len() == 0 {
			a.texts.Append("") // that rows without a text refer to
		}
		if a.dictionary = all; !grown {
			a.version = dictionaries.Add(1)
		}
	}
	v.Values, v.Index, v.Version = &a.texts, index.Values(), a.version
	for _, n := range v.Index {
		if int(n) >= a.texts.Len() {
			return fmt.Errorf("table: %s has no text %d", a.Name, n)
		}
	}
	return nil
}

// jsonOf fills the vector with the JSON of any values.
func (a *arrowValues) jsonOf(v *frame.Vector, from arrow.Array) error {
	a.texts.Reset()
	for i := range from.Len() {
		text, err := json.Marshal(from.GetOneForMarshal(i))
		if err != nil {
			return fmt.Errorf("table: %s: %w", a.Name, err)
		}
		a.texts.Append(string(text))
	}
	v.Values = &a.texts
	return nil
}
