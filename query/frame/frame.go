// Package frame holds rows as columns between the code that makes them and the
// code that writes them: the service builds a Batch from the blocks of its
// store, a client builds one from the Arrow that it received, and package table
// writes it in some format.
//
// Null and absent are distinguished by column: in the contract no field can be
// both, so a missing value is absent in an Optional column, and null in any
// other.
//
// A batch uses the memory of what it was built from. It is valid until the call
// that received it returns; nothing of it may be kept.
package frame

import (
	"math"
	"math/bits"
	"strconv"
)

// Kind is what a column or a part of it holds.
type Kind uint8

// The kinds. Unless stated otherwise, they are the kinds of JSON.
const (
	JSON    Kind = iota // any value, as the text of its JSON
	Text                // UTF-8
	Number              // a decimal: an amount in the main unit, or a rating
	Integer             // 64 bits
	Boolean             //
	Instant             // milliseconds since 1970 in UTC; RFC 3339 in JSON and CSV
	List                // of values of one field
	Object              // with named members
	Words               // an object of texts under arbitrary names
)

// Column is a field of a row, or of an object within one.
type Column struct {
	Name     string
	Kind     Kind
	Nullable bool     // it can be null
	Optional bool     // it can be absent
	Few      bool     // a text with few different values, each in many rows
	Members  []Column // of an object; of a list, the one column of its values
}

// Empty reports whether a value of the column may be missing.
func (c *Column) Empty() bool { return c.Nullable || c.Optional }

// Batch is a run of rows.
type Batch struct {
	Len     int
	Columns []Vector // one for each of the agreed columns, in their order
}

// Vector is a column of a batch, or a part of one. What it holds where a value
// is missing has no meaning.
type Vector struct {
	// Valid marks the rows that have a value, the lowest bit first; nil: all.
	Valid Bits
	// Ints are the values of Integer and Instant; those of Number are in units
	// of ten to the power of minus Digits.
	Ints   []int64
	Digits []uint8
	Floats []float64 // instead of both, numbers that were read as doubles
	Bits   Bits      // the values of Boolean

	// Values are the texts of Text and JSON. With an Index, the text of row i
	// is Values.At(Index[i]), and Values only grows as long as Version stays
	// the same.
	Values  *Texts
	Index   []uint32
	Version uint64

	// Ends are where each row's elements end, for List and Words. Members are
	// those of an object, the elements of all lists, or the names and the texts
	// of all words.
	Ends    []int32
	Members []Vector
}

// Has reports whether row i has a value.
func (v *Vector) Has(i int) bool { return v.Valid == nil || v.Valid.At(i) }

// Nulls returns how many of n rows have no value.
func (v *Vector) Nulls(n int) int {
	if v.Valid == nil {
		return 0
	}
	return n - v.Valid.Count(n)
}

// Text returns the text of row i.
func (v *Vector) Text(i int) []byte {
	if v.Index != nil {
		i = int(v.Index[i])
	}
	return v.Values.At(i)
}

// Elements returns where the elements of row i begin and end.
func (v *Vector) Elements(i int) (from, to int) {
	if i > 0 {
		from = int(v.Ends[i-1])
	}
	return from, int(v.Ends[i])
}

// Float returns the number of row i.
func (v *Vector) Float(i int) float64 {
	if v.Floats != nil {
		return v.Floats[i]
	}
	return Float(v.Ints[i], v.Digits[i])
}

var tens = [...]float64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// Float returns the double that is nearest to a decimal.
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

// At returns bit i.
func (b Bits) At(i int) bool { return b[i>>3]>>(i&7)&1 != 0 }

// Set sets bit i.
func (b Bits) Set(i int) { b[i>>3] |= 1 << (i & 7) }

// Count returns how many of the first n bits are set.
func (b Bits) Count(n int) (set int) {
	for _, w := range b[:n/8] {
		set += bits.OnesCount8(w)
	}
	if n%8 > 0 {
		set += bits.OnesCount8(b[n/8] << (8 - n%8))
	}
	return set
}

// Room returns n bits that are not set, reusing the memory of b if it is large
// enough.
func (b Bits) Room(n int) Bits {
	size := (n + 7) / 8
	if cap(b) < size {
		return make(Bits, size)
	}
	b = b[:size]
	clear(b)
	return b
}
