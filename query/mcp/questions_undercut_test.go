package mcp_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"preismon/contracts"
)

// undercuttersOf returns the undercutters of an answer, in its order.
func undercuttersOf(answer object) (all []string) {
	for _, r := range list(answer, "query", "undercutBy") {
		name := at(r, "merchant")
		if name == nil {
			name = at(r, "site")
		}
		all = append(all, fmt.Sprint(name, " ", at(r, "positions"), " ", at(r, "cheapest")))
	}
	return all
}

// undercutters returns the first ten sellers that undercut the reference prices
// of an order, with the number of products in a country and currency and of
// those in which no one asks less; and how many undercutters there are.
func (d *demo) undercutters(order string) (first []string, n int) {
	type place struct {
		item     contracts.ItemID
		country  string
		currency contracts.Currency
	}
	lowest := map[place]map[string]int64{} // by seller
	for _, pair := range d.pairsIn(order, "") {
		if o := d.compared(pair); o != nil {
			at, seller := place{pair.Item, d.sites[pair.Site].CountryCode, o.CurrencyCode}, cmp.Or(o.Merchant, string(pair.Site))
			if lowest[at] == nil {
				lowest[at] = map[string]int64{}
			}
			if old, ok := lowest[at][seller]; !ok || *o.Price < old {
				lowest[at][seller] = *o.Price
			}
		}
	}
	type count struct{ positions, cheapest int }
	counts := map[string]count{}
	for at, sellers := range lowest {
		own := map[int64]bool{}
		for _, r := range d.references[at.item] {
			if r.CurrencyCode == at.currency {
				own[r.AmountMinor] = true
			}
		}
		if len(own) != 1 { // none, or more than one
			continue
		}
		for mine := range own {
			for seller, price := range sellers {
				if price >= mine {
					continue
				}
				c := counts[seller]
				c.positions++
				least := true
				for _, other := range sellers {
					least = least && price <= other
				}
				if least {
					c.cheapest++
				}
				counts[seller] = c
			}
		}
	}
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b].positions, counts[a].positions), cmp.Compare(counts[b].cheapest, counts[a].cheapest), strings.Compare(a, b))
	})
	for _, name := range names[:min(10, len(names))] {
		first = append(first, fmt.Sprint(name, " ", counts[name].positions, " ", counts[name].cheapest))
	}
	return first, len(names)
}
