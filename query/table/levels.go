package table

import (
	"encoding/binary"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/rle"

	"preismon/query/frame"
)

// appendLevels writes levels in the form of a page, preceded by their length.
func (p *groups) appendLevels(b []byte, all []uint8, most uint8) []byte {
	runs := rle.Encoding{BitWidth: bits.Len8(most)}
	p.coded, _ = runs.EncodeLevels(p.coded, all) // none is greater
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(p.coded))), p.coded...)
}

// appendNumbered writes numbers of dictionary values.
func (p *groups) appendNumbered(b []byte, all []int32) []byte {
	var runs rle.DictionaryEncoding
	p.coded, _ = runs.EncodeInt32(p.coded, all) // of any numbers
	return append(b, p.coded...)
}

// levels are the Dremel levels of a leaf: for each value, at which depth it
// repeats and how much of its path is present. The next leaf reuses their
// memory.
type levels struct {
	repetition, definition []uint8
	values                 int        // of the leaf in the batch, including missing ones
	valid                  frame.Bits // which of the values are present

	path []step
}

// of returns the levels of a leaf's part of a batch.
func (l *levels) of(of *part) *levels {
	l.path, l.repetition, l.definition = of.path, l.repetition[:0], l.definition[:0]
	l.values = of.rows
	for _, s := range of.path {
		if s.column.Kind == frame.List || s.column.Kind == frame.Words {
			if l.values > 0 {
				l.values = int(s.vector.Ends[l.values-1])
			}
		}
	}
	l.valid = l.valid.Room(l.values)
	for row := range of.rows {
		l.walk(0, row, 0, 0, 0)
	}
	return l
}

// walk descends the path from value i of a step; depth is the number of lists
// above.
func (l *levels) walk(at, i int, depth, repeats, defined uint8) {
	s := l.path[at]
	if s.column.Empty() {
		if !s.vector.Has(i) {
			l.end(repeats, defined)
			return
		}
		defined++
	}
	switch s.column.Kind {
	case frame.List, frame.Words:
		from, to := s.vector.Elements(i)
		if from == to {
			l.end(repeats, defined)
		}
		for k := from; k < to; k++ {
			l.walk(at+1, k, depth+1, repeats, defined+1)
			repeats = depth + 1
		}
	case frame.Object:
		l.walk(at+1, i, depth, repeats, defined)
	default:
		l.valid.Set(i)
		l.end(repeats, defined)
	}
}

func (l *levels) end(repeats, defined uint8) {
	l.repetition, l.definition = append(l.repetition, repeats), append(l.definition, defined)
}

// valid marks the rows with a value, for a part that is in no list and that has
// at most one step in its path that may be missing; nil: all.
func (of *part) valid() frame.Bits {
	for n := len(of.path) - 1; n >= 0; n-- {
		if v := of.path[n].vector; v.Valid != nil {
			return v.Valid
		}
	}
	return nil
}
