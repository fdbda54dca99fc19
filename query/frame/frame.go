// Package frame holds rows as columns between who makes them and who writes
// them: the service makes a Batch of the blocks of its store, a client of the
// JSON that it got, and package table writes it in some form.
//
// Null and absent stay apart by column: in the contract no field can be both,
// so what is missing of an Optional column is absent, and of any other null.
//
// A batch lies in the memory of what it was made of. It is good until the call
// that it was handed to returns; nothing of it may be kept.
package frame

import (
	"math"
	"math/bits"
	"strconv"
)

// Kind is what a column or a part of it holds.
type Kind uint8

// The kinds. Unless said otherwise they are the kinds of JSON.
const (
	JSON    Kind = iota // any value, as the text of its JSON
	Text                // UTF-8
	Number              // a decimal: an amount in the main unit, or a rating
	Integer             // 64 bits
	Boolean             //
	Instant             // milliseconds since 1970 in UTC; RFC 3339 in JSON and CSV
	List                // of values of one field
	Object              // with named members
	Words               // an object of texts under any names
)

// Column is a field of a row, or of an object within one.
type Column struct {
	Name     string
	Kind     Kind
	Nullable bool     // it can be null
	Optional bool     // it can be absent
	Few      bool     // a text that many rows share with others
	Members  []Column // of an object; of a list the one that its values are
}

// Empty tells whether a value of the column may be missing.
func (c *Column) Empty() bool { return c.Nullable || c.Optional }

// Batch is a run of rows.
type Batch struct {
	Len     int
	Columns []Vector // as the columns that were agreed on
}

// Vector is a column of a batch, or a part of one. What it holds where a value
// is missing says nothing.
type Vector struct {
	// Valid marks the rows that have a value, the lowest bit first; nil: all.
	Valid Bits
	// Ints are the values of Integer and Instant; of Number they are in units of
	// ten to the power of minus Digits.
	Ints   []int64
	Digits []uint8
	Bits   Bits // the values of Boolean

	// Values are the texts of Text and JSON. With an Index row i has
	// Values.At(Index[i]), and Values only grow as long as their Version stays.
	Values  *Texts
	Index   []uint32
	Version uint64

	// Ends are where the elements of the lists end, of List and Words. Members are
	// those of an object, the elements of all lists, or the names and the texts of
	// all words.
	Ends    []int32
	Members []Vector
}

// Has tells whether row i has a value.
func (v *Vector) Has(i int) bool { return v.Valid == nil || v.Valid.At(i) }

// Nulls is how many of n rows have no value.
func (v *Vector) Nulls(n int) int {
	if v.Valid == nil {
		return 0
	}
	return n - v.Valid.Count(n)
}

// Text is the text of row i.
func (v *Vector) Text(i int) []byte {
	if v.Index != nil {
		i = int(v.Index[i])
	}
	return v.Values.At(i)
}

// Elements are where the elements of row i begin and end.
func (v *Vector) Elements(i int) (from, to int) {
	if i > 0 {
		from = int(v.Ends[i-1])
	}
	return from, int(v.Ends[i])
}

// Float is the number of row i.
func (v *Vector) Float(i int) float64 { return Float(v.Ints[i], v.Digits[i]) }

var tens = [...]float64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// Float is the double that is nearest to a decimal.
func Float(units int64, digits uint8) float64 {
	const exact = 1 << 53
	if -exact <= units && units <= exact && int(digits) < len(tens) {
		return float64(units) / tens[digits] // both exact, so the quotient is rounded once
	}
	f, err := strconv.ParseFloat(strconv.FormatInt(units, 10)+"e-"+strconv.Itoa(int(digits)), 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// Bits are booleans, the lowest bit first.
type Bits []byte

// At is bit i.
func (b Bits) At(i int) bool { return b[i>>3]>>(i&7)&1 != 0 }

// Set sets bit i.
func (b Bits) Set(i int) { b[i>>3] |= 1 << (i & 7) }

// Count is how many of the first n bits are set.
func (b Bits) Count(n int) (set int) {
	for _, w := range b[:n/8] {
		set += bits.OnesCount8(w)
	}
	if n%8 > 0 {
		set += bits.OnesCount8(b[n/8] << (8 - n%8))
	}
	return set
}

// Room gives n bits that are not set, in the room of others.
func (b Bits) Room(n int) Bits {
	size := (n + 7) / 8
	if cap(b) < size {
		return make(Bits, size)
	}
	b = b[:size]
	clear(b)
	return b
}
