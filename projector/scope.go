package projector

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"preismon/contracts"
)

// sites assigns each site key a small number, for the life of the process.
type sites struct {
	number map[string]uint32
	key    []string
}

func newSites() *sites { return &sites{number: map[string]uint32{}} }

func (s *sites) of(key string) uint32 {
	n, ok := s.number[key]
	if !ok {
		key = strings.Clone(key) // so as not to keep the event in memory
		n = uint32(len(s.key))
		s.number[key] = n
		s.key = append(s.key, key)
	}
	return n
}

// scope is what a mandate sees: its items, and for each item the sites where it
// sees it, with the orders that give the pair. Orders are products of items and
// sites, so many items have the same sites: a scope takes memory in proportion
// to its orders, not to the number of its pairs.
type scope struct {
	items  []uint64   // ascending
	kinds  []uint32   // for each item: the place of its sites in sets
	sets   []*siteSet // none is empty
	orders [][]uint64 // sets of order ids, ascending
}

// siteSet is the sites of some items, ordered by their numbers.
type siteSet struct {
	sites  []uint32
	orders []uint32 // for each site: the place of its orders in the scope
	bits   []uint64 // the sites again, one bit each
}

func (s *siteSet) add(site, orders uint32) {
	s.sites = append(s.sites, site)
	s.orders = append(s.orders, orders)
	for int(site/64) >= len(s.bits) {
		s.bits = append(s.bits, 0)
	}
	s.bits[site/64] |= 1 << (site % 64)
}

// has reports whether the site is in the set; a nil set is empty.
func (s *siteSet) has(site uint32) bool {
	return s != nil && int(site/64) < len(s.bits) && s.bits[site/64]&(1<<(site%64)) != 0
}

// pairs returns the number of pairs.
func (s scope) pairs() int {
	n := 0
	for _, k := range s.kinds {
		n += len(s.sets[k].sites)
	}
	return n
}

// order is what a scope needs from an order.
type order struct {
	id      uint64
	active  bool
	created int64 // Unix ms
	items   []uint64
	sites   []uint32
	version uint64 // its place in the catalogue
}

func newOrder(o *contracts.Order, names *sites, version uint64) *order {
	out := &order{id: uint64(o.OrderID), active: o.Active, created: o.CreatedAt.UnixMilli(), version: version}
	if !o.Active {
		return out
	}
	out.items = numbers(o.Items)
	for _, s := range o.Sites {
		out.sites = append(out.sites, names.of(string(s)))
	}
	slices.Sort(out.sites)
	out.sites = slices.Compact(out.sites)
	return out
}

// scopeOf computes the scope that the orders give within a package of maxItems
// (VIS-01b): active orders count by creation, then id, and their items in
// order, until that many different items are reached; the pairs are those items
// at the sites of every active order that lists them.
func scopeOf(orders []*order, maxItems int) scope {
	active := make([]*order, 0, len(orders))
	for _, o := range orders {
		if o.active {
			active = append(active, o)
		}
	}
	slices.SortFunc(active, func(a, b *order) int { return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.id, b.id)) })
	given := map[uint64]uint32{} // the orders that give an item: a place in combinations
	for _, o := range active {
		for _, item := range o.items {
			if len(given) >= maxItems {
				break
			}
			given[item] = 0
		}
	}
	slices.SortFunc(active, func(a, b *order) int { return cmp.Compare(a.id, b.id) })
	all := newCombinations(active)
	for i, o := range active {
		for _, item := range o.items {
			if c, ok := given[item]; ok {
				given[item] = all.with(c, uint32(i))
			}
		}
	}
	b := newScopeBuilder()
	b.items = sortedKeys(given)
	kinds := map[uint32]int{} // by combination; -1: its orders have no sites
	kept := b.items[:0]
	for _, item := range b.items {
		c := given[item]
		kind, ok := kinds[c]
		if !ok {
			kind = b.set(all.pairs(c))
			kinds[c] = kind
		}
		if kind >= 0 {
			kept = append(kept, item)
			b.kinds = append(b.kinds, uint32(kind))
		}
	}
	b.items = kept
	return b.scope
}

// combinations are the sets of orders that items have. The first is empty.
type combinations struct {
	active []*order
	list   []combination
	next   map[[2]uint32]uint32
}

// combination is another combination followed by one more order.
type combination struct{ before, order uint32 }

func newCombinations(active []*order) *combinations {
	return &combinations{active, []combination{{}}, map[[2]uint32]uint32{}}
}

// with returns the combination of c and the order, which must not come before
// the last order of c.
func (a *combinations) with(c, order uint32) uint32 {
	if c > 0 && a.list[c].order == order { // the order names the item twice
		return c
	}
	key := [2]uint32{c, order}
	n, ok := a.next[key]
	if !ok {
		n = uint32(len(a.list))
		a.list = append(a.list, combination{c, order})
		a.next[key] = n
	}
	return n
}

// pairs returns the sites of the combination's orders, each with those orders.
func (a *combinations) pairs(c uint32) map[uint32][]uint64 {
	out := map[uint32][]uint64{}
	var list []*order
	for ; c > 0; c = a.list[c].before {
		list = append(list, a.active[a.list[c].order])
	}
	for _, o := range slices.Backward(list) {
		for _, site := range o.sites {
			out[site] = append(out[site], o.id)
		}
	}
	return out
}

// scopeBuilder collects the contents of a scope, storing each set once.
type scopeBuilder struct {
	scope
	orderSets map[string]uint32
	siteSets  map[string]int
	text      []byte
}

func newScopeBuilder() *scopeBuilder {
	return &scopeBuilder{orderSets: map[string]uint32{}, siteSets: map[string]int{}}
}

// set returns the place of a set of sites and their orders; -1: it is empty.
func (b *scopeBuilder) set(orders map[uint32][]uint64) int {
	if len(orders) == 0 {
		return -1
	}
	set := &siteSet{}
	for _, site := range sortedKeys(orders) {
		set.add(site, b.orderSet(orders[site]))
	}
	b.text = b.text[:0]
	for i, site := range set.sites {
		b.text = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b.text, site), set.orders[i])
	}
	n, ok := b.siteSets[string(b.text)]
	if !ok {
		n = len(b.sets)
		b.siteSets[string(b.text)] = n
		b.sets = append(b.sets, set)
	}
	return n
}

func (b *scopeBuilder) orderSet(ids []uint64) uint32 {
	b.text = b.text[:0]
	for _, id := range ids {
		b.text = binary.LittleEndian.AppendUint64(b.text, id)
	}
	n, ok := b.orderSets[string(b.text)]
	if !ok {
		n = uint32(len(b.orders))
		b.orderSets[string(b.text)] = n
		b.orders = append(b.orders, slices.Clone(ids))
	}
	return n
}

// add appends an item, which must come after all others, with its sites.
func (b *scopeBuilder) add(item uint64, orders map[uint32][]uint64) {
	if kind := b.set(orders); kind >= 0 {
		b.items, b.kinds = append(b.items, item), append(b.kinds, uint32(kind))
	}
}

// sides walks the items of two scopes: a set is nil where its scope lacks the
// item.
func sides(from, to scope, item func(item uint64, from, to *siteSet)) {
	i, j := 0, 0
	for i < len(from.items) || j < len(to.items) {
		switch {
		case j == len(to.items) || i < len(from.items) && from.items[i] < to.items[j]:
			item(from.items[i], from.sets[from.kinds[i]], nil)
			i++
		case i == len(from.items) || from.items[i] > to.items[j]:
			item(to.items[j], nil, to.sets[to.kinds[j]])
			j++
		default:
			item(from.items[i], from.sets[from.kinds[i]], to.sets[to.kinds[j]])
			i++
			j++
		}
	}
}

// change counts the pairs that only to has, and those that only from has, and
// reports whether anything, orders included, differs.
func change(from, to scope) (granted, revoked int, differs bool) {
	type result struct {
		granted, revoked int
		differs          bool
	}
	known := map[[2]*siteSet]result{}
	sides(from, to, func(_ uint64, a, b *siteSet) {
		r, ok := known[[2]*siteSet{a, b}]
		if !ok {
			r.granted, r.revoked, r.differs = changeOfSites(from, to, a, b)
			known[[2]*siteSet{a, b}] = r
		}
		granted, revoked, differs = granted+r.granted, revoked+r.revoked, differs || r.differs
	})
	return granted, revoked, differs || granted > 0 || revoked > 0
}

func changeOfSites(from, to scope, a, b *siteSet) (granted, revoked int, differs bool) {
	if a == nil {
		return len(b.sites), 0, true
	}
	if b == nil {
		return 0, len(a.sites), true
	}
	for i, site := range a.sites {
		j, ok := slices.BinarySearch(b.sites, site)
		if !ok {
			revoked++
			continue
		}
		differs = differs || !slices.Equal(from.orders[a.orders[i]], to.orders[b.orders[j]])
	}
	return len(b.sites) - (len(a.sites) - revoked), revoked, differs
}

// within returns the pairs of s that are also in old.
func (s scope) within(old scope) scope {
	out := scope{orders: s.orders}
	known := map[[2]*siteSet]int{} // places in sets; -1: no site is in both
	sides(old, s, func(item uint64, a, b *siteSet) {
		if a == nil || b == nil {
			return
		}
		kind, ok := known[[2]*siteSet{a, b}]
		if !ok {
			set := &siteSet{}
			for i, site := range b.sites {
				if a.has(site) {
					set.add(site, b.orders[i])
				}
			}
			if kind = -1; len(set.sites) > 0 {
				kind = len(out.sets)
				out.sets = append(out.sets, set)
			}
			known[[2]*siteSet{a, b}] = kind
		}
		if kind >= 0 {
			out.items, out.kinds = append(out.items, item), append(out.kinds, uint32(kind))
		}
	})
	return out
}
