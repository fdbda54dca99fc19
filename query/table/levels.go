package table

import (
	"encoding/binary"
	"math/bits"
)

// The hybrid of runs and packed bits in which Parquet has levels and numbers
// of dictionary values: here a single run, or all packed.

// appendRun writes n times the same value.
func appendRun(b []byte, value uint32, n, width int) []byte {
	b = binary.AppendUvarint(b, uint64(n)<<1)
	for ; width > 0; width -= 8 {
		b, value = append(b, byte(value)), value>>8
	}
	return b
}

// appendPacked writes values with some bits each.
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

// widthOf is how many bits values up to one need.
func widthOf(most uint32) int { return bits.Len32(most) }

// appendLevels writes levels as a page has them, behind their length.
func appendLevels(b []byte, levels []uint8, most uint8) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = appendPacked(b, levels, widthOf(uint32(most)))
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}
