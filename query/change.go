package query

import (
	"encoding/json"

	"preismon/contracts"
)

// ChangeKind says what changed at a pair. Where several things did, it is the
// first of them in the order of these constants; before and after show all.
type ChangeKind string

const (
	// No capture in the 168 hours before since; before is null.
	FirstObserved ChangeKind = "FIRST_OBSERVED"
	// From UNAVAILABLE to AVAILABLE, and back.
	BecameAvailable   ChangeKind = "BECAME_AVAILABLE"
	BecameUnavailable ChangeKind = "BECAME_UNAVAILABLE"
	// Another coverage state: to or from one that is not known, or between
	// UNAVAILABLE and PRODUCT_NOT_FOUND. Nobody knows what was buyable in an
	// unknown state, so to leave it is not to become available.
	StateChanged ChangeKind = "STATE_CHANGED"
	// Another currency; the amounts are not compared.
	CurrencyChanged ChangeKind = "CURRENCY_CHANGED"
	// Another amount, or one where there was none, or none where there was one,
	// whatever the currency.
	PriceChanged    ChangeKind = "PRICE_CHANGED"
	MerchantChanged ChangeKind = "MERCHANT_CHANGED"
)

// ChangeKinds are all kinds, strongest first.
func ChangeKinds() []ChangeKind {
	return []ChangeKind{FirstObserved, BecameAvailable, BecameUnavailable, StateChanged, CurrencyChanged, PriceChanged, MerchantChanged}
}

// Change is a pair that differs between two instants.
type Change struct {
	ItemID contracts.ItemID  `json:"itemId"`
	Site   contracts.SiteKey `json:"site"`
	Kind   ChangeKind        `json:"change"`
	Before *ObservedState    `json:"before"`
	After  *ObservedState    `json:"after"`
	// After less before in the main unit, and in percent of before with two
	// digits; null without two prices of one currency, the percentage also
	// where the price was 0.
	PriceDifference        *json.Number `json:"priceDifference"`
	PriceDifferencePercent *json.Number `json:"priceDifferencePercent"`
}

func (c *Change) pair() contracts.Pair { return contracts.Pair{Item: c.ItemID, Site: c.Site} }

// ObservedState is what a row of results says about its pair: the core fields
// under their names, and the coverage state, which tells apart what
// availability does not.
type ObservedState struct {
	CapturedAt    string              `json:"capturedAt"`
	Availability  string              `json:"availability"`
	Price         *json.Number        `json:"price"`
	PriceMoney    *Money              `json:"priceMoney"`
	CurrencyCode  *contracts.Currency `json:"currencyCode"`
	Merchant      *string             `json:"merchant"`
	CoverageState string              `json:"coverageState"`
}

// changeOf compares two states of a pair; before is nil where there is none.
func changeOf(pair contracts.Pair, before, after *ObservedState) (c Change, changed bool) {
	c = Change{ItemID: pair.Item, Site: pair.Site, Before: before, After: after}
	if before == nil {
		c.Kind = FirstObserved
		return c, true
	}
	if b, a := before.PriceMoney, after.PriceMoney; b != nil && a != nil && b.CurrencyCode == a.CurrencyCode {
		difference := decimal(a.AmountMinor-b.AmountMinor, a.CurrencyCode)
		c.PriceDifference = &difference
		c.PriceDifferencePercent = percent(a.AmountMinor-b.AmountMinor, b.AmountMinor)
	}
	oneSided := (before.PriceMoney == nil) != (after.PriceMoney == nil)
	switch {
	case before.CoverageState != after.CoverageState:
		c.Kind = stateChange(before.Availability, after.Availability)
	case !oneSided && !same(before.CurrencyCode, after.CurrencyCode):
		c.Kind = CurrencyChanged
	case !same(before.PriceMoney, after.PriceMoney):
		c.Kind = PriceChanged
	case !same(before.Merchant, after.Merchant):
		c.Kind = MerchantChanged
	}
	return c, c.Kind != ""
}

func stateChange(before, after string) ChangeKind {
	switch {
	case before == "UNAVAILABLE" && after == "AVAILABLE":
		return BecameAvailable
	case before == "AVAILABLE" && after == "UNAVAILABLE":
		return BecameUnavailable
	}
	return StateChanged
}

func same[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
