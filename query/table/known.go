package table

import "preismon/query/frame"

// known holds the texts of a column seen so far, numbered in order of
// appearance.
type known struct {
	numbers map[string]uint32
	values  frame.Texts

	// The numbers of the values in a block's dictionary, plus 1; 0: not seen
	// yet.
	version uint64
	mapped  []uint32
}

// forget removes all texts.
func (k *known) forget() {
	clear(k.numbers)
	k.values.Reset()
	k.version, k.mapped = 0, k.mapped[:0]
}

// begin prepares for the texts of a vector.
func (k *known) begin(v *frame.Vector) {
	if k.numbers == nil {
		k.numbers = map[string]uint32{}
	}
	if v.Index == nil {
		return
	}
	if k.version != v.Version {
		k.version, k.mapped = v.Version, k.mapped[:0]
	}
	for len(k.mapped) < v.Values.Len() {
		k.mapped = append(k.mapped, 0)
	}
}

// of returns the number of the text of row i of a vector.
func (k *known) of(v *frame.Vector, i int) uint32 {
	if v.Index == nil {
		return k.number(v.Values.At(i))
	}
	at := v.Index[i]
	if n := k.mapped[at]; n > 0 {
		return n - 1
	}
	n := k.number(v.Values.At(int(at)))
	k.mapped[at] = n + 1
	return n
}

func (k *known) number(text []byte) uint32 {
	n, ok := k.numbers[string(text)]
	if !ok {
		n = uint32(k.values.Len())
		s := string(text)
		k.numbers[s] = n
		k.values.Append(s)
	}
	return n
}
