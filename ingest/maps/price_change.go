package maps

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"preismon/contracts"
)

// PriceChange is how the price in the newest capture of a product at a site
// differs from the newest one published before.
type PriceChange struct {
	Site    contracts.SiteKey
	Product string           // its name, or another identifier
	Was, Is *contracts.Money // the lowest price, without shipping; nil: unavailable
	At      time.Time        // when it was captured

	item contracts.ItemID
}

// String returns the change in a form for people: "Kettle at alpha.example:
// 19.99 EUR -> 17.49 EUR (-12.5 %)".
func (c PriceChange) String() string {
	text := func(m *contracts.Money) string {
		if m == nil {
			return "unavailable"
		}
		return m.String()
	}
	s := fmt.Sprintf("%s at %s: %s -> %s", c.Product, c.Site, text(c.Was), text(c.Is))
	if share, ok := c.share(); ok {
		s += fmt.Sprintf(" (%+.1f %%)", 100*share)
	}
	return s
}

// share returns the change as a fraction of the old price; false if a price is
// missing or the two have different currencies.
func (c PriceChange) share() (float64, bool) {
	if c.Was == nil || c.Is == nil || c.Was.CurrencyCode != c.Is.CurrencyCode || c.Was.AmountMinor == 0 {
		return 0, false
	}
	return float64(c.Is.AmountMinor-c.Was.AmountMinor) / float64(c.Was.AmountMinor), true
}

// capturedPrice is a product's price in a capture.
type capturedPrice struct {
	ms    int64
	price contracts.Money // without a currency: unavailable
}

func (p capturedPrice) money() *contracts.Money {
	if p.price.CurrencyCode == "" {
		return nil
	}
	return &p.price
}

// prices holds the newest captures of a site's products.
type prices map[contracts.ItemID]capturedPrice

// take records an observation's price, if it is the newest of its item.
// Observations without information about the price, or with prices in several
// currencies, are ignored.
func (p prices) take(o *contracts.Observation) {
	at := capturedPrice{ms: o.CapturedAt.UnixMilli()}
	switch o.Outcome {
	case contracts.PriceObserved:
		for _, offer := range o.Offers {
			switch {
			case offer.Price == nil:
			case at.price.CurrencyCode == "":
				at.price = contracts.Money{AmountMinor: *offer.Price, CurrencyCode: offer.CurrencyCode}
			case at.price.CurrencyCode != offer.CurrencyCode:
				return
			default:
				at.price.AmountMinor = min(at.price.AmountMinor, *offer.Price)
			}
		}
		if at.price.CurrencyCode == "" {
			return
		}
	case contracts.Unavailable:
	default:
		return
	}
	if known, ok := p[o.ItemID]; !ok || at.ms >= known.ms {
		p[o.ItemID] = at
	}
}

// arrive adds what arrived, and returns what changed. Anything older than what
// is known changes nothing, and neither does a new product.
func (p prices) arrive(arrived prices, site contracts.SiteKey) (changes []PriceChange) {
	for id, is := range arrived {
		was, known := p[id]
		if known && is.ms <= was.ms {
			continue
		}
		p[id] = is
		if known && was.price != is.price {
			changes = append(changes, PriceChange{Site: site, item: id, Was: was.money(), Is: is.money(), At: time.UnixMilli(is.ms).UTC()})
		}
	}
	return changes
}

// sortChanges puts products that became available or unavailable first, then
// the greatest changes.
func sortChanges(changes []PriceChange) {
	weight := func(c PriceChange) float64 {
		if share, ok := c.share(); ok {
			return math.Abs(share)
		}
		return math.Inf(1)
	}
	slices.SortFunc(changes, func(a, b PriceChange) int {
		return cmp.Or(cmp.Compare(weight(b), weight(a)), strings.Compare(a.Product, b.Product), strings.Compare(string(a.Site), string(b.Site)))
	})
}

// named adds a site's names for its products to changes.
func (s *site) named(changes []PriceChange) []PriceChange {
	if len(changes) == 0 {
		return nil
	}
	names := map[contracts.ItemID]string{}
	for _, p := range s.products {
		names[p.item.ItemID] = cmp.Or(p.name, p.item.Name, p.item.EAN, p.key)
	}
	for i, c := range changes {
		changes[i].Product = cmp.Or(names[c.item], c.item.String())
	}
	return changes
}
