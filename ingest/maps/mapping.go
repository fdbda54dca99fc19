package maps

import (
	"bytes"
	"embed"
	"io"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Mapping describes what the columns of a CSV file mean. example.yaml explains
// every key.
type Mapping struct {
	Source      string          `yaml:"source"`
	CSV         Form            `yaml:"csv"`
	Columns     Columns         `yaml:"columns"`
	Distinguish []string        `yaml:"distinguish"`
	Sites       map[string]Site `yaml:"sites"`
	DefaultSite *Site           `yaml:"defaultSite"`
}

// Form is the format of the file.
type Form struct {
	Encoding   string   `yaml:"encoding"`
	Delimiter  string   `yaml:"delimiter"`
	LazyQuotes bool     `yaml:"lazyQuotes"`
	Skip       int      `yaml:"skip"`    // lines above the header
	Unpivot    []string `yaml:"unpivot"` // columns that each hold one site's prices
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

	distinguish []place
}

// place is the position of a column in a file, as found by Mapping.find; -1: not
// mapped.
type place int

// read returns what a row has there, without blanks at the ends.
func (p place) read(rec []string) string {
	if p < 0 {
		return ""
	}
	return strings.TrimSpace(rec[p])
}

// Text is a field of text: one column, or several joined, or a fixed value.
type Text struct {
	Column  string            `yaml:"column"`
	Columns []string          `yaml:"columns"`
	Join    string            `yaml:"join"`
	Host    bool              `yaml:"host"`
	Value   string            `yaml:"value"`
	Values  map[string]string `yaml:"values"`
	Prefix  string            `yaml:"prefix"`
	Suffix  string            `yaml:"suffix"`

	prose bool // read by people: runs of blanks and line breaks mean one blank
	at    []place
}

// EAN is a column of GTINs.
type EAN struct {
	Column  string `yaml:"column"`
	PadTo12 bool   `yaml:"padTo12"`

	at place
}

// PZN is a column of PZNs.
type PZN struct {
	Column string `yaml:"column"`
	Pad    int    `yaml:"pad"`

	at place
}

// Time is the column of the capture time, or where else it comes from: a fixed
// value, or the file.
type Time struct {
	Column  string   `yaml:"column"`
	Value   string   `yaml:"value"`
	From    string   `yaml:"from"`
	Clock   string   `yaml:"clock"` // the column of the time of day, if it has one of its own
	Layouts []string `yaml:"layouts"`
	Zone    string   `yaml:"zone"`
	DayTime string   `yaml:"dayTime"`

	layouts []layout
	zone    *time.Location // nil: times without a zone are rejected
	dayTime time.Duration

	at, clock place
}

// Amount is a column of amounts of money.
type Amount struct {
	Column    string   `yaml:"column"`
	Decimal   string   `yaml:"decimal"`
	Thousands string   `yaml:"thousands"`
	Strip     []string `yaml:"strip"`
	Zero      []string `yaml:"zero"`
	Blank     []string `yaml:"blank"`
	Minor     bool     `yaml:"minor"`
	Missing   string   `yaml:"missing"` // only for the price

	at place
}

// Flag is a column of yes and no.
type Flag struct {
	Column string   `yaml:"column"`
	Yes    []string `yaml:"yes"`
	No     []string `yaml:"no"`

	codes bool // a number among them: numbers are no quantities
	at    place
}

// Site holds the facts about a site.
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

// A column's name alone may be given in place of its options.

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

// UnmarshalYAML accepts a column's name or options.
func (t *Text) UnmarshalYAML(n ast.Node) error { return columnOr(n, &t.Column, (*plainText)(t)) }

// UnmarshalYAML accepts a column's name or options.
func (t *EAN) UnmarshalYAML(n ast.Node) error { return columnOr(n, &t.Column, (*plainEAN)(t)) }

// UnmarshalYAML accepts a column's name or options.
func (t *PZN) UnmarshalYAML(n ast.Node) error { return columnOr(n, &t.Column, (*plainPZN)(t)) }

// UnmarshalYAML accepts a column's name or options.
func (t *Time) UnmarshalYAML(n ast.Node) error { return columnOr(n, &t.Column, (*plainTime)(t)) }

// UnmarshalYAML accepts a column's name or options.
func (t *Amount) UnmarshalYAML(n ast.Node) error { return columnOr(n, &t.Column, (*plainAmount)(t)) }

// UnmarshalYAML accepts a column's name or options.
func (t *Flag) UnmarshalYAML(n ast.Node) error { return columnOr(n, &t.Column, (*plainFlag)(t)) }

//go:embed observations.yaml marketplace-offers.yaml example.yaml
var files embed.FS

// BuiltinFile returns the text of a mapping file of this package by its name
// without extension: observations, marketplace-offers, example.
func BuiltinFile(name string) ([]byte, error) {
	b, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fault.New(fault.NotFound, "", "no mapping is called %q; there are example, marketplace-offers, observations", name)
	}
	return b, nil
}

// Builtin returns a mapping of this package by its name.
func Builtin(name string) (*Mapping, error) {
	b, err := BuiltinFile(name)
	if err != nil {
		return nil, err
	}
	return ParseMapping(b)
}

// ParseMapping parses a mapping file. An unknown key is refused with its line;
// all other faults are reported together. Errors are Invalid.
func ParseMapping(b []byte) (m *Mapping, err error) {
	// The YAML library is known to panic on broken input, and mappings are
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
