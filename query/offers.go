package query

import (
	"context"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query/admission"
	"preismon/query/alert"
)

// offer is a current offer of the product.
type offer struct {
	contracts.Pair
	alert.Offer
	capturedMs int64
}

// total is the offer with its shipping in its price, if that was observed.
func (o offer) total() (_ offer, known bool) {
	if o.Shipping < 0 {
		return o, false
	}
	o.Price += o.Shipping
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
			if b.stateOf(i) != contracts.PriceObserved {
				continue
			}
			o := facts.boxed(texts.offerOf(b, i))
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
	return offer{contracts.Pair{Item: contracts.ItemID(b.Item[i]), Site: contracts.SiteKey(r.of(b.Site.At(i)))}, alert.Offer{
		Price: b.PriceMinor[i], Shipping: b.ShippingMinor[i], Currency: contracts.Currency(r.of(b.Currency.At(i))), Merchant: r.of(b.Merchant.At(i)),
		BuyBox: contracts.Flag(b.IsBuyBox[i]),
	}, b.CapturedMs[i]}
}

// boxed returns an offer without a buy box where its site has none.
func (f siteFacts) boxed(o offer) offer {
	if !f[o.Site].CanonicalCountryMarket {
		o.BuyBox = contracts.FlagUnknown
	}
	return o
}

// featured returns a row that is the standing offer of its capture.
func (r repeatedTexts) featured(b *Block, i int, facts siteFacts) (contracts.Pair, *featured) {
	o := facts.boxed(r.offerOf(b, i))
	return o.Pair, &featured{o.capturedMs, b.stateOf(i), o.Offer}
}

// standingOf returns the standing offer of a capture (decision 025), and those
// to keep.
func standingOf(capture []offer, keep func(offer) bool) (some []offer) {
	stands := 0
	for i, o := range capture {
		if alert.Compare(o.Offer, capture[stands].Offer) < 0 {
			stands = i
		}
	}
	for i, o := range capture {
		if i == stands || keep(o) {
			some = append(some, o)
		}
	}
	return some
}
