package event

import (
	"cmp"
	"slices"
)

// Compare orders the positions of one stream.
func (m Mark) Compare(n Mark) int {
	return cmp.Or(cmp.Compare(m.Epoch, n.Epoch), cmp.Compare(m.Seq, n.Seq))
}

// Arrivals describes the observations that a checkpoint made visible: those
// after the checkpoint before. It may name more than have arrived, never less.
type Arrivals struct {
	After Mark `json:"after"` // the checkpoint before
	// Earliest and Latest are the times of the first capture and of the last, in
	// Unix ms. Latest is before Earliest if nothing has arrived.
	Earliest int64 `json:"earliest"`
	Latest   int64 `json:"latest"`
	// Items, Sites and Mandates, ascending, are what was observed and who sees
	// it; nil: they are too many to be named.
	Items    []uint64 `json:"items"`
	Sites    []string `json:"sites"`
	Mandates []uint64 `json:"mandates"`
}

// Selection is a part of the observations.
type Selection struct {
	Mandate uint64
	Items   []uint64 // none: any
	Site    string   // empty: any
	// From and To bound the capture, in Unix ms, both included.
	From, To int64
}

// Touch reports whether an arrival may be in the selection.
func (a *Arrivals) Touch(s *Selection) bool {
	return a.Earliest <= s.To && s.From <= a.Latest && named(a.Mandates, s.Mandate) &&
		(s.Site == "" || named(a.Sites, s.Site)) &&
		(len(s.Items) == 0 || slices.ContainsFunc(s.Items, func(item uint64) bool { return named(a.Items, item) }))
}

func named[T cmp.Ordered](all []T, one T) bool {
	_, found := slices.BinarySearch(all, one)
	return found || all == nil
}
