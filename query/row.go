package query

import (
	"slices"

	"preismon/contracts"
	"preismon/query/frame"
)

// field is a field of a row: its name and type, the group that it belongs to,
// and the source of its values. Every form of results is built from the fields
// declared here, so a field is added in one place.
type field struct {
	frame.Column
	group group
	made  source
}

// source is where the values of a field come from: the block, the facts of
// sites, and what rows are enriched with.
type source interface {
	// pen returns the function that writes the field into a JSON object. key is
	// what precedes the value there: a comma and the field's name.
	pen(e *rowEncoder, key string) pen
	// vector fills the field's column for the rows of the batch that is being
	// built.
	vector(m *batcher, v *frame.Vector)
}

// pen writes a field of row i of a block.
type pen func(out []byte, b *Block, i int) []byte

// group is a group of fields that can be requested.
type group uint8

const (
	core group = iota
	identityGroup
	ordersGroup
	customerGroup
	coverageGroup
	exportGroup
)

func (i Include) has(g group) bool {
	return [...]bool{true, i.Identity, i.OrderIDs, i.CustomerData, i.Coverage, i.ExportFields}[g]
}

func textColumn(name string) frame.Column    { return frame.Column{Name: name, Kind: frame.Text} }
func number(name string) frame.Column        { return frame.Column{Name: name, Kind: frame.Number} }
func instantColumn(name string) frame.Column { return frame.Column{Name: name, Kind: frame.Instant} }
func few(c frame.Column) frame.Column        { c.Few = true; return c }
func nullable(c frame.Column) frame.Column   { c.Nullable = true; return c }
func optional(c frame.Column) frame.Column   { c.Optional = true; return c }
func listColumn(name string, of frame.Column) frame.Column {
	of.Name = "element"
	return frame.Column{Name: name, Kind: frame.List, Members: []frame.Column{of}}
}

func object(name string, members ...frame.Column) frame.Column {
	return frame.Column{Name: name, Kind: frame.Object, Members: members}
}
func boolean(name string) frame.Column { return frame.Column{Name: name, Kind: frame.Boolean} }
func integer(name string) frame.Column { return frame.Column{Name: name, Kind: frame.Integer} }

func money(name string, more ...frame.Column) frame.Column {
	return object(name, append([]frame.Column{number("value"), integer("amountMinor"), few(textColumn("currencyCode"))}, more...)...)
}

// row declares the fields in the order of JSON. Of two with one name the later
// one counts.
var row = []field{
	{textColumn("itemId"), core, itemNumber{}},
	{few(textColumn("site")), core, &dictText{of: func(b *Block) *Dict { return &b.Site }}},
	{instantColumn("capturedAt"), core, captured{}},
	{few(textColumn("availability")), core, &availability},
	{nullable(number("price")), core, priceOf},
	{nullable(money("priceMoney")), core, moneyOf{priceOf}},
	{nullable(few(textColumn("currencyCode"))), core, currencies},
	{nullable(few(textColumn("merchant"))), core, &dictText{of: func(b *Block) *Dict { return &b.Merchant }}},

	{nullable(textColumn("ean")), identityGroup, itemText(0)},
	{nullable(textColumn("pzn")), identityGroup, itemText(1)},
	{nullable(textColumn("asin")), identityGroup, itemText(2)},
	{nullable(textColumn("asinLocale")), identityGroup, itemText(3)},
	{nullable(textColumn("productName")), identityGroup, itemText(4)},
	{nullable(textColumn("brand")), identityGroup, itemText(5)},
	// The export fields have their own manufacturer, the observed one.
	{nullable(few(textColumn("manufacturer"))), identityGroup, itemText(6)},

	{listColumn("orderIds", textColumn("")), ordersGroup, orderIDs{}},
	{frame.Column{Name: "customerData", Kind: frame.Words}, customerGroup, customerData{}},

	{few(textColumn("coverageState")), coverageGroup, &coverageState},
	{nullable(instantColumn("lastProcessedAt")), coverageGroup, lastProcessed{}},

	{nullable(textColumn("productUrl")), exportGroup, ownText{of: func(b *Block) *Texts { return &b.URL }}},
	{nullable(textColumn("offerTitle")), exportGroup, ownText{of: func(b *Block) *Texts { return &b.Title }}},
	{nullable(number("shippingCost")), exportGroup, shippingOf},
	{nullable(money("shippingCostMoney")), exportGroup, moneyOf{shippingOf}},
	{nullable(number("totalPrice")), exportGroup, totalOf},
	{nullable(money("totalPriceMoney")), exportGroup, moneyOf{totalOf}},
	{nullable(few(textColumn("deliveryText"))), exportGroup, &dictText{of: func(b *Block) *Dict { return &b.DeliveryText }}},
	{nullable(few(textColumn("manufacturer"))), exportGroup, &dictText{of: func(b *Block) *Dict { return &b.Manufacturer }}},
	{optional(boolean("isPrime")), exportGroup, flagOf{func(b *Block) []uint8 { return b.IsPrime }}},
	{optional(boolean("isBuyBox")), exportGroup, flagOf{func(b *Block) []uint8 { return b.IsBuyBox }}},
	{optional(object("productRating", number("value"), integer("scale"))), exportGroup, rating{}},
	{listColumn("customerReferencePrices", money("", optional(few(textColumn("appliesToSite"))), optional(textColumn("referenceQuantity")), optional(few(textColumn("priceType"))))), exportGroup, referencePrices{}},
	{optional(number("referencePrice")), exportGroup, referencePrice{}},
	{optional(money("referencePriceMoney")), exportGroup, referencePriceMoney{}},
}

var currencies = currencyCode{&dictText{of: func(b *Block) *Dict { return &b.Currency }}}

// The values of the field availability by outcome (choices 2): what the site
// shows about buying there. A product that the site does not have cannot be
// bought.
var availability = codes{
	of: func(b *Block, i int) uint8 { return b.Outcome[i] },
	values: outcomeTexts(map[contracts.Outcome]string{
		contracts.OutcomeUnknown: "UNKNOWN", contracts.PriceObserved: "AVAILABLE", contracts.Unavailable: "UNAVAILABLE",
		contracts.ProductNotFound: "UNAVAILABLE", contracts.AccessRestricted: "UNKNOWN", contracts.SiteUnavailable: "UNKNOWN",
	}),
}

// The values of the field coverageState by what a row shows (choices 7).
var coverageState = codes{
	of: func(b *Block, i int) uint8 { return uint8(b.stateOf(i)) },
	values: outcomeTexts(map[contracts.Outcome]string{
		contracts.OutcomeUnknown: "UNKNOWN", contracts.PriceObserved: "PRICE_OBSERVED", contracts.Unavailable: "UNAVAILABLE",
		contracts.ProductNotFound: "PRODUCT_NOT_FOUND", contracts.AccessRestricted: "UNKNOWN", contracts.SiteUnavailable: "UNKNOWN",
	}),
}

func outcomeTexts(of map[contracts.Outcome]string) *Texts {
	t := new(Texts)
	for o := range len(of) {
		t.Append(of[contracts.Outcome(o)])
	}
	return t
}

// fields returns the fields of some groups in the order of JSON, each name
// once.
func (i Include) fields() (all []*field) {
	for n := range row {
		if i.has(row[n].group) && !slices.ContainsFunc(row[n+1:], func(later field) bool { return later.Name == row[n].Name && i.has(later.group) }) {
			all = append(all, &row[n])
		}
	}
	return all
}

// names are the names of a group's fields.
func (g group) names() (all []string) {
	for _, f := range row {
		if f.group == g {
			all = append(all, f.Name)
		}
	}
	return all
}

// Fields returns the fields that results have as columns, each once: those of
// the core, of identity, of orders, of customer data, of coverage, and for
// exports.
func (i Include) Fields() (all []string) {
	for _, f := range row {
		if i.has(f.group) && !slices.Contains(all, f.Name) {
			all = append(all, f.Name)
		}
	}
	return all
}

// IncludeOf returns the groups that a row has, by the names of its fields.
func IncludeOf(has func(name string) bool) Include {
	given := func(g group) bool { return has(g.names()[0]) } // which every row of the group has
	return Include{
		Coverage: given(coverageGroup), OrderIDs: given(ordersGroup), CustomerData: given(customerGroup), ExportFields: given(exportGroup), Identity: given(identityGroup),
	}
}

// columns returns the fields in the order of Fields.
func (i Include) columns() []*field {
	all, order := i.fields(), i.Fields()
	slices.SortStableFunc(all, func(a, b *field) int { return slices.Index(order, a.Name) - slices.Index(order, b.Name) })
	return all
}

// Columns returns the columns of fields of results. A field that this build
// does not know, from a newer server, is JSON.
func Columns(names []string) (all []frame.Column) {
	for _, name := range names {
		i := slices.IndexFunc(row, func(f field) bool { return f.Name == name })
		if i < 0 {
			all = append(all, frame.Column{Name: name, Kind: frame.JSON, Nullable: true})
			continue
		}
		all = append(all, row[i].Column)
	}
	return all
}

// Flat returns the columns of a table whose cells are texts and numbers: times
// are texts in the zone of the request, and lists and objects except money are
// the texts of their JSON.
func Flat(columns []frame.Column) []frame.Column {
	flat := slices.Clone(columns)
	for i := range flat {
		switch c := &flat[i]; {
		case c.Kind == frame.Instant:
			c.Kind = frame.Text
		case c.Kind == frame.List, c.Kind == frame.Words, c.Kind == frame.Object && !isMoney(c):
			c.Kind, c.Members = frame.JSON, nil
		}
	}
	return flat
}

func isMoney(c *frame.Column) bool { return len(c.Members) >= 3 && c.Members[1].Name == "amountMinor" }
