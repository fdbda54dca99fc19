// Package table writes results, which are JSON objects, as tables: CSV, an
// Arrow stream, or a Parquet file. The server writes its answers with it and
// the client its exports, so that the same rows are the same bytes on either.
//
// Every row has all that its JSON has, under the same names. A group of fields
// that was not asked for has no columns. Null and absent stay apart by column:
// in the contract no field can be both, so an empty cell of an Optional column
// is an absent field, and one of any other column is null.
//
// A table is whole only with its end: an Arrow stream has a mark, a Parquet
// file its footer, and CSV has none, so whoever sends it must prove its end.
package table

import (
	"fmt"
	"slices"
)

// Writer writes the rows of one table. It is for one goroutine.
type Writer interface {
	// Write takes JSON objects, one after another, with a comma, a line end or
	// nothing between them. Nothing of them is kept. After an error the table is
	// of no use.
	Write(rows []byte) error
	// Flush writes the rows that are held, as far as the form allows: Parquet
	// holds a row group.
	Flush() error
	// Close ends the table and says so. A table that is not complete is left
	// without it.
	Close() error
}

// Kind is what a column or a part of it holds.
type Kind uint8

// The kinds. Unless said otherwise they are the kinds of JSON.
const (
	JSON    Kind = iota // any value, as the text of its JSON
	Text                // UTF-8
	Number              // double: an amount in the main unit, or a rating
	Integer             // 64 bits
	Boolean             //
	Instant             // milliseconds since 1970 in UTC; RFC 3339 in JSON and CSV
	List                // of values of one field
	Object              // with named members
	Words               // an object of texts under any names
)

// Column is a field of a row, or of an object within one.
type Column struct {
	Name     string
	Kind     Kind
	Nullable bool     // it can be null
	Optional bool     // it can be absent
	Members  []Column // of an object; of a list the one that its values are
}

// empty tells whether a value of the column may be missing.
func (c *Column) empty() bool { return c.Nullable || c.Optional }

func money(name string) Column {
	return Column{Name: name, Kind: Object, Members: []Column{
		{Name: "value", Kind: Number}, {Name: "amountMinor", Kind: Integer}, {Name: "currencyCode", Kind: Text},
	}}
}

func nullable(c Column) Column { c.Nullable = true; return c }
func optional(c Column) Column { c.Optional = true; return c }

func text(name string) Column { return Column{Name: name, Kind: Text} }

// known are the fields of results, by the schema Result of the contract.
var known = []Column{
	text("itemId"), text("site"),
	{Name: "capturedAt", Kind: Instant},
	text("availability"),
	{Name: "price", Kind: Number, Nullable: true},
	nullable(money("priceMoney")), nullable(text("currencyCode")), nullable(text("merchant")),
	nullable(text("ean")), nullable(text("pzn")), nullable(text("asin")), nullable(text("asinLocale")),
	nullable(text("productName")), nullable(text("brand")), nullable(text("manufacturer")),
	{Name: "orderIds", Kind: List, Members: []Column{text("element")}},
	{Name: "customerData", Kind: Words},
	text("coverageState"),
	{Name: "lastProcessedAt", Kind: Instant, Nullable: true},
	nullable(text("productUrl")), nullable(text("offerTitle")),
	{Name: "shippingCost", Kind: Number, Nullable: true},
	nullable(money("shippingCostMoney")),
	{Name: "totalPrice", Kind: Number, Nullable: true},
	nullable(money("totalPriceMoney")),
	nullable(text("deliveryText")),
	{Name: "isPrime", Kind: Boolean, Optional: true},
	{Name: "isBuyBox", Kind: Boolean, Optional: true},
	{Name: "productRating", Kind: Object, Optional: true, Members: []Column{{Name: "value", Kind: Number}, {Name: "scale", Kind: Integer}}},
	{Name: "customerReferencePrices", Kind: List, Members: []Column{{Name: "element", Kind: Object, Members: append(
		money("").Members, optional(text("appliesToSite")), optional(text("referenceQuantity")), optional(text("priceType")))}}},
	{Name: "referencePrice", Kind: Number, Optional: true},
	optional(money("referencePriceMoney")),
}

// Columns are the columns of fields of results. A field that this build does
// not know, of a newer server, is JSON.
func Columns(names []string) []Column {
	all := make([]Column, 0, len(names))
	for _, name := range names {
		i := slices.IndexFunc(known, func(c Column) bool { return c.Name == name })
		if i < 0 {
			all = append(all, Column{Name: name, Kind: JSON, Nullable: true})
			continue
		}
		all = append(all, known[i])
	}
	return all
}

// missing is a row without a value that every row has.
func missing(c *Column) error { return fmt.Errorf("table: a row without %s", c.Name) }

// unfit is a value of another kind than its column.
func unfit(c *Column, value []byte) error {
	return fmt.Errorf("table: %s cannot be %.100q", c.Name, value)
}
