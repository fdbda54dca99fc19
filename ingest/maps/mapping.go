package maps

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Mapping says what the columns of a CSV file mean. example.yaml explains
// every key.
type Mapping struct {
	Source      string          `yaml:"source"`
	CSV         Form            `yaml:"csv"`
	Columns     Columns         `yaml:"columns"`
	Distinguish []string        `yaml:"distinguish"`
	Sites       map[string]Site `yaml:"sites"`
	DefaultSite *Site           `yaml:"defaultSite"`
}

// Form is the form of the file.
type Form struct {
	Encoding   string `yaml:"encoding"`
	Delimiter  string `yaml:"delimiter"`
	LazyQuotes bool   `yaml:"lazyQuotes"`
}

// Columns names the column of each field.
type Columns struct {
	Site         Text   `yaml:"site"`
	ProductKey   Text   `yaml:"productKey"`
	EAN          EAN    `yaml:"ean"`
	PZN          PZN    `yaml:"pzn"`
	ASIN         Text   `yaml:"asin"`
	ASINLocale   Text   `yaml:"asinLocale"`
	Name         Text   `yaml:"name"`
	Brand        Text   `yaml:"brand"`
	Manufacturer Text   `yaml:"manufacturer"`
	CapturedAt   Time   `yaml:"capturedAt"`
	Price        Amount `yaml:"price"`
	Shipping     Amount `yaml:"shipping"`
	Currency     Text   `yaml:"currency"`
	Availability Flag   `yaml:"availability"`
	Merchant     Text   `yaml:"merchant"`
	IsBuyBox     Flag   `yaml:"isBuyBox"`
	IsPrime      Flag   `yaml:"isPrime"`
	Rating       Text   `yaml:"rating"`
	Title        Text   `yaml:"title"`
	URL          Text   `yaml:"url"`
	DeliveryText Text   `yaml:"deliveryText"`
}

// Text is a field of text: one column, or several joined, or a fixed value.
type Text struct {
	Column  string            `yaml:"column"`
	Columns []string          `yaml:"columns"`
	Join    string            `yaml:"join"`
	Value   string            `yaml:"value"`
	Values  map[string]string `yaml:"values"`
	Prefix  string            `yaml:"prefix"`
	Suffix  string            `yaml:"suffix"`

	prose bool // read by people: runs of blanks and line breaks mean one blank
}

// EAN is the column of a GTIN.
type EAN struct {
	Column  string `yaml:"column"`
	PadTo12 bool   `yaml:"padTo12"`
}

// PZN is the column of a PZN.
type PZN struct {
	Column string `yaml:"column"`
	Pad    int    `yaml:"pad"`
}

// Time is the column of the capture time, or where else it is from: fixed, or
// by the file.
type Time struct {
	Column  string   `yaml:"column"`
	Value   string   `yaml:"value"`
	From    string   `yaml:"from"`
	Clock   string   `yaml:"clock"` // the column of the time of day, where it has one of its own
	Layouts []string `yaml:"layouts"`
	Zone    string   `yaml:"zone"`
	DayTime string   `yaml:"dayTime"`

	layouts []layout
	zone    *time.Location // nil: times without a zone are rejected
	dayTime time.Duration
}

// Amount is a column of money.
type Amount struct {
	Column    string   `yaml:"column"`
	Decimal   string   `yaml:"decimal"`
	Thousands string   `yaml:"thousands"`
	Strip     []string `yaml:"strip"`
	Zero      []string `yaml:"zero"`
	Minor     bool     `yaml:"minor"`
	Missing   string   `yaml:"missing"` // of the price only
}

// Flag is a column of yes and no.
type Flag struct {
	Column string   `yaml:"column"`
	Yes    []string `yaml:"yes"`
	No     []string `yaml:"no"`
}

// Site is the facts of a site.
type Site struct {
	Site                   string             `yaml:"site"`
	Name                   string             `yaml:"name"`
	Type                   contracts.SiteType `yaml:"type"`
	Country                string             `yaml:"country"`
	Currency               contracts.Currency `yaml:"currency"`
	Operator               string             `yaml:"operator"`
	CanonicalCountryMarket *bool              `yaml:"canonicalCountryMarket"`
	PriceComparisonMarket  *bool              `yaml:"priceComparisonMarket"`
	Zone                   string             `yaml:"zone"`
}

// A column's name alone may stand where its options could.

type (
	plainText   Text
	plainEAN    EAN
	plainPZN    PZN
	plainTime   Time
	plainAmount Amount
	plainFlag   Flag
)

func columnOr(n ast.Node, column *string, options any) error {
	if _, ok := n.(ast.MapNode); ok {
		return yaml.NodeToValue(n, options, yaml.Strict())
	}
	return yaml.NodeToValue(n, column)
}

// UnmarshalYAML takes a column's name or options.
func (t *Text) UnmarshalYAML(n ast.Node) error { return columnOr(n, &t.Column, (*plainText)(t)) }

// UnmarshalYAML takes a column's name or options.
func (t *EAN) UnmarshalYAML(n ast.Node) error { return columnOr(n, &t.Column, (*plainEAN)(t)) }

// UnmarshalYAML takes a column's name or options.
func (t *PZN) UnmarshalYAML(n ast.Node) error { return columnOr(n, &t.Column, (*plainPZN)(t)) }

// UnmarshalYAML takes a column's name or options.
func (t *Time) UnmarshalYAML(n ast.Node) error { return columnOr(n, &t.Column, (*plainTime)(t)) }

// UnmarshalYAML takes a column's name or options.
func (t *Amount) UnmarshalYAML(n ast.Node) error { return columnOr(n, &t.Column, (*plainAmount)(t)) }

// UnmarshalYAML takes a column's name or options.
func (t *Flag) UnmarshalYAML(n ast.Node) error { return columnOr(n, &t.Column, (*plainFlag)(t)) }

//go:embed observations.yaml marketplace-offers.yaml example.yaml
var files embed.FS

// BuiltinFile gives the text of a mapping file of this package by its name
// without extension: observations, marketplace-offers, example.
func BuiltinFile(name string) ([]byte, error) {
	b, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fault.New(fault.NotFound, "", "no mapping is called %q; there are example, marketplace-offers, observations", name)
	}
	return b, nil
}

// Builtin gives a mapping of this package by its name.
func Builtin(name string) (*Mapping, error) {
	b, err := BuiltinFile(name)
	if err != nil {
		return nil, err
	}
	return ParseMapping(b)
}

// ParseMapping reads a mapping file. An unknown key is refused with its line;
// the other faults are named all at once. Errors are Invalid.
func ParseMapping(b []byte) (m *Mapping, err error) {
	// The YAML library has been known to panic on broken input; a mapping is
	// typed by hand.
	defer func() {
		if r := recover(); r != nil {
			m, err = nil, fault.New(fault.Invalid, "", "mapping: not YAML: %v", r)
		}
	}()
	m = &Mapping{}
	d := yaml.NewDecoder(bytes.NewReader(b), yaml.Strict())
	if err := d.Decode(m); err != nil && err != io.EOF {
		return nil, fault.New(fault.Invalid, "", "mapping: %s", strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	var second any
	if err := d.Decode(&second); err != io.EOF {
		return nil, fault.New(fault.Invalid, "", "mapping: more than one YAML document")
	}
	if err := m.complete(); err != nil {
		return nil, fault.New(fault.Invalid, "", "mapping: %s", err)
	}
	return m, nil
}

// complete checks the mapping, fills in defaults and compiles times.
func (m *Mapping) complete() error {
	var f contracts.Faults
	f.Check(m.Source != "", "source: missing; give the file's origin a short name that stays")
	f.Check(len(m.Source) <= 64 && utf8.ValidString(m.Source), "source: at most 64 bytes of UTF-8")
	if m.CSV.Encoding == "" {
		m.CSV.Encoding = utf8Text
	}
	if _, err := decoded(nil, m.CSV.Encoding); err != nil {
		f.Under("csv.encoding", err)
	}
	switch d := m.CSV.Delimiter; {
	case d == "":
		m.CSV.Delimiter = ","
	case d == "tab":
		m.CSV.Delimiter = "\t"
	default:
		r, n := utf8.DecodeRuneInString(d)
		f.Check(n == len(d) && r != utf8.RuneError && !strings.ContainsRune("\r\n\"\ufeff", r), `csv.delimiter: %q is not one character like "," ";" or tab`, d)
	}

	c := &m.Columns
	for _, t := range []*Text{&c.Name, &c.Brand, &c.Manufacturer, &c.Title, &c.DeliveryText} {
		t.prose = true
	}
	for _, t := range m.texts() {
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
	if c.Currency.Value != "" {
		f.Check(contracts.Currency(c.Currency.Value).Valid(), "columns.currency.value: %q is not an ISO 4217 code", c.Currency.Value)
	}
	c.Price.check(&f, "columns.price")
	c.Shipping.check(&f, "columns.shipping")
	switch c.Price.Missing {
	case "":
		c.Price.Missing = "reject"
	case "reject", "unavailable", "unknown":
	default:
		f.Addf("columns.price.missing: %q is none of reject, unavailable, unknown", c.Price.Missing)
	}
	f.Check(c.Shipping.Missing == "", "columns.shipping.missing: belongs to the price")
	c.Availability.check(&f, "columns.availability")
	c.IsBuyBox.check(&f, "columns.isBuyBox")
	c.IsPrime.check(&f, "columns.isPrime")
	c.CapturedAt.compile(&f, m.Sites, m.DefaultSite)
	m.checkSites(&f)
	return f.Err()
}

func (m *Mapping) checkSites(f *contracts.Faults) {
	byKey := map[contracts.SiteKey]contracts.Site{}
	for _, value := range sortedKeys(m.Sites) {
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
	if v := m.Columns.Site.Value; v != "" && m.Columns.Site.Column == "" {
		if _, err := m.site(v); err != nil {
			f.Under("columns.site.value", err)
		}
	}
}

// site gives the record of the site that a row calls value.
func (m *Mapping) site(value string) (contracts.Site, error) {
	s, ok := m.Sites[value]
	if !ok && m.DefaultSite == nil {
		return contracts.Site{}, fmt.Errorf("%q is not among the sites of the mapping, and it has no defaultSite", value)
	}
	return m.facts(value, s)
}

// facts completes the facts of a site from the default ones.
func (m *Mapping) facts(value string, s Site) (contracts.Site, error) {
	d := Site{}
	if m.DefaultSite != nil {
		d = *m.DefaultSite
	}
	if s.Site == "" {
		s.Site = strings.ToLower(value)
	}
	out := contracts.Site{
		Site: contracts.SiteKey(s.Site), Name: first(s.Name, d.Name, value), SiteType: contracts.SiteType(first(string(s.Type), string(d.Type))),
		CountryCode: first(s.Country, d.Country), CurrencyCode: contracts.Currency(first(string(s.Currency), string(d.Currency))),
		Operator:               first(s.Operator, d.Operator),
		CanonicalCountryMarket: yes(s.CanonicalCountryMarket, d.CanonicalCountryMarket),
		PriceComparisonMarket:  yes(s.PriceComparisonMarket, d.PriceComparisonMarket),
	}
	return out, out.Validate()
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func yes(flags ...*bool) bool {
	for _, f := range flags {
		if f != nil {
			return *f
		}
	}
	return false
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (t *Text) mapped() bool { return t.Column != "" || len(t.Columns) > 0 || t.Value != "" }

func (a *Amount) check(f *contracts.Faults, path string) {
	if a.Decimal == "" {
		a.Decimal = "."
	}
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
}

// namedText is a text field with its name in the mapping.
type namedText struct {
	name string
	*Text
}

func (m *Mapping) texts() []namedText {
	c := &m.Columns
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

// fields gives, in a fixed order, each mapped field and its columns.
func (m *Mapping) fields() []mappedField {
	var all []mappedField
	for _, t := range m.texts() {
		switch {
		case t.Column != "":
			all = append(all, mappedField{t.name, []string{t.Column}, t.Value})
		case len(t.Columns) > 0:
			all = append(all, mappedField{t.name, t.Columns, t.Value})
		case t.Value != "":
			all = append(all, mappedField{t.name, nil, t.Value})
		}
	}
	c := &m.Columns
	for _, o := range []mappedField{
		{"ean", []string{c.EAN.Column}, ""},
		{"pzn", []string{c.PZN.Column}, ""},
		{"capturedAt", slices.DeleteFunc([]string{c.CapturedAt.Column, c.CapturedAt.Clock}, func(s string) bool { return s == "" }), c.CapturedAt.origin()},
		{"price", []string{c.Price.Column}, ""},
		{"shipping", []string{c.Shipping.Column}, ""},
		{"availability", []string{c.Availability.Column}, ""},
		{"isBuyBox", []string{c.IsBuyBox.Column}, ""},
		{"isPrime", []string{c.IsPrime.Column}, ""},
	} {
		if o.value != "" || len(o.columns) > 0 && o.columns[0] != "" {
			all = append(all, o)
		}
	}
	if len(m.Distinguish) > 0 {
		all = append(all, mappedField{"(tells offers apart)", m.Distinguish, ""})
	}
	return all
}

type mappedField struct {
	field   string
	columns []string
	value   string
}
