package query

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"preismon/contracts"
)

// Summary tells what the rows of one page say, site by site.
type Summary struct {
	Sites []SiteSummary `json:"sites"` // by key: each with rows, and each visible one under the selectors
}

// SiteSummary tells what the rows of a page say about a site. A price, an
// unavailable product and a product without a result are three outcomes
// (GEN-G5); each row counts as one of the first three numbers.
type SiteSummary struct {
	Site        contracts.SiteKey `json:"site"`
	Priced      int               `json:"priced"`      // rows that are available at a price
	Unavailable int               `json:"unavailable"` // rows of what the site does not sell now, or does not have
	Unknown     int               `json:"unknown"`     // rows that do not tell: access restricted, site down, no price given
	// NoResult is the number of visible pairs under the selectors that have no
	// row. It is nil where the page cannot tell: a page of a walk does not hold
	// the rows of the other pages, and a filter hides rows that exist.
	NoResult *uint64        `json:"noResult"`
	Prices   []PriceSummary `json:"prices"` // of the priced rows, by currency code
}

// PriceSummary is the distribution of the prices in one currency, as the field
// price shows them.
type PriceSummary struct {
	CurrencyCode contracts.Currency `json:"currencyCode"`
	Count        int                `json:"count"`
	Min          json.Number        `json:"min"`
	Median       json.Number        `json:"median"` // one of the prices: of an even number, the lower of the two in the middle
	Max          json.Number        `json:"max"`
}

// tally counts the rows of a page by site.
type tally struct {
	pairs map[contracts.SiteKey]uint64 // visible under the selectors
	sites map[contracts.SiteKey]*siteTally
	dict  []*siteTally // by site of the block's dictionary; nil: not looked up
}

type siteTally struct {
	priced, unavailable, unknown int
	items                        map[uint64]struct{} // with a row
	prices                       map[contracts.Currency][]int64
}

func newSiteTally() *siteTally {
	return &siteTally{items: map[uint64]struct{}{}, prices: map[contracts.Currency][]int64{}}
}

// newTally begins the summary of a page.
func (s *Service) newTally(ctx context.Context, in *read) (*tally, error) {
	t := &tally{sites: map[contracts.SiteKey]*siteTally{}}
	if in.vis.Nothing() {
		return t, nil
	}
	var err error
	t.pairs, err = s.store.PairsBySite(ctx, in.vis, in.query.Selectors)
	for site := range t.pairs {
		t.sites[site] = newSiteTally()
	}
	return t, err
}

// add counts the first n rows of a block in their order.
func (t *tally) add(b *Block, n int) {
	t.dict = slices.Grow(t.dict[:0], b.Site.Values.Len())[:b.Site.Values.Len()]
	clear(t.dict)
	for k := range n {
		i := b.At(k)
		site := t.site(b, i)
		site.items[b.Item[i]] = struct{}{}
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
		if t.sites[key] == nil {
			t.sites[key] = newSiteTally()
		}
		*at = t.sites[key]
	}
	return *at
}

// summary gives what was counted. Only where the page holds every row of the
// pairs under the selectors can it tell which have none.
func (t *tally) summary(every bool) *Summary {
	sum := &Summary{Sites: make([]SiteSummary, 0, len(t.sites))}
	for _, key := range slices.Sorted(maps.Keys(t.sites)) {
		site := t.sites[key]
		one := SiteSummary{Site: key, Priced: site.priced, Unavailable: site.unavailable, Unknown: site.unknown, Prices: []PriceSummary{}}
		if every {
			// A pair that left the scope while the page was read has rows and
			// is not counted.
			none := t.pairs[key] - min(t.pairs[key], uint64(len(site.items)))
			one.NoResult = &none
		}
		for _, currency := range slices.Sorted(maps.Keys(site.prices)) {
			one.Prices = append(one.Prices, distribution(currency, site.prices[currency]))
		}
		sum.Sites = append(sum.Sites, one)
	}
	return sum
}

// distribution sorts the prices.
func distribution(currency contracts.Currency, prices []int64) PriceSummary {
	slices.Sort(prices)
	n := len(prices)
	amount := func(minor int64) json.Number { return decimal(minor, currency) }
	return PriceSummary{
		CurrencyCode: currency, Count: n,
		Min: amount(prices[0]), Median: amount(prices[(n-1)/2]), Max: amount(prices[n-1]),
	}
}
