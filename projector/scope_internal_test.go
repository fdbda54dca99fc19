package projector

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"preismon/contracts"
)

func drawOrders(t *rapid.T) []*contracts.Order {
	n := rapid.IntRange(0, 5).Draw(t, "orders")
	list := make([]*contracts.Order, 0, n)
	for i := range n {
		o := &contracts.Order{
			OrderID: contracts.OrderID(i + 1), Active: rapid.Bool().Draw(t, "active"),
			CreatedAt: time.UnixMilli(int64(rapid.IntRange(0, 2).Draw(t, "created"))),
		}
		for _, item := range rapid.SliceOfN(rapid.Uint64Range(1, 8), 0, 8).Draw(t, "items") {
			o.Items = append(o.Items, contracts.ItemID(item))
		}
		o.Sites = rapid.SliceOfN(rapid.SampledFrom([]contracts.SiteKey{"a", "b", "c"}), 0, 4).Draw(t, "sites")
		list = append(list, o)
	}
	return list
}

type namedPair struct {
	item uint64
	site string
}

func flat(s scope, names *sites) map[namedPair][]uint64 {
	out := map[namedPair][]uint64{}
	for i, item := range s.items {
		set := s.sets[s.kinds[i]]
		for k, site := range set.sites {
			out[namedPair{item, names.key[site]}] = s.orders[set.orders[k]]
		}
	}
	return out
}

// plainScope computes scopeOf the plain way.
func plainScope(orders []*contracts.Order, maxItems int) map[namedPair][]uint64 {
	var kept []contracts.ItemID
	for created := int64(0); created < 3; created++ {
		for _, o := range orders { // drawn in order of their ids
			if !o.Active || o.CreatedAt.UnixMilli() != created {
				continue
			}
			for _, item := range o.Items {
				if len(kept) < maxItems && !slices.Contains(kept, item) {
					kept = append(kept, item)
				}
			}
		}
	}
	out := map[namedPair][]uint64{}
	for _, o := range orders {
		for _, item := range o.Items {
			for _, s := range o.Sites {
				k := namedPair{uint64(item), string(s)}
				if o.Active && slices.Contains(kept, item) && !slices.Contains(out[k], uint64(o.OrderID)) {
					out[k] = append(out[k], uint64(o.OrderID))
				}
			}
		}
	}
	return out
}

// held returns orders as a projector holds them.
func held(orders []*contracts.Order, names *sites) (all []*order) {
	for i, o := range orders {
		all = append(all, newOrder(o, names, uint64(i)))
	}
	return all
}

func TestScope(t *testing.T) { // VIS-01b
	rapid.Check(t, func(t *rapid.T) {
		names := newSites()
		draw := func() (scope, map[namedPair][]uint64) {
			orders, maximum := drawOrders(t), rapid.IntRange(0, 9).Draw(t, "maxItems")
			got, want := scopeOf(held(orders, names), maximum), plainScope(orders, maximum)
			if d := cmp.Diff(want, flat(got, names)); d != "" {
				t.Fatalf("scope (-want +got):\n%s", d)
			}
			if !slices.IsSorted(got.items) {
				t.Fatal("not sorted")
			}
			items := map[uint64]bool{}
			for k := range want {
				items[k.item] = true
			}
			if len(got.items) != len(items) || got.pairs() != len(want) {
				t.Fatalf("%d items and %d pairs, want %d and %d", len(got.items), got.pairs(), len(items), len(want))
			}
			return got, want
		}
		a, plainA := draw()
		b, plainB := draw()
		granted, revoked, differs := change(a, b)
		for what, c := range map[string]struct {
			got      int
			has, not map[namedPair][]uint64
		}{"granted": {granted, plainB, plainA}, "lost": {revoked, plainA, plainB}} {
			n := 0
			for k := range c.has {
				if _, ok := c.not[k]; !ok {
					n++
				}
			}
			if c.got != n {
				t.Fatalf("%s: %d, want %d", what, c.got, n)
			}
		}
		if differs == cmp.Equal(plainA, plainB) {
			t.Fatalf("differs = %v", differs)
		}
		both := map[namedPair][]uint64{}
		for k, v := range plainB {
			if _, ok := plainA[k]; ok {
				both[k] = v
			}
		}
		if d := cmp.Diff(both, flat(b.within(a), names)); d != "" {
			t.Fatalf("within (-want +got):\n%s", d)
		}
	})
}

func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names, x := newSites(), newIndex()
		plain := map[uint64]map[namedPair][]uint64{}
		indexed := map[uint64]scope{}
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			m := rapid.Uint64Range(1, 4).Draw(t, "mandate")
			orders := drawOrders(t)
			s := scopeOf(held(orders, names), 9)
			x.set(m, indexed[m], s)
			indexed[m], plain[m] = s, plainScope(orders, 9)
			for item := uint64(0); item < 9; item++ {
				for _, site := range []string{"a", "b", "c", "d"} {
					var want []uint64
					for id := uint64(1); id <= 4; id++ {
						if _, ok := plain[id][namedPair{item, site}]; ok {
							want = append(want, id)
						}
					}
					got := x.mandates(nil, item, names.of(site))
					slices.Sort(got)
					if !slices.Equal(got, want) {
						t.Fatalf("pair %d %s: %v, want %v", item, site, got, want)
					}
				}
			}
		}
	})
}
