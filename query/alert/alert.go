// Package alert decides when a rule about the captures of an item-site pair
// fires. It holds the rules, what one capture says about a rule, and their
// evaluation over the captures of a pair in the order in which they became
// visible. It is pure: whether a capture fires depends only on that capture and
// those before it, no matter who asks, when, and whether the captures are read
// page by page. Package query calls it; it reads nothing itself.
package alert

import (
	"errors"
	"fmt"
	"time"

	"preismon/contracts"
)

// Kind is what a rule looks for.
type Kind string

const (
	PriceBelow  Kind = "PRICE_BELOW"  // the standing offer costs less than an amount
	PriceDrop   Kind = "PRICE_DROP"   // it costs less than at the capture before, by at least a percentage
	OutOfStock  Kind = "OUT_OF_STOCK" // unavailable, after a price
	BackInStock Kind = "BACK_IN_STOCK"
	BuyBoxLost  Kind = "BUYBOX_LOST" // no one holds it any more, or the own merchant does not
	// Undercut: another offer of the capture costs less than the own
	// merchant's, or the standing offer costs less than the caller's reference
	// price.
	Undercut Kind = "UNDERCUT"
	// NoObservation: no capture for a time after the last one. Time decides
	// that, not a capture: a pair falls silent at the time of its last capture
	// plus SilentFor, and Judge and Fires are not for this kind.
	NoObservation Kind = "NO_OBSERVATION"
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{PriceBelow, PriceDrop, OutOfStock, BackInStock, BuyBoxLost, Undercut, NoObservation}
}

// Bounds of rules.
const (
	// Memory is how long a capture counts for later captures, as for movers.
	Memory     = 168 * time.Hour
	MaxConfirm = 5
	MaxRearm   = 50 // percent
	// MinSilence is the shortest SilentFor; Memory is the longest.
	MinSilence = time.Hour
)

// Rule describes what fires. The ids of its alerts depend on its JSON.
type Rule struct {
	Kind        Kind               `json:"kind"`
	Price       int64              `json:"price,omitempty"` // of PriceBelow, minor units
	Currency    contracts.Currency `json:"currency,omitempty"`
	Percent     int                `json:"percent,omitempty"` // of PriceDrop, 1 to 99
	OwnMerchant string             `json:"ownMerchant,omitempty"`
	// Confirm is how many consecutive captures must say so, 1 to 5.
	Confirm int `json:"confirm"`
	// Rearm is the percentage by which a price must rise above the compared one
	// before the rule fires again; only for PriceBelow and Undercut.
	Rearm int `json:"rearm,omitempty"`
	// SilentFor is how long nothing must be captured; only for NoObservation.
	SilentFor time.Duration `json:"silentFor,omitempty"`
}

// Validate reports all faults at once, by the parameters that they concern.
func (r Rule) Validate() error {
	var faults []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	only := func(given bool, name string, kinds ...Kind) {
		for _, k := range kinds {
			if r.Kind == k {
				return
			}
		}
		fault(given, "%s: does not go with %s.", name, r.Kind)
	}
	known := false
	for _, k := range Kinds() {
		known = known || k == r.Kind
	}
	if fault(!known, "rule: %q is none of %v.", string(r.Kind), Kinds()); !known {
		return errors.Join(faults...)
	}
	fault(r.Kind == PriceBelow && r.Price <= 0, "price: missing, or not more than 0.")
	fault(r.Kind == PriceDrop && (r.Percent < 1 || r.Percent > 99), "percent: must be 1 to 99.")
	fault(r.Confirm < 1 || r.Confirm > MaxConfirm, "confirm: must be 1 to %d.", MaxConfirm)
	fault(r.Rearm < 0 || r.Rearm > MaxRearm, "rearmPercent: must be 0 to %d.", MaxRearm)
	fault(r.Kind == NoObservation && (r.SilentFor < MinSilence || r.SilentFor > Memory || r.SilentFor%time.Hour != 0), "silentFor: must be 1h to 168h.")
	fault(r.Kind == NoObservation && r.Confirm > 1, "confirm: does not go with %s.", r.Kind)
	only(r.Price != 0 || r.Currency != "", "price", PriceBelow)
	only(r.Percent != 0, "percent", PriceDrop)
	only(r.OwnMerchant != "", "ownMerchant", BuyBoxLost, Undercut)
	only(r.Rearm != 0, "rearmPercent", PriceBelow, Undercut)
	only(r.SilentFor != 0, "silentFor", NoObservation)
	return errors.Join(faults...)
}

// Span returns how far back the captures lie that decide whether a capture
// fires.
func (r Rule) Span() time.Duration {
	if r.Confirm > 1 { // the first capture of a run has a past of its own
		return 2 * Memory
	}
	return Memory
}

// ofPrice reports whether the rule can fire without an earlier capture that
// said otherwise: for these rules, a price that is new or follows a silence
// fires too.
func (r Rule) ofPrice() bool { return r.Kind == PriceBelow || r.Kind == Undercut }
