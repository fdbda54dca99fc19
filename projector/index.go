package projector

import (
	"cmp"
	"slices"
)

// index finds the mandates that see a pair. An item costs 16 bytes for each
// mandate that sees it, at however many sites.
type index struct {
	items   map[uint64][]viewer
	ids     []uint64 // mandates by number
	numbers map[uint64]uint32
}

// viewer is a mandate that sees the item at the sites.
type viewer struct {
	sites   *siteSet
	mandate uint32
}

func newIndex() *index {
	return &index{items: map[uint64][]viewer{}, numbers: map[uint64]uint32{}}
}

// set replaces what the mandate sees; from is what the index holds.
func (x *index) set(mandate uint64, from, to scope) {
	n, ok := x.numbers[mandate]
	if !ok {
		n = uint32(len(x.ids))
		x.numbers[mandate] = n
		x.ids = append(x.ids, mandate)
	}
	sides(from, to, func(item uint64, _, set *siteSet) { x.setItem(item, n, set) })
}

// setItem replaces the sites at which the mandate sees the item; nil: none.
func (x *index) setItem(item uint64, mandate uint32, set *siteSet) {
	list := x.items[item]
	i, ok := slices.BinarySearchFunc(list, mandate, func(v viewer, m uint32) int { return cmp.Compare(v.mandate, m) })
	switch {
	case ok && set != nil:
		list[i].sites = set
		return
	case ok:
		list = slices.Delete(list, i, i+1)
	case set != nil:
		list = slices.Insert(list, i, viewer{set, mandate})
	}
	if len(list) == 0 {
		delete(x.items, item)
		return
	}
	x.items[item] = list
}

// mandates appends the mandates that see the pair.
func (x *index) mandates(to []uint64, item uint64, site uint32) []uint64 {
	for _, v := range x.items[item] {
		if v.sites.has(site) {
			to = append(to, x.ids[v.mandate])
		}
	}
	return to
}
