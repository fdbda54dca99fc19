package projector

import (
	"cmp"
	"encoding/binary"
	"slices"

	"preismon/contracts"
)

// sites gives each site key a small number, for the life of the process.
type sites struct {
	number map[string]uint32
	key    []string
}

func newSites() *sites { return &sites{number: map[string]uint32{}} }

func (s *sites) of(key string) uint32 {
	n, ok := s.number[key]
	if !ok {
		n = uint32(len(s.key))
		s.number[key] = n
		s.key = append(s.key, key)
	}
	return n
}

// pair is a pair of a mandate's scope; orders is the place of its orders in
// the scope's list of sets.
type pair struct {
	item   uint64
	site   uint32
	orders uint32
}

func (a pair) compare(b pair) int {
	return cmp.Or(cmp.Compare(a.item, b.item), cmp.Compare(a.site, b.site))
}

// scope is what a mandate sees: its pairs by item and site number, each with
// the orders that give it.
type scope struct {
	pairs  []pair
	orders [][]uint64 // sets of order ids, ascending
}

// items is the number of different items.
func (s scope) items() int {
	n := 0
	for i, p := range s.pairs {
		if i == 0 || p.item != s.pairs[i-1].item {
			n++
		}
	}
	return n
}

// scopeOf computes the scope that the orders give within a package of
// maxItems (VIS-01b): active orders count by creation, then id, and their
// items in order, until so many different items are reached; the pairs are
// those items at the sites of every active order that lists them.
func scopeOf(orders []*contracts.Order, maxItems int, names *sites) scope {
	active := make([]*contracts.Order, 0, len(orders))
	for _, o := range orders {
		if o.Active {
			active = append(active, o)
		}
	}
	slices.SortFunc(active, func(a, b *contracts.Order) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.OrderID, b.OrderID))
	})
	kept := map[contracts.ItemID]struct{}{}
	for _, o := range active {
		for _, item := range o.Items {
			if len(kept) >= maxItems {
				break
			}
			kept[item] = struct{}{}
		}
	}
	slices.SortFunc(active, func(a, b *contracts.Order) int { return cmp.Compare(a.OrderID, b.OrderID) })
	var all []pair // orders: the place in active
	for i, o := range active {
		numbers := make([]uint32, 0, len(o.Sites))
		for _, s := range o.Sites {
			numbers = append(numbers, names.of(string(s)))
		}
		for _, item := range o.Items {
			if _, ok := kept[item]; !ok {
				continue
			}
			for _, n := range numbers {
				all = append(all, pair{uint64(item), n, uint32(i)})
			}
		}
	}
	slices.SortFunc(all, func(a, b pair) int { return cmp.Or(a.compare(b), cmp.Compare(a.orders, b.orders)) })
	all = slices.Compact(all)

	b := newScopeBuilder(0)
	var ids []uint64
	for i := 0; i < len(all); {
		ids = ids[:0]
		p := all[i]
		for ; i < len(all) && all[i].compare(p) == 0; i++ {
			ids = append(ids, uint64(active[all[i].orders].OrderID))
		}
		b.add(p.item, p.site, ids)
	}
	b.pairs = slices.Clip(b.pairs)
	return b.scope
}

// scopeBuilder collects pairs with their orders, storing each set once.
type scopeBuilder struct {
	scope
	sets map[string]uint32
	text []byte
}

func newScopeBuilder(n int) *scopeBuilder {
	return &scopeBuilder{scope: scope{pairs: make([]pair, 0, n)}, sets: map[string]uint32{}}
}

func (b *scopeBuilder) add(item uint64, site uint32, orders []uint64) {
	b.text = b.text[:0]
	for _, id := range orders {
		b.text = binary.LittleEndian.AppendUint64(b.text, id)
	}
	set, ok := b.sets[string(b.text)]
	if !ok {
		set = uint32(len(b.orders))
		b.sets[string(b.text)] = set
		b.orders = append(b.orders, slices.Clone(orders))
	}
	b.pairs = append(b.pairs, pair{item, site, set})
}

// sorted gives the collected scope in the order of scopeOf.
func (b *scopeBuilder) sorted() scope {
	slices.SortFunc(b.pairs, pair.compare)
	return b.scope
}

// change tells the pairs that to has and from has not, those that from has
// and to has not, and whether anything, orders included, differs.
func change(from, to scope) (granted, lost []pair, differs bool) {
	i, j := 0, 0
	for i < len(from.pairs) || j < len(to.pairs) {
		switch {
		case j == len(to.pairs) || i < len(from.pairs) && from.pairs[i].compare(to.pairs[j]) < 0:
			lost = append(lost, from.pairs[i])
			i++
		case i == len(from.pairs) || from.pairs[i].compare(to.pairs[j]) > 0:
			granted = append(granted, to.pairs[j])
			j++
		default:
			differs = differs || !slices.Equal(from.orders[from.pairs[i].orders], to.orders[to.pairs[j].orders])
			i++
			j++
		}
	}
	return granted, lost, differs || len(granted) > 0 || len(lost) > 0
}

// within gives the pairs of s that are also in old.
func (s scope) within(old scope) scope {
	out := scope{orders: s.orders}
	i := 0
	for _, p := range s.pairs {
		for i < len(old.pairs) && old.pairs[i].compare(p) < 0 {
			i++
		}
		if i < len(old.pairs) && old.pairs[i].compare(p) == 0 {
			out.pairs = append(out.pairs, p)
		}
	}
	return out
}
