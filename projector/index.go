package projector

import (
	"cmp"
	"slices"
)

// index finds the mandates that see a pair. It is made for a million pairs:
// a pair costs 8 bytes for each mandate, and an item one slice.
type index struct {
	items   map[uint64][]viewer
	ids     []uint64 // mandates by number
	numbers map[uint64]uint32
}

// viewer is a mandate that sees the item at the site.
type viewer struct{ site, mandate uint32 }

func (v viewer) compare(o viewer) int {
	return cmp.Or(cmp.Compare(v.site, o.site), cmp.Compare(v.mandate, o.mandate))
}

func newIndex() *index {
	return &index{items: map[uint64][]viewer{}, numbers: map[uint64]uint32{}}
}

// set replaces what the mandate sees: from is what the index holds.
func (x *index) set(mandate uint64, from, to []pair) {
	n, ok := x.numbers[mandate]
	if !ok {
		n = uint32(len(x.ids))
		x.numbers[mandate] = n
		x.ids = append(x.ids, mandate)
	}
	for i, j := 0, 0; i < len(from) || j < len(to); {
		var item uint64
		switch {
		case i == len(from):
			item = to[j].item
		case j == len(to):
			item = from[i].item
		default:
			item = min(from[i].item, to[j].item)
		}
		i1, j1 := i, j
		for i1 < len(from) && from[i1].item == item {
			i1++
		}
		for j1 < len(to) && to[j1].item == item {
			j1++
		}
		if !slices.EqualFunc(from[i:i1], to[j:j1], func(a, b pair) bool { return a.site == b.site }) {
			x.setItem(item, n, i1-i, to[j:j1])
		}
		i, j = i1, j1
	}
}

func (x *index) setItem(item uint64, mandate uint32, had int, to []pair) {
	old := x.items[item]
	list := make([]viewer, 0, max(0, len(old)-had)+len(to))
	for _, v := range old {
		if v.mandate != mandate {
			list = append(list, v)
		}
	}
	for _, p := range to {
		list = append(list, viewer{p.site, mandate})
	}
	if len(list) == 0 {
		delete(x.items, item)
		return
	}
	slices.SortFunc(list, viewer.compare)
	x.items[item] = list
}

// mandates appends the mandates that see the pair.
func (x *index) mandates(to []uint64, item uint64, site uint32) []uint64 {
	list := x.items[item]
	i := 0
	if len(list) > 16 {
		i, _ = slices.BinarySearchFunc(list, site, func(v viewer, s uint32) int { return cmp.Compare(v.site, s) })
	}
	for ; i < len(list) && list[i].site <= site; i++ {
		if list[i].site == site {
			to = append(to, x.ids[list[i].mandate])
		}
	}
	return to
}
