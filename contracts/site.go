package contracts

import "regexp"

// SiteKey is the public key of a site: lower-case letters, digits, dots,
// underscores and dashes, at most 64, starting with a letter or digit.
type SiteKey string

var siteKeyForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Valid reports whether the key has the form of a site key.
func (k SiteKey) Valid() bool { return siteKeyForm.MatchString(string(k)) }

// SiteType is the kind of place a site is.
type SiteType string

const (
	Shop        SiteType = "shop"
	Marketplace SiteType = "marketplace"
	Platform    SiteType = "platform"
)

// Site is a monitored shop, marketplace or platform. The facts below decide
// which fields its observations may show; no code treats a site specially by
// name.
type Site struct {
	Site         SiteKey  `json:"site"`
	Name         string   `json:"name"`
	SiteType     SiteType `json:"siteType"`
	CountryCode  string   `json:"countryCode"`  // ISO 3166-1 alpha-2, upper case
	CurrencyCode Currency `json:"currencyCode"` // usual currency of its prices
	// Operator names the company behind several sites; empty if it runs only one.
	Operator string `json:"operator,omitempty"`
	// CanonicalCountryMarket marks a country market of the large marketplace
	// operator: only there are prime and buy box meaningful (FLD-02b).
	CanonicalCountryMarket bool `json:"canonicalCountryMarket,omitempty"`
	// PriceComparisonMarket marks the price comparison platform market whose
	// product ratings are shown (FLD-04b).
	PriceComparisonMarket bool `json:"priceComparisonMarket,omitempty"`
}

var countryForm = regexp.MustCompile(`^[A-Z]{2}$`)

// ValidCountry reports whether s has the form of an ISO 3166-1 alpha-2 code.
func ValidCountry(s string) bool { return countryForm.MatchString(s) }

// Validate returns every fault of the record.
func (s Site) Validate() error {
	var f Faults
	f.Check(s.Site.Valid(), "site: %q is not a site key (a-z 0-9 . _ -, at most 64)", s.Site)
	f.text("name", s.Name, true, 256)
	f.text("operator", s.Operator, false, 128)
	f.Check(s.SiteType == Shop || s.SiteType == Marketplace || s.SiteType == Platform,
		"siteType: %q is none of shop, marketplace, platform", s.SiteType)
	f.Check(ValidCountry(s.CountryCode), "countryCode: %q is not two capital letters", s.CountryCode)
	f.Check(s.CurrencyCode.Valid(), "currencyCode: %q is not an ISO 4217 code", s.CurrencyCode)
	return f.Err()
}
