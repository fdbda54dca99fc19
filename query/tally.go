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
	dict  []*siteTally // by site of the block's dictionary; nil: not looked up
	rows  int
}

type siteTally struct {
	priced, unavailable, unknown uint64
	first, last                  int64               // captures, ms
	items                        map[uint64]struct{} // with a row
	prices                       map[contracts.Currency][]int64
	wins                         map[string]uint64 // by merchant
}

func newTallyOf(pairs map[contracts.SiteKey]uint64) *tally {
	return &tally{pairs: pairs, seen: map[contracts.SiteKey]*siteTally{}}
}

// add counts the first n rows of a block in their order. It has the columns of the
// export fields, or those that tell which offer stands.
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
			site.wins[string(b.Merchant.At(i))]++
		}
		switch contracts.Outcome(b.Outcome[i]) {
		case contracts.PriceObserved:
			if b.PriceMinor[i] < 0 {
				site.unknown++
				continue
			}
			site.priced++
			currency := b.Currency.At(i)
			site.prices[contracts.Currency(currency)] = append(site.prices[contracts.Currency(currency)], b.PriceMinor[i])
		case contracts.Unavailable, contracts.ProductNotFound:
			site.unavailable++
		default:
			site.unknown++
		}
	}
}

// site finds the counts of a row's site.
func (t *tally) site(b *Block, i int) *siteTally {
	at := &t.dict[b.Site.Index[i]]
	if *at == nil {
		key := contracts.SiteKey(b.Site.At(i))
		if t.seen[key] == nil {
			t.seen[key] = &siteTally{
				first: math.MaxInt64, last: math.MinInt64,
				items: map[uint64]struct{}{}, prices: map[contracts.Currency][]int64{}, wins: map[string]uint64{},
			}
		}
		*at = t.seen[key]
	}
	return *at
}

// sites gives what was counted, of sites with rows, in no order.
func (t *tally) sites() (all []SiteTally) {
	if t == nil {
		return nil
	}
	for key, site := range t.seen {
		one := SiteTally{
			Site: key, Pairs: uint64(len(site.items)), FirstMs: site.first, LastMs: site.last,
			Priced: site.priced, Unavailable: site.unavailable, Unknown: site.unknown,
		}
		for currency, prices := range site.prices {
			slices.Sort(prices)
			n := len(prices)
			one.Prices = append(one.Prices, PriceTally{currency, uint64(n), prices[0], prices[(n-1)/2], prices[n-1]})
		}
		for merchant, n := range site.wins {
			one.Wins = append(one.Wins, Wins{merchant, n})
		}
		all = append(all, one)
	}
	return all
}
