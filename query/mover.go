package query

import (
	"encoding/json"

	"preismon/contracts"
	"preismon/query/alert"
)

// MoverKind is what moved at a pair.
type MoverKind string

const (
	// The standing offer has another amount in the same currency.
	PriceUp   MoverKind = "PRICE_UP"
	PriceDown MoverKind = "PRICE_DOWN"
	// Another merchant than before holds the buy box; or no one does any more.
	// In a request with OwnMerchant: that merchant won or lost it.
	BuyBoxWon  MoverKind = "BUYBOX_WON"
	BuyBoxLost MoverKind = "BUYBOX_LOST"
	// A price where the site had the product but did not sell it; and the
	// reverse.
	BackInStock MoverKind = "BACK_IN_STOCK"
	OutOfStock  MoverKind = "OUT_OF_STOCK"
	// A price where the site did not have the product, or nothing was captured
	// in the 168 hours before; and the site no longer has the product.
	NewOffer MoverKind = "NEW_OFFER"
	Gone     MoverKind = "GONE"
	// The standing offer is below the one reference price of the customer that
	// applies to it, and before it was not. Reference prices are those at the
	// time of reading, on both sides.
	Undercut MoverKind = "UNDERCUT"
	// The newest capture does not show what the site offers, and the one before
	// did.
	NoResult MoverKind = "NO_RESULT"
)

// MoverKinds returns all kinds.
func MoverKinds() []MoverKind {
	return []MoverKind{PriceUp, PriceDown, BuyBoxWon, BuyBoxLost, OutOfStock, BackInStock, NewOffer, Gone, Undercut, NoResult}
}

// Mover is a pair that moved between two instants. Both its price and its buy
// box may have moved.
type Mover struct {
	ItemID contracts.ItemID  `json:"itemId"`
	Site   contracts.SiteKey `json:"site"`
	Kinds  []MoverKind       `json:"kinds"`
	// After minus before, in the main unit, and in percent of before with two
	// digits; null without two prices of one currency, the percentage also
	// where the price was 0.
	PriceDifference        *json.Number `json:"priceDifference"`
	PriceDifferencePercent *json.Number `json:"priceDifferencePercent"`
	Before                 *MoverSide   `json:"before"` // null: no capture in the 168 hours before
	After                  *MoverSide   `json:"after"`

	size ratio // of the move of the price, relative to the price before
}

// MoverSide is what the newest capture at an instant shows: the standing offer,
// under the names that rows of results use.
type MoverSide struct {
	CapturedAt    string              `json:"capturedAt" column:"instant"`
	CoverageState string              `json:"coverageState"`
	Price         *json.Number        `json:"price"`
	TotalPrice    *json.Number        `json:"totalPrice"` // null where shipping was not observed
	CurrencyCode  *contracts.Currency `json:"currencyCode"`
	Merchant      *string             `json:"merchant"`
	IsBuyBox      *bool               `json:"isBuyBox"` // null where it was not observed
}

// featured is the newest capture of a pair at an instant, and its standing
// offer.
type featured struct {
	capturedMs int64
	state      contracts.Outcome // as a row shows it
	alert.Offer
}

// known reports whether a capture shows what the site offers.
func (f *featured) known() bool {
	return f.state == contracts.PriceObserved || f.state == contracts.Unavailable || f.state == contracts.ProductNotFound
}

// moved returns the kinds by which a pair moved; before is nil if nothing was
// captured. A pair whose capture before is not known is not compared.
func moved(before, after *featured, own string) (kinds []MoverKind) {
	was := contracts.ProductNotFound
	switch {
	case before == nil:
	case !before.known():
		return nil
	default:
		was = before.state
	}
	switch {
	case !after.known():
		if before != nil {
			return []MoverKind{NoResult}
		}
	case was == after.state:
		if was == contracts.PriceObserved {
			return movedOffer(before, after, own)
		}
	case after.state == contracts.PriceObserved && was == contracts.Unavailable:
		return []MoverKind{BackInStock}
	case after.state == contracts.PriceObserved:
		return []MoverKind{NewOffer}
	case after.state == contracts.ProductNotFound:
		return []MoverKind{Gone}
	case was == contracts.PriceObserved:
		return []MoverKind{OutOfStock}
	}
	return nil
}

// movedOffer compares two offers with a price.
func movedOffer(before, after *featured, own string) (kinds []MoverKind) {
	if before.Currency == after.Currency && before.Price != after.Price {
		kinds = append(kinds, PriceUp)
		if after.Price < before.Price {
			kinds[0] = PriceDown
		}
	}
	if before.BuyBox == contracts.FlagUnknown || after.BuyBox == contracts.FlagUnknown {
		return kinds
	}
	held, holds := before.holder(), after.holder()
	if own != "" {
		held, holds = held.only(own), holds.only(own)
	}
	switch {
	case holds.held && holds != held:
		kinds = append(kinds, BuyBoxWon)
	case held.held && !holds.held:
		kinds = append(kinds, BuyBoxLost)
	}
	return kinds
}

// newlyUndercut reports whether a pair's price is below the customer's own
// price, and was not before. What own sells never undercuts.
func (all ownPrices) newlyUndercut(pair contracts.Pair, before, after *featured, own string) bool {
	undercuts := func(f *featured) bool {
		if f.state != contracts.PriceObserved || f.Price < 0 || own != "" && f.Merchant == own {
			return false
		}
		price, ok := all.at(pair, f.Currency)
		return ok && f.Price < price
	}
	return undercuts(after) && (before == nil || before.known() && !undercuts(before))
}

// holder is who holds the buy box, if anyone does.
type holder struct {
	held     bool
	merchant string
}

func (f *featured) holder() holder {
	if f.BuyBox != contracts.FlagTrue {
		return holder{}
	}
	return holder{true, f.Merchant}
}

func (h holder) only(merchant string) holder {
	if h.merchant != merchant {
		return holder{}
	}
	return h
}

// mover returns the record of a pair that moved.
func mover(pair contracts.Pair, kinds []MoverKind, before, after *featured, zone *zoneFormat) Mover {
	m := Mover{ItemID: pair.Item, Site: pair.Site, Kinds: kinds, Before: before.side(zone), After: after.side(zone)}
	if before != nil && before.state == contracts.PriceObserved && before.state == after.state && before.Currency == after.Currency {
		by := after.Price - before.Price
		m.PriceDifference, m.PriceDifferencePercent = new(decimal(by, after.Currency)), percent(by, before.Price)
		m.size = ratio{max(by, -by), before.Price}
	}
	return m
}

func (f *featured) side(zone *zoneFormat) *MoverSide {
	if f == nil {
		return nil
	}
	s := &MoverSide{
		CapturedAt: string(zone.append(nil, f.capturedMs)), CoverageState: string(coverageState.values.At(int(f.state))), Merchant: orNull(f.Merchant),
	}
	if f.BuyBox != contracts.FlagUnknown {
		s.IsBuyBox = new(f.BuyBox == contracts.FlagTrue)
	}
	if f.Price < 0 {
		return s
	}
	s.Price, s.CurrencyCode = new(decimal(f.Price, f.Currency)), &f.Currency
	if f.Shipping >= 0 {
		s.TotalPrice = new(decimal(f.Price+f.Shipping, f.Currency))
	}
	return s
}

// rankKey ranks movers by how much their price moved, and those whose price did
// not move after them.
func (m Mover) rankKey() rankKey { return rankKey{m.size, m.ItemID, string(m.Site)} }
