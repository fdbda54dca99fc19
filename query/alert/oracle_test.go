package alert_test

import (
	"math/big"
	"slices"

	"preismon/contracts"
	"preismon/query/alert"
)

// says returns what a capture says about a rule, from the rule's wording only.
func says(r alert.Rule, c alert.Capture) alert.Says {
	pick := func(cond bool, yes, no alert.Says) alert.Says {
		if cond {
			return yes
		}
		return no
	}
	states := map[alert.Kind][2]contracts.Outcome{
		alert.OutOfStock: {contracts.Unavailable, contracts.PriceObserved}, alert.BackInStock: {contracts.PriceObserved, contracts.Unavailable},
	}
	if pair, ok := states[r.Kind]; ok {
		return map[contracts.Outcome]alert.Says{pair[0]: alert.Holds, pair[1]: alert.Clear, contracts.ProductNotFound: alert.Between}[c.State]
	}
	if c.State != contracts.PriceObserved {
		return alert.Nothing
	}
	stands := alert.Standing(c.Offers)
	compared := func(price, than int64) alert.Says {
		if price < than {
			return alert.Holds
		}
		margin := new(big.Rat).Mul(big.NewRat(than, 1), big.NewRat(int64(100+r.Rearm), 100))
		return pick(big.NewRat(price, 1).Cmp(margin) >= 0, alert.Clear, alert.Between)
	}
	switch r.Kind {
	case alert.PriceBelow:
		return pick(stands.Currency == r.Currency, compared(stands.Price, r.Price), alert.Nothing)
	case alert.BuyBoxLost:
		own := stands.BuyBox == contracts.FlagTrue && slices.Contains([]string{"", stands.Merchant}, r.OwnMerchant)
		return pick(stands.BuyBox == contracts.FlagUnknown, alert.Nothing, pick(own, alert.Clear, alert.Holds))
	case alert.Undercut:
		var own, others []alert.Offer
		for _, o := range c.Offers {
			if o.Merchant == r.OwnMerchant {
				own = append(own, o)
			}
		}
		cheaper := func(a, b alert.Offer) int { return int(a.Price - b.Price) }
		if len(own) == 0 {
			return alert.Nothing
		}
		mine := slices.MinFunc(own, cheaper)
		for _, o := range c.Offers {
			if o.Merchant != r.OwnMerchant && o.Currency == mine.Currency {
				others = append(others, o)
			}
		}
		if len(others) == 0 {
			return alert.Clear
		}
		return compared(slices.MinFunc(others, cheaper).Price, mine.Price)
	}
	return alert.Between // for a drop: its captures decide together
}
