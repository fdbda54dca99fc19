package query

import (
	"math"
	"slices"

	"preismon/contracts"
)

// tally counts rows by site.
type tally struct {
	pairs map[contracts.SiteKey]uint64 // visible under the selectors
	seen  map[contracts.SiteKey]*siteTally
	dict  []*siteTally // by site of the block's dictionary; nil: not looked up yet
	rows  int
}

type siteTally struct {
	priced, unavailable, unknown uint64
	first, last                  int64               // captures, ms
	items                        map[uint64]struct{} // with a row
	prices                       map[contracts.Currency]*priceTally
	wins                         map[string]*uint64 // by merchant
}

// priceTally collects prices of one currency.
type priceTally struct {
	minor    []int64
	min, max int64
}

func newTallyOf(pairs map[contracts.SiteKey]uint64) *tally {
	return &tally{pairs: pairs, seen: map[contracts.SiteKey]*siteTally{}}
}

// add counts the first n rows of a block in their order. The block has the
// columns of the export fields, or those that decide which offer stands.
func (t *tally) add(b *Block, n int) {
	t.dict = slices.Grow(t.dict[:0], b.Site.Values.Len())[:b.Site.Values.Len()]
	clear(t.dict)
	t.rows += n
	for k := range n {
		i := b.At(k)
		site := t.site(b, i)
		site.items[b.Item[i]] = struct{}{}
		site.first, site.last = min(site.first, b.CapturedMs[i]), max(site.last, b.CapturedMs[i])
		if contracts.Flag(b.IsBuyBox[i]) == contracts.FlagTrue {
			if n := site.wins[string(b.Merchant.At(i))]; n != nil {
				*n++
			} else {
				site.wins[string(b.Merchant.At(i))] = new(uint64(1))
			}
		}
		switch contracts.Outcome(b.Outcome[i]) {
		case contracts.PriceObserved:
			if b.PriceMinor[i] < 0 {
				site.unknown++
				continue
			}
			site.priced++
			site.priceTally(b.Currency.At(i)).add(b.PriceMinor[i])
		case contracts.Unavailable, contracts.ProductNotFound:
			site.unavailable++
		default:
			site.unknown++
		}
	}
}

func (s *siteTally) priceTally(currency []byte) *priceTally {
	p := s.prices[contracts.Currency(currency)]
	if p == nil {
		p = &priceTally{min: math.MaxInt64, max: math.MinInt64}
		s.prices[contracts.Currency(currency)] = p
	}
	return p
}

func (p *priceTally) add(minor int64) {
	p.minor = append(p.minor, minor)
	p.min, p.max = min(p.min, minor), max(p.max, minor)
}

// site finds the counts of a row's site.
func (t *tally) site(b *Block, i int) *siteTally {
	at := &t.dict[b.Site.Index[i]]
	if *at == nil {
		key := contracts.SiteKey(b.Site.At(i))
		if t.seen[key] == nil {
			t.seen[key] = &siteTally{
				first: math.MaxInt64, last: math.MinInt64,
				items: map[uint64]struct{}{}, prices: map[contracts.Currency]*priceTally{}, wins: map[string]*uint64{},
			}
		}
		*at = t.seen[key]
	}
	return *at
}

// sites returns what was counted, for sites with rows, in no order.
func (t *tally) sites() (all []SiteTally) {
	if t == nil {
		return nil
	}
	for key, site := range t.seen {
		one := SiteTally{
			Site: key, Pairs: uint64(len(site.items)), FirstMs: site.first, LastMs: site.last,
			Priced: site.priced, Unavailable: site.unavailable, Unknown: site.unknown,
		}
		for currency, p := range site.prices {
			n := len(p.minor)
			one.Prices = append(one.Prices, PriceTally{currency, uint64(n), p.min, nthSmallest(p.minor, (n-1)/2), p.max})
		}
		for merchant, n := range site.wins {
			one.Wins = append(one.Wins, Wins{merchant, *n})
		}
		all = append(all, one)
	}
	return all
}

// nthSmallest is the number that would be at index n if all were sorted. It
// reorders them (quickselect, Hoare 1961).
func nthSmallest(all []int64, n int) int64 {
	for len(all) > 12 {
		pivot := medianOf3(all[0], all[len(all)/2], all[len(all)-1])
		less, more := 0, len(all)-1
		for less <= more {
			for all[less] < pivot {
				less++
			}
			for all[more] > pivot {
				more--
			}
			if less <= more {
				all[less], all[more] = all[more], all[less]
				less, more = less+1, more-1
			}
		}
		switch {
		case n <= more:
			all = all[:more+1]
		case n >= less:
			all, n = all[less:], n-less
		default:
			return pivot
		}
	}
	slices.Sort(all)
	return all[n]
}

func medianOf3(a, b, c int64) int64 { return max(min(a, b), min(max(a, b), c)) }
