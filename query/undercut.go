package query

import (
	"cmp"
	"slices"

	"preismon/contracts"
)

// maxUndercutters is how many of them an answer lists.
const maxUndercutters = 10

// Undercutter counts where a merchant is cheaper than the caller. Offers
// without an observed merchant are counted by their site.
type Undercutter struct {
	Merchant  *string            `json:"merchant"`  // as observed; null: none was
	Site      *contracts.SiteKey `json:"site"`      // null: offers of a merchant, at any site
	Positions int                `json:"positions"` // with an offer below the own price
	Cheapest  int                `json:"cheapest"`  // of these, where its offer is the cheapest, or as cheap
}

// seller is the source of an offer: a merchant, or a site that names none.
type seller struct {
	merchant string
	site     contracts.SiteKey
}

func sellerOf(o offer) seller {
	if o.Merchant != "" {
		return seller{merchant: o.Merchant}
	}
	return seller{site: o.Site}
}

type undercutters map[seller]*Undercutter

// add counts, once each, the sellers that are cheaper than the own price.
func (u undercutters) add(own int64, others []offer) {
	lowest, least := map[seller]int64{}, own
	for _, o := range others {
		if o.Price >= own {
			continue
		}
		by := sellerOf(o)
		if old, ok := lowest[by]; !ok || o.Price < old {
			lowest[by] = o.Price
		}
		least = min(least, o.Price)
	}
	for by, price := range lowest {
		if u[by] == nil {
			u[by] = &Undercutter{Merchant: orNull(by.merchant), Site: orNull(by.site)}
		}
		u[by].Positions++
		if price == least {
			u[by].Cheapest++
		}
	}
}

// most lists the sellers with the most positions first.
func (u undercutters) most() []Undercutter {
	all := make([]seller, 0, len(u))
	for by := range u {
		all = append(all, by)
	}
	slices.SortFunc(all, func(a, b seller) int {
		return cmp.Or(cmp.Compare(u[b].Positions, u[a].Positions), cmp.Compare(u[b].Cheapest, u[a].Cheapest), cmp.Compare(a.merchant, b.merchant), cmp.Compare(a.site, b.site))
	})
	most := []Undercutter{}
	for _, by := range all[:min(len(all), maxUndercutters)] {
		most = append(most, *u[by])
	}
	return most
}
