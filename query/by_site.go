package query

import (
	"iter"
	"maps"
	"slices"

	"preismon/contracts"
)

// bySite holds a value for each site of pairs, which are visited by item and
// site: the sites mostly come in the same order as before, so each remembers
// which one came next, and few are looked for.
type bySite[T any] struct {
	all  map[contracts.SiteKey]*siteValue[T]
	last *siteValue[T] // visited
}

type siteValue[T any] struct {
	site  contracts.SiteKey
	value T
	next  *siteValue[T] // visited after it
}

// of returns the value of a site; made: it is new, and zero.
func (b *bySite[T]) of(site contracts.SiteKey) (value *T, made bool) {
	if b.last != nil && b.last.next != nil && b.last.next.site == site {
		b.last = b.last.next
		return &b.last.value, false
	}
	v := b.all[site]
	if v == nil {
		if b.all == nil {
			b.all = map[contracts.SiteKey]*siteValue[T]{}
		}
		v, made = &siteValue[T]{site: site}, true
		b.all[site] = v
	}
	if b.last != nil {
		b.last.next = v
	}
	b.last = v
	return &v.value, made
}

// sorted returns the values by site.
func (b *bySite[T]) sorted() iter.Seq2[contracts.SiteKey, *T] {
	return func(yield func(contracts.SiteKey, *T) bool) {
		for _, site := range slices.Sorted(maps.Keys(b.all)) {
			if !yield(site, &b.all[site].value) {
				return
			}
		}
	}
}
