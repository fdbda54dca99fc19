package maps

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"preismon/contracts"
)

// complete checks the mapping, fills in defaults and compiles times.
func (m *Mapping) complete() error {
	var f contracts.Faults
	f.Check(m.Source != "", "source: missing; give the file's origin a short name that stays")
	f.Check(len(m.Source) <= 64 && utf8.ValidString(m.Source), "source: at most 64 bytes of UTF-8")
	m.CSV.Encoding = cmp.Or(m.CSV.Encoding, utf8Text)
	_, err := decoded(nil, m.CSV.Encoding)
	f.Under("csv.encoding", err)
	switch d := m.CSV.Delimiter; {
	case d == "":
		m.CSV.Delimiter = ","
	case d == "tab":
		m.CSV.Delimiter = "\t"
	default:
		r, n := utf8.DecodeRuneInString(d)
		f.Check(n == len(d) && r != utf8.RuneError && !strings.ContainsRune("\r\n\"\ufeff", r), `csv.delimiter: %q is not one character like "," ";" or tab`, d)
	}
	f.Check(m.CSV.Skip >= 0, "csv.skip: %d is less than no line", m.CSV.Skip)

	c := &m.Columns
	for _, t := range []*Text{&c.Name, &c.Brand, &c.Manufacturer, &c.Title, &c.DeliveryText} {
		t.prose = true
	}
	for _, t := range c.texts() {
		f.Check(t.Column == "" || len(t.Columns) == 0, "columns.%s: column and columns at once", t.name)
		if len(t.Columns) > 0 && t.Join == "" {
			t.Join = " "
		}
	}
	f.Check(c.Site.mapped(), "columns.site: missing; name its column, or a fixed value: {value: shop.example}")
	f.Check(c.ProductKey.mapped() || c.EAN.Column != "" || c.PZN.Column != "" || c.ASIN.mapped(), "columns: none of productKey, ean, pzn, asin says which product a row is about")
	f.Check(c.ASINLocale.mapped() || !c.ASIN.mapped(), "columns.asinLocale: missing; an ASIN needs its locale")
	c.CapturedAt.checkOrigin(&f)
	f.Check(c.Price.Column != "", "columns.price: missing")
	f.Check(c.PZN.Pad == 0 || c.PZN.Pad == 8, "columns.pzn.pad: %d, only 8 has a meaning", c.PZN.Pad)
	f.Check(c.Currency.Value == "" || contracts.Currency(c.Currency.Value).Valid(), "columns.currency.value: %q is not an ISO 4217 code", c.Currency.Value)
	c.Price.check(&f, "columns.price")
	c.Shipping.check(&f, "columns.shipping")
	c.Price.Missing = cmp.Or(c.Price.Missing, "reject")
	f.Check(slices.Contains([]string{"reject", "unavailable", "unknown"}, c.Price.Missing), "columns.price.missing: %q is none of reject, unavailable, unknown", c.Price.Missing)
	f.Check(c.Shipping.Missing == "", "columns.shipping.missing: belongs to the price")
	c.Availability.check(&f, "columns.availability")
	c.IsBuyBox.check(&f, "columns.isBuyBox")
	c.IsPrime.check(&f, "columns.isPrime")
	c.CapturedAt.compile(&f, m.Sites, m.defaults())
	m.checkSites(&f)
	return f.Err()
}

func (m *Mapping) checkSites(f *contracts.Faults) {
	byKey := map[contracts.SiteKey]contracts.Site{}
	for _, value := range slices.Sorted(maps.Keys(m.Sites)) {
		s, err := m.site(value)
		f.Under("sites."+value, err)
		if other, ok := byKey[s.Site]; ok && other != s {
			f.Addf("sites.%s: other facts for %s than before", value, s.Site)
		}
		byKey[s.Site] = s
	}
	if d := m.DefaultSite; d != nil {
		f.Check(d.Site == "", "defaultSite.site: belongs under sites")
		_, err := m.facts("example", Site{Name: "Example"})
		f.Under("defaultSite", err)
	}
	f.Check(len(m.Sites) > 0 || m.DefaultSite != nil, "sites: missing; name the sites, or say what is true of all of them under defaultSite")
	if v := m.siteFor(""); v != "" && m.Columns.Site.Column == "" {
		_, err := m.site(v)
		f.Under("columns.site.value", err)
	}
}

// site returns the record of the site that rows call value.
func (m *Mapping) site(value string) (contracts.Site, error) {
	s, ok := m.Sites[value]
	if !ok && m.DefaultSite == nil {
		return contracts.Site{}, fmt.Errorf("%q is not among the sites of the mapping, and it has no defaultSite", value)
	}
	return m.facts(value, s)
}

// facts completes the facts of a site with the default ones.
func (m *Mapping) facts(value string, s Site) (contracts.Site, error) {
	d := m.defaults()
	yes := func(flag *bool) bool { return flag != nil && *flag }
	out := contracts.Site{
		Site: contracts.SiteKey(cmp.Or(s.Site, siteKey(value))), Name: cmp.Or(s.Name, d.Name, value), SiteType: cmp.Or(s.Type, d.Type),
		CountryCode: cmp.Or(s.Country, d.Country), CurrencyCode: cmp.Or(s.Currency, d.Currency),
		Operator:               cmp.Or(s.Operator, d.Operator),
		CanonicalCountryMarket: yes(cmp.Or(s.CanonicalCountryMarket, d.CanonicalCountryMarket)),
		PriceComparisonMarket:  yes(cmp.Or(s.PriceComparisonMarket, d.PriceComparisonMarket)),
	}
	return out, out.Validate()
}

// siteKey returns a row's site as a key: in lower case, and a domain with
// letters beyond ASCII in its DNS form (müller.de is xn--mller-kva.de).
func siteKey(value string) string {
	key := strings.ToLower(value)
	if !contracts.SiteKey(key).Valid() && strings.Contains(key, ".") {
		if domain, err := idna.Lookup.ToASCII(key); err == nil {
			return domain
		}
	}
	return key
}

// defaults returns what is true of all sites.
func (m *Mapping) defaults() Site {
	if m.DefaultSite == nil {
		return Site{}
	}
	return *m.DefaultSite
}

func (t *Text) mapped() bool { return len(t.names()) > 0 || t.Value != "" }

// names returns the names of the columns that make up the text.
func (t *Text) names() []string {
	if t.Column != "" {
		return []string{t.Column}
	}
	return t.Columns
}

func (a *Amount) check(f *contracts.Faults, path string) {
	a.Decimal = cmp.Or(a.Decimal, ".")
	f.Check(a.Decimal == "." || a.Decimal == ",", `%s.decimal: %q is neither "." nor ","`, path, a.Decimal)
	f.Check(a.Thousands != a.Decimal, "%s.thousands: the same as decimal", path)
	f.Check(a.Thousands == "" || len([]rune(a.Thousands)) == 1 && !strings.ContainsAny(a.Thousands, "0123456789"), "%s.thousands: %q is not one character", path, a.Thousands)
	f.Check(!slices.Contains(a.Strip, ""), "%s.strip: an empty text", path)
}

func (g *Flag) check(f *contracts.Faults, path string) {
	if g.Column == "" {
		f.Check(len(g.Yes)+len(g.No) == 0, "%s.column: missing", path)
		return
	}
	if len(g.Yes) == 0 && len(g.No) == 0 {
		g.Yes, g.No = []string{"true"}, []string{"false"}
	}
	for _, v := range g.Yes {
		f.Check(!slices.Contains(g.No, v), "%s: %q means yes and no", path, v)
	}
	g.codes = slices.ContainsFunc(slices.Concat(g.Yes, g.No), isQuantity)
}

// namedText is a text field with its name in the mapping.
type namedText struct {
	name string
	*Text
}

func (c *Columns) texts() []namedText {
	return []namedText{
		{"site", &c.Site},
		{"productKey", &c.ProductKey},
		{"asin", &c.ASIN},
		{"asinLocale", &c.ASINLocale},
		{"name", &c.Name},
		{"brand", &c.Brand},
		{"manufacturer", &c.Manufacturer},
		{"currency", &c.Currency},
		{"merchant", &c.Merchant},
		{"rating", &c.Rating},
		{"title", &c.Title},
		{"url", &c.URL},
		{"deliveryText", &c.DeliveryText},
	}
}

// cell is a field of one column with its name in the mapping.
type cell struct {
	name, column string
	at           *place
}

func (c *Columns) cells() []cell {
	return []cell{
		{"ean", c.EAN.Column, &c.EAN.at},
		{"pzn", c.PZN.Column, &c.PZN.at},
		{"capturedAt", c.CapturedAt.Column, &c.CapturedAt.at},
		{"price", c.Price.Column, &c.Price.at},
		{"shipping", c.Shipping.Column, &c.Shipping.at},
		{"availability", c.Availability.Column, &c.Availability.at},
		{"isBuyBox", c.IsBuyBox.Column, &c.IsBuyBox.at},
		{"isPrime", c.IsPrime.Column, &c.IsPrime.at},
	}
}

// fields returns, in a fixed order, each mapped field and its columns.
func (m *Mapping) fields() (all []Column) {
	c := &m.Columns
	for _, t := range c.texts() {
		if t.mapped() {
			all = append(all, Column{t.name, t.names(), t.Value})
		}
	}
	for _, e := range c.cells() {
		f := Column{Field: e.name, Columns: []string{e.column}}
		if e.name == "capturedAt" {
			f.Columns, f.Value = append(f.Columns, c.CapturedAt.Clock), c.CapturedAt.origin()
		}
		f.Columns = slices.DeleteFunc(f.Columns, func(s string) bool { return s == "" })
		if f.Value != "" || len(f.Columns) > 0 {
			all = append(all, f)
		}
	}
	if len(m.Distinguish) > 0 {
		all = append(all, Column{"(tells offers apart)", m.Distinguish, ""})
	}
	return all
}
