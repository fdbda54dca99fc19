package contracts

import "strconv"

// ReferencePrices are the prices that a mandate compares the market with, for
// one of its items. A new record replaces the whole list.
type ReferencePrices struct {
	MandateID MandateID        `json:"mandateId"`
	ItemID    ItemID           `json:"itemId"`
	Prices    []ReferencePrice `json:"prices"`
}

// ReferencePrice is one entry: for one site, or for any when Site is empty.
type ReferencePrice struct {
	AmountMinor       int64    `json:"amountMinor"`
	CurrencyCode      Currency `json:"currencyCode"`
	AppliesToSite     SiteKey  `json:"appliesToSite,omitempty"`
	ReferenceQuantity string   `json:"referenceQuantity,omitempty"` // packaging or quantity that the price is for; not a minimum order
	PriceType         string   `json:"priceType,omitempty"`
}

// MaxReferencePrices bounds the entries of one item.
const MaxReferencePrices = 1_000

// Validate returns every fault of the record.
func (r ReferencePrices) Validate() error {
	var f Faults
	f.id("mandateId", uint64(r.MandateID))
	f.id("itemId", uint64(r.ItemID))
	f.Check(len(r.Prices) <= MaxReferencePrices, "prices: %d, at most %d", len(r.Prices), MaxReferencePrices)
	for i, p := range r.Prices {
		path := "prices[" + strconv.Itoa(i) + "]"
		f.Check(p.AmountMinor >= 0 && p.AmountMinor <= MaxAmountMinor, "%s.amountMinor: outside 0 to %d", path, int64(MaxAmountMinor))
		f.Check(p.CurrencyCode.Valid(), "%s.currencyCode: %q is not an ISO 4217 code", path, p.CurrencyCode)
		f.Check(p.AppliesToSite == "" || p.AppliesToSite.Valid(), "%s.appliesToSite: %q is not a site key", path, p.AppliesToSite)
		f.text(path+".referenceQuantity", p.ReferenceQuantity, false, 64)
		f.text(path+".priceType", p.PriceType, false, 64)
	}
	return f.Err()
}

// CustomerData is a mandate's own text about one of its items. It is shown to
// that mandate and never interpreted as prices (FLD-08).
type CustomerData struct {
	MandateID MandateID         `json:"mandateId"`
	ItemID    ItemID            `json:"itemId"`
	Category  string            `json:"category,omitempty"`
	Fields    map[string]string `json:"fields,omitempty"`
}

// MaxCustomerFields bounds the fields of one item.
const MaxCustomerFields = 100

// Validate returns every fault of the record.
func (c CustomerData) Validate() error {
	var f Faults
	f.id("mandateId", uint64(c.MandateID))
	f.id("itemId", uint64(c.ItemID))
	f.text("category", c.Category, false, 256)
	f.Check(len(c.Fields) <= MaxCustomerFields, "fields: %d, at most %d", len(c.Fields), MaxCustomerFields)
	for k, v := range c.Fields {
		f.text("fields: a name", k, true, 128)
		f.text("fields."+k, v, false, 2048)
	}
	return f.Err()
}
