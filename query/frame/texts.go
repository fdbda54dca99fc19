package frame

// Texts is a column of strings that lie in one buffer, possibly with gaps: a
// reader leaves in place what stood between them on the wire.
type Texts struct {
	Buf   []byte
	Spans []Span
}

// Span is where a string lies in its buffer.
type Span struct{ From, To uint32 }

// Len returns the number of strings.
func (t *Texts) Len() int { return len(t.Spans) }

// At returns a string; it lies in the column's buffer.
func (t *Texts) At(i int) []byte {
	s := t.Spans[i]
	return t.Buf[s.From:s.To]
}

// Size returns the length of a string in bytes.
func (t *Texts) Size(i int) int {
	s := t.Spans[i]
	return int(s.To - s.From)
}

// Append adds a string.
func (t *Texts) Append(s string) {
	t.Buf = append(t.Buf, s...)
	t.End(len(t.Buf) - len(s))
}

// End adds what was added to the buffer since from as a string.
func (t *Texts) End(from int) {
	t.Spans = append(t.Spans, Span{uint32(from), uint32(len(t.Buf))})
}

// Reset empties the column and keeps its memory.
func (t *Texts) Reset() { t.Buf, t.Spans = t.Buf[:0], t.Spans[:0] }

// TextsOf returns a column of the given strings.
func TextsOf(all ...string) *Texts {
	t := new(Texts)
	for _, s := range all {
		t.Append(s)
	}
	return t
}
