package query

import (
	"context"
	"math"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query/admission"
	"preismon/query/alert"
)

// unknownShipping marks shipping that was not observed: it is not an amount.
const unknownShipping = math.MaxInt64

// offer is a current offer of the product.
type offer struct {
	contracts.Pair
	merchant   string
	currency   contracts.Currency
	price      int64 // minor units, without shipping
	shipping   int64 // likewise; unknownShipping if it was not observed
	buyBox     bool
	capturedMs int64
}

// total is the offer with its shipping in its price, if that was observed.
func (o offer) total() (_ offer, known bool) {
	if o.shipping == unknownShipping {
		return o, false
	}
	o.price += o.shipping
	return o, true
}

// Bounds of the offers that a read holds.
const (
	maxOffers  = 1_000_000
	offerBytes = 256 // approximate memory of one and of its place in a market
)

// offerRoom is the room of a read that holds offers. It grows with them: how
// many offers the pairs of a read have is known only when they are there.
type offerRoom struct {
	room  *admission.Room
	bytes int64 // charged
}

func (r *offerRoom) hold(offers int) error {
	if offers > maxOffers {
		return fault.New(fault.Invalid, CodeScopeTooBroad, "The read covers more than %d current offers. Send a new request with fewer products.", maxOffers)
	}
	if need := int64(offers) * offerBytes; need > r.bytes {
		r.bytes = need + need/4
		r.room.Resize(r.bytes)
	}
	return nil
}

// offers reads the current offers that are wanted, nil: all, and the facts of
// their sites. reduce, unless nil, returns those to keep of a capture.
func (s *Service) offers(ctx context.Context, in *read, held *offerRoom, wanted func(offer, siteFacts) bool, reduce func(capture []offer) []offer) (all []offer, facts siteFacts, err error) {
	if facts, err = s.siteFacts(ctx, in.vis); err != nil {
		return nil, nil, err
	}
	begun := 0 // where the capture begins that is being read: those of a pair are adjacent
	end := func() error {
		if reduce != nil && begun < len(all) {
			all = append(all[:begun], reduce(all[begun:])...)
		}
		begun = len(all)
		return held.hold(len(all))
	}
	texts := repeatedTexts{}
	q := in.query
	q.Standing = true
	err = s.store.Results(ctx, in.vis, &q, func(b *Block) error {
		for i := range b.Len {
			if b.PriceMinor[i] < 0 {
				continue
			}
			o := texts.offerOf(b, i)
			o.buyBox = o.buyBox && facts[o.Site].CanonicalCountryMarket
			if wanted != nil && !wanted(o, facts) {
				continue
			}
			if begun < len(all) && all[begun].Pair != o.Pair {
				if err := end(); err != nil {
					return err
				}
			}
			all = append(all, o)
		}
		return nil
	})
	if err == nil {
		err = end()
	}
	return all, facts, err
}

// repeatedTexts holds texts that repeat, once each.
type repeatedTexts map[string]string

func (r repeatedTexts) of(text []byte) string {
	known, ok := r[string(text)]
	if !ok {
		known = string(text)
		r[known] = known
	}
	return known
}

// offerOf returns the offer of a row that was read with the columns that decide
// which offer stands.
func (r repeatedTexts) offerOf(b *Block, i int) offer {
	o := offer{
		Pair:     contracts.Pair{Item: contracts.ItemID(b.Item[i]), Site: contracts.SiteKey(r.of(b.Site.At(i)))},
		merchant: r.of(b.Merchant.At(i)), currency: contracts.Currency(r.of(b.Currency.At(i))), price: b.PriceMinor[i], shipping: b.ShippingMinor[i],
		buyBox: contracts.Flag(b.IsBuyBox[i]) == contracts.FlagTrue, capturedMs: b.CapturedMs[i],
	}
	if o.shipping < 0 {
		o.shipping = unknownShipping
	}
	return o
}

// standingOf returns the standing offer of a capture (decision 025), and those
// to keep.
func standingOf(capture []offer, keep func(offer) bool) (some []offer) {
	compared := make([]alert.Offer, len(capture))
	for i, o := range capture {
		compared[i] = o.ofAlert()
	}
	stands := alert.StandingIndex(compared)
	for i, o := range capture {
		if i == stands || keep(o) {
			some = append(some, o)
		}
	}
	return some
}

// ofAlert is the offer in the form in which the rule for the standing offer
// compares it.
func (o offer) ofAlert() alert.Offer {
	a := alert.Offer{Price: o.price, Shipping: o.shipping, Currency: o.currency, Merchant: o.merchant}
	if o.shipping == unknownShipping {
		a.Shipping = -1
	}
	if o.buyBox {
		a.BuyBox = contracts.FlagTrue
	}
	return a
}
