package contracts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Limits of one batch of observations.
const (
	MaxObservationsPerBatch = 500
	MaxOffersPerObservation = 500
)

// Outcome is what a capture found. Tables store its number; a number, once
// assigned, is never reused.
type Outcome uint8

const (
	OutcomeUnknown   Outcome = iota // the source did not say
	PriceObserved                   // offered, with a price
	Unavailable                     // known to the site, not offered at the moment
	ProductNotFound                 // the site does not have the product
	AccessRestricted                // the site refused access for the moment
	SiteUnavailable                 // the site did not answer
	outcomeEnd
)

var outcomeNames = [...]string{
	"unknown", "priceObserved", "unavailable", "productNotFound", "accessRestricted", "siteUnavailable",
}

func (o Outcome) String() string {
	if o < outcomeEnd {
		return outcomeNames[o]
	}
	return "Outcome(" + strconv.Itoa(int(o)) + ")"
}

// Outcomes returns every outcome in the order of its number.
func Outcomes() []Outcome {
	all := make([]Outcome, outcomeEnd)
	for i := range all {
		all[i] = Outcome(i)
	}
	return all
}

// MarshalText writes the outcome's name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the outcome's name; an unlisted one is an error.
func (o *Outcome) UnmarshalText(text []byte) error {
	for i, name := range outcomeNames {
		if name == string(text) {
			*o = Outcome(i)
			return nil
		}
	}
	return fmt.Errorf("outcome: %q is none of %s", text, strings.Join(outcomeNames[:], ", "))
}

// Flag is an observed yes or no that a source may leave out. Anything other than
// a JSON Boolean reads as FlagUnknown (FLD-02d).
type Flag uint8

const (
	FlagUnknown Flag = iota
	FlagFalse
	FlagTrue
)

// FlagOf turns a Boolean into an observed flag.
func FlagOf(b bool) Flag {
	if b {
		return FlagTrue
	}
	return FlagFalse
}

// MarshalJSON writes true, false or null.
func (f Flag) MarshalJSON() ([]byte, error) {
	switch f {
	case FlagTrue:
		return []byte("true"), nil
	case FlagFalse:
		return []byte("false"), nil
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads any JSON value and never fails.
func (f *Flag) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*f = FlagTrue
	case "false":
		*f = FlagFalse
	default:
		*f = FlagUnknown
	}
	return nil
}

// Rating is a product rating as the source had it: a JSON number or any text.
// Tenths parses it; a malformed or out-of-range text is no rating.
type Rating string

// NoRating is what Tenths returns if there is no rating.
const NoRating = 255

// Tenths returns the rating in tenths, rounded, 0 to 50, or NoRating (FLD-04a,
// FLD-04c).
func (r Rating) Tenths() uint8 {
	// ParseFloat also accepts hexadecimal, infinities and underscores.
	if r == "" || strings.Trim(string(r), "0123456789.eE+-") != "" {
		return NoRating
	}
	v, err := strconv.ParseFloat(string(r), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 5 {
		return NoRating
	}
	return uint8(math.Round(v * 10))
}

// MarshalJSON writes the rating as text.
func (r Rating) MarshalJSON() ([]byte, error) { return json.Marshal(string(r)) }

// UnmarshalJSON keeps a text unchanged and a number as its digits; any other
// value is no rating.
func (r *Rating) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	switch {
	case len(b) > 0 && b[0] == '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*r = Rating(s)
	case len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9'):
		*r = Rating(b)
	default:
		*r = ""
	}
	return nil
}

// Offer is one merchant's offer for an item at a site at a capture. Amounts are
// in the minor unit of CurrencyCode.
type Offer struct {
	Merchant     string   `json:"merchant,omitempty"`
	Price        *int64   `json:"price,omitempty"`
	Shipping     *int64   `json:"shipping,omitempty"`
	CurrencyCode Currency `json:"currencyCode,omitempty"` // required with a price or shipping
	IsPrime      Flag     `json:"isPrime,omitempty"`
	IsBuyBox     Flag     `json:"isBuyBox,omitempty"`
	Rating       Rating   `json:"rating,omitempty"` // of the product, as the source had it
	Manufacturer string   `json:"manufacturer,omitempty"`
	Title        string   `json:"title,omitempty"`
	URL          string   `json:"url,omitempty"`
	DeliveryText string   `json:"deliveryText,omitempty"`
}

// Observation is one capture of one item at the site of its batch.
type Observation struct {
	ItemID     ItemID    `json:"itemId"`
	CapturedAt time.Time `json:"capturedAt"` // kept to the millisecond
	Outcome    Outcome   `json:"outcome"`
	Offers     []Offer   `json:"offers,omitempty"`
}

// Rows returns the number of result rows of the observation: one per offer, or
// one that shows only the outcome.
func (o Observation) Rows() int { return max(1, len(o.Offers)) }

// Observations is a batch: captures of one site from one crawl run.
type Observations struct {
	Site         SiteKey       `json:"site"`
	Run          string        `json:"run,omitempty"` // the crawl run, as its producer names it
	Observations []Observation `json:"observations"`
}

// Captures before this instant come from wrong clocks; they are not history.
var earliestCapture = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// latestCapture is the fixed bound of capture times; see event.Validate for the
// bound that depends on when a batch was produced.
var latestCapture = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// Validate returns every fault of the batch.
func (b Observations) Validate() error {
	var f Faults
	f.Check(b.Site.Valid(), "site: %q is not a site key", b.Site)
	f.text("run", b.Run, false, 128)
	n := len(b.Observations)
	f.Check(n >= 1 && n <= MaxObservationsPerBatch, "observations: %d, from 1 to %d", n, MaxObservationsPerBatch)
	for i := range b.Observations {
		if err := b.Observations[i].Validate(); err != nil {
			f.Under("observations["+strconv.Itoa(i)+"]", err)
		}
	}
	return f.Err()
}

// Validate returns every fault of the observation.
func (o *Observation) Validate() error {
	var f Faults
	f.id("itemId", uint64(o.ItemID))
	// Check evaluates its arguments even when there is no fault, and this runs
	// for every incoming observation.
	if o.CapturedAt.Before(earliestCapture) || !o.CapturedAt.Before(latestCapture) {
		f.Addf("capturedAt: %s lies outside 2000 to 2099", o.CapturedAt.Format(time.RFC3339))
	}
	if o.Outcome >= outcomeEnd {
		f.Addf("outcome: %d is no outcome", uint8(o.Outcome))
	}
	if len(o.Offers) > MaxOffersPerObservation {
		f.Addf("offers: %d, at most %d", len(o.Offers), MaxOffersPerObservation)
	}
	if len(o.Offers) > 0 && o.Outcome != PriceObserved && o.Outcome != Unavailable {
		f.Addf("offers: an outcome of %s has none", o.Outcome)
	}
	priced := false
	for i := range o.Offers {
		if err := o.Offers[i].validate(); err != nil {
			f.Under("offers["+strconv.Itoa(i)+"]", err)
		}
		priced = priced || o.Offers[i].Price != nil
	}
	f.Check(o.Outcome != PriceObserved || priced, "offers: an outcome of priceObserved needs one with a price")
	return f.Err()
}

func (o *Offer) validate() error {
	var f Faults
	amount := func(path string, v *int64) {
		if v != nil && (*v < 0 || *v > MaxAmountMinor) {
			f.Addf("%s: outside 0 to %d", path, int64(MaxAmountMinor))
		}
	}
	amount("price", o.Price)
	amount("shipping", o.Shipping)
	if (o.CurrencyCode != "" || o.Price != nil || o.Shipping != nil) && !o.CurrencyCode.Valid() {
		f.Addf("currencyCode: %q is not an ISO 4217 code", o.CurrencyCode)
	}
	f.text("merchant", o.Merchant, false, 256)
	f.text("rating", string(o.Rating), false, 64)
	f.text("manufacturer", o.Manufacturer, false, 256)
	f.text("title", o.Title, false, 1024)
	f.text("url", o.URL, false, 2048)
	f.text("deliveryText", o.DeliveryText, false, 512)
	return f.Err()
}
