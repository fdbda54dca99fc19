package contracts

import (
	"regexp"
	"strings"
)

// Item is a monitored product. Its identifiers are optional and belong to
// their issuers; ItemID is ours.
type Item struct {
	ItemID       ItemID `json:"itemId"`
	EAN          string `json:"ean,omitempty"`        // GTIN of 8, 12, 13 or 14 digits with a correct check digit
	PZN          string `json:"pzn,omitempty"`        // 8 digits with a correct check digit
	ASIN         string `json:"asin,omitempty"`       // 10 capital letters or digits
	ASINLocale   string `json:"asinLocale,omitempty"` // marketplace locale key of the ASIN, lower case
	Name         string `json:"name,omitempty"`
	Brand        string `json:"brand,omitempty"`
	Manufacturer string `json:"manufacturer,omitempty"`
}

var (
	asinForm   = regexp.MustCompile(`^[A-Z0-9]{10}$`)
	localeForm = regexp.MustCompile(`^[a-z]{2}([-_.][a-z]{2,3})?$`)
)

// Validate returns every fault of the record.
func (i Item) Validate() error {
	var f Faults
	f.id("itemId", uint64(i.ItemID))
	f.Check(i.EAN == "" || ValidEAN(i.EAN), "ean: %q is not a GTIN with a right check digit", i.EAN)
	f.Check(i.PZN == "" || ValidPZN(i.PZN), "pzn: %q is not 8 digits with a right check digit", i.PZN)
	f.Check(i.ASIN == "" || ValidASIN(i.ASIN), "asin: %q is not 10 capital letters or digits", i.ASIN)
	f.Check(i.ASINLocale == "" || ValidASINLocale(i.ASINLocale), "asinLocale: %q is not a locale key like de or co.uk", i.ASINLocale)
	f.Check((i.ASIN == "") == (i.ASINLocale == ""), "asin, asinLocale: one without the other")
	f.text("name", i.Name, false, 1024)
	f.text("brand", i.Brand, false, 256)
	f.text("manufacturer", i.Manufacturer, false, 256)
	return f.Err()
}

// ValidEAN reports whether s is a GTIN-8, -12, -13 or -14 with a correct check
// digit (GS1 General Specifications, 7.9: weights 3 and 1 from the right).
func ValidEAN(s string) bool {
	switch len(s) {
	case 8, 12, 13, 14:
	default:
		return false
	}
	sum := 0
	for i := range len(s) {
		d := int(s[i]) - '0'
		if d < 0 || d > 9 {
			return false
		}
		if (len(s)-i)%2 == 0 {
			d *= 3
		}
		sum += d
	}
	return sum%10 == 0
}

// ValidPZN reports whether s is a PZN8: 8 digits, the last of which is the sum
// of the others times their position, modulo 11; 10 is never issued (IFA GmbH).
func ValidPZN(s string) bool {
	if len(s) != 8 || !allDigits(s) {
		return false
	}
	sum := 0
	for i := range 7 {
		sum += (i + 1) * int(s[i]-'0')
	}
	return sum%11 == int(s[7]-'0')
}

// ValidASIN reports whether s has the form of an ASIN; it has no check digit.
func ValidASIN(s string) bool { return asinForm.MatchString(s) }

// ValidASINLocale reports whether s has the form of a marketplace locale key.
func ValidASINLocale(s string) bool { return localeForm.MatchString(s) }

// EANForms returns the forms under which the same GTIN may be stored: shorter
// forms are longer ones without leading zeros (GS1 General Specifications, 2.1).
// It returns nil for the empty string.
func EANForms(ean string) []string {
	if ean == "" {
		return nil
	}
	digits := strings.TrimLeft(ean, "0")
	var forms []string
	for _, n := range []int{8, 12, 13, 14} {
		if len(digits) <= n {
			forms = append(forms, strings.Repeat("0", n-len(digits))+digits)
		}
	}
	return forms
}
