package alert

import (
	"cmp"
	"slices"

	"preismon/contracts"
)

// Offer is an offer of a capture. Amounts are minor units; -1: not observed.
type Offer struct {
	Price, Shipping int64
	Currency        contracts.Currency
	Merchant        string
	BuyBox          contracts.Flag // unknown where the site has none
}

// Capture is what one capture of a pair found.
type Capture struct {
	Ms     int64             // when
	State  contracts.Outcome // PriceObserved: the standing offer has a price
	Offers []Offer           // in their order; at least one
}

// Says is what a capture says about a rule.
type Says uint8

const (
	Nothing Says = iota // such as a capture with restricted access
	Holds
	Between // it does not hold, but not by enough to arm the rule again
	Clear
)

// Judged is a capture as a rule sees it.
type Judged struct {
	Ms       int64
	State    contracts.Outcome
	Offer    Offer // the standing one; for Undercut with an own merchant, the cheapest other one, or its own if there is none
	Says     Says
	Compared int64 // the price that was compared with, in the offer's currency; -1: none
}

// Judge returns what a capture says about the rule. reference returns the
// caller's own price in a currency, if there is one.
func (r Rule) Judge(c Capture, reference func(contracts.Currency) (price int64, ok bool)) Judged {
	j := Judged{Ms: c.Ms, State: c.State, Offer: Standing(c.Offers), Compared: -1}
	priced := c.State == contracts.PriceObserved
	switch r.Kind {
	case PriceBelow:
		if priced && j.Offer.Currency == r.Currency {
			j.Compared = r.Price
			j.Says = r.below(j.Offer.Price, r.Price-1, r.Price)
		}
	case PriceDrop: // this is decided by several captures together
		if priced {
			j.Says = Between
		}
	case OutOfStock:
		j.Says = says(c.State, contracts.Unavailable, contracts.PriceObserved)
	case BackInStock:
		j.Says = says(c.State, contracts.PriceObserved, contracts.Unavailable)
	case BuyBoxLost:
		if priced && j.Offer.BuyBox != contracts.FlagUnknown {
			j.Says = Holds
			if j.Offer.BuyBox == contracts.FlagTrue && (r.OwnMerchant == "" || j.Offer.Merchant == r.OwnMerchant) {
				j.Says = Clear
			}
		}
	case Undercut:
		r.undercut(&j, c, reference)
	}
	return j
}

// says returns what a state says about a rule that is fired by one state and
// armed by another.
func says(state, holds, clear contracts.Outcome) Says {
	switch state {
	case holds:
		return Holds
	case clear:
		return Clear
	case contracts.ProductNotFound:
		return Between
	}
	return Nothing
}

// below compares a price with the highest price that fires, and with the price
// that the margin is added to.
func (r Rule) below(price, most, than int64) Says {
	switch {
	case price <= most:
		return Holds
	case 100*uint64(price) >= uint64(100+r.Rearm)*uint64(than):
		return Clear
	}
	return Between
}

func (r Rule) undercut(j *Judged, c Capture, reference func(contracts.Currency) (int64, bool)) {
	if c.State != contracts.PriceObserved {
		return
	}
	if r.OwnMerchant == "" {
		if price, ok := reference(j.Offer.Currency); ok {
			j.Compared, j.Says = price, r.below(j.Offer.Price, price-1, price)
		}
		return
	}
	var own *Offer
	for i := range c.Offers {
		if o := &c.Offers[i]; o.Merchant == r.OwnMerchant && o.Price >= 0 && (own == nil || o.Price < own.Price) {
			own = o
		}
	}
	if own == nil {
		return
	}
	j.Offer, j.Says, j.Compared = *own, Clear, own.Price
	var others []Offer
	for _, o := range c.Offers {
		if o.Merchant != r.OwnMerchant && o.Price >= 0 && o.Currency == own.Currency {
			others = append(others, o)
		}
	}
	for i, o := range others {
		if i == 0 || o.Price < j.Offer.Price {
			j.Offer = o
			j.Says = r.below(o.Price, own.Price-1, own.Price)
		}
	}
}

// Standing returns the offer that stands for its capture (decision 025): the
// one that holds the buy box, then one that has a price, and shipping with it,
// then by currency, total, price and position.
func Standing(offers []Offer) Offer { return slices.MinFunc(offers, Compare) }

// Compare orders the offers of a capture by that rule, the standing one first.
func Compare(a, b Offer) int {
	last := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	first := cmp.Or(last(a.BuyBox != contracts.FlagTrue)-last(b.BuyBox != contracts.FlagTrue), last(a.Price < 0)-last(b.Price < 0))
	if first != 0 || a.Price < 0 {
		return first
	}
	return cmp.Or(last(a.Shipping < 0)-last(b.Shipping < 0), cmp.Compare(a.Currency, b.Currency),
		cmp.Compare(a.Price+max(0, a.Shipping), b.Price+max(0, b.Shipping)), cmp.Compare(a.Price, b.Price))
}
