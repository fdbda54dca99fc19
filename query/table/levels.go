package table

import (
	"encoding/binary"
	"math/bits"

	"preismon/query/frame"
)

// Parquet stores levels and numbers of dictionary values in a hybrid of runs
// and packed bits. Here they are a single run, or all packed.

// appendRun writes the same value n times.
func appendRun(b []byte, value uint32, n, width int) []byte {
	b = binary.AppendUvarint(b, uint64(n)<<1)
	for ; width > 0; width -= 8 {
		b, value = append(b, byte(value)), value>>8
	}
	return b
}

// appendPacked writes values with width bits each, or as a run if all are the
// same.
func appendPacked[T uint8 | uint32](b []byte, values []T, width int) []byte {
	same := true
	for _, v := range values {
		if v != values[0] {
			same = false
			break
		}
	}
	if same && len(values) > 0 {
		return appendRun(b, uint32(values[0]), len(values), width)
	}
	groups := (len(values) + 7) / 8
	b = binary.AppendUvarint(b, uint64(groups)<<1|1)
	end := len(b) + groups*width
	var word uint64
	held := 0
	for _, v := range values {
		word |= uint64(v) << held
		if held += width; held >= 32 {
			b = binary.LittleEndian.AppendUint32(b, uint32(word))
			word, held = word>>32, held-32
		}
	}
	for ; held > 0; held -= 8 {
		b, word = append(b, byte(word)), word>>8
	}
	for len(b) < end {
		b = append(b, 0)
	}
	return b
}

// widthOf returns how many bits are needed for values up to most.
func widthOf(most uint32) int { return bits.Len32(most) }

// appendLevels writes levels in the form of a page, preceded by their length.
func appendLevels(b []byte, levels []uint8, most uint8) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = appendPacked(b, levels, widthOf(uint32(most)))
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
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
