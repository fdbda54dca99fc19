package main

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"preismon/query"
)

// scopeFlags select what a query of /ext/v1 covers.
type scopeFlags struct {
	Site       string `help:"One site, by its key." env:"-" placeholder:"KEY"`
	ItemID     string `name:"item-id" help:"One item, by its id." env:"-" placeholder:"ID"`
	Ean        string `help:"One item, by its EAN or GTIN." env:"-" placeholder:"DIGITS"`
	Pzn        string `help:"One item, by its Pharmazentralnummer." env:"-" placeholder:"DIGITS"`
	Asin       string `help:"One item, by its ASIN; needs --asin-locale." env:"-" placeholder:"ASIN"`
	AsinLocale string `help:"Marketplace locale of the ASIN, like de." env:"-" placeholder:"LOCALE"`
	OrderID    string `name:"order-id" help:"The pairs of one order." env:"-" placeholder:"ID"`
	Timezone   string `help:"IANA zone of dates and of the times in the answer." env:"-" placeholder:"ZONE"`
}

// params returns the parameters for the flags that are given, and more.
func (f *scopeFlags) params(more map[string]string) url.Values {
	p := parametersOf(*f)
	for name, value := range more {
		if value != "" {
			p.Set(name, value)
		}
	}
	return p
}

type statsCmd struct {
	recordFlags
	scopeFlags
	GlobalScope  bool     `help:"Everything that you see; needs both bounds of the window." env:"-"`
	Brand        string   `help:"Only this brand." env:"-" placeholder:"TEXT"`
	CapturedFrom instant  `aliases:"from" help:"Earliest capture time: RFC 3339, a date, or like now-7d. Also --from." env:"-" placeholder:"TIME"`
	CapturedTo   instant  `aliases:"to" help:"Latest capture time: RFC 3339, a date, which is included, or like now-24h. Also --to." env:"-" placeholder:"TIME"`
	By           string   `help:"What each record covers: ${enum}." enum:"product,site,merchant,brand,all" default:"product" env:"-"`
	Bucket       string   `help:"The parts of the window: ${enum}. A part without a record was not observed." enum:"hour,day,week,whole" default:"whole" env:"-"`
	Include      []string `help:"Further fields of products: ${enum}. trend: the median of each of 24 parts of the window; standing: the cheapest current offer and your reference price; identity: the name, brand, EAN, PZN and ASIN." enum:"trend,standing,identity" env:"-" placeholder:"GROUP"`
}

var statsFields = []string{
	"itemId", "site", "merchant", "brand", "from", "to", "pairs", "observations.priced", "observations.unavailable", "observations.notFound", "observations.unknown",
	"changes", "seconds.inStock", "seconds.outOfStock", "seconds.unknown", "seconds.notObserved", "shareInStock", "buyBox", "prices",
}

var statsIdentityFields = []string{
	"identity.ean", "identity.pzn", "identity.asin", "identity.asinLocale", "identity.productName", "identity.brand", "identity.manufacturer",
}

func (c *statsCmd) Run(ctx context.Context, std streams) error {
	rows := c.params(map[string]string{"brand": c.Brand, "capturedFrom": string(c.CapturedFrom), "capturedTo": string(c.CapturedTo)})
	if c.GlobalScope {
		rows.Set("globalScope", "true")
	}
	p := maps.Clone(rows)
	for name, value := range map[string]string{"by": c.By, "bucket": c.Bucket, "limit": "10000"} {
		p.Set(name, value)
	}
	fields := statsFields
	for _, group := range c.Include {
		if group == "identity" {
			fields = slices.Concat(statsFields, statsIdentityFields)
		}
		p.Set(map[string]string{"trend": "includeTrend", "standing": "includeStanding", "identity": "includeIdentity"}[group], "true")
		if group != "identity" {
			p.Set("limit", "1000")
		}
	}
	return c.listForPeople(ctx, std, "/ext/v1/statistics", p, fields, query.RecordColumns[query.StatisticRecord](), c.cells, func(r *remote) { r.explainNoRows(ctx, std, rows) })
}

// cells returns what people see of a record: what it covers, and its prices in
// each currency.
func (c *statsCmd) cells(record json.RawMessage, product func(string) string) ([]cell, error) {
	var s struct {
		ItemID, Site, Merchant, Brand *string
		From                          string
		Pairs, Changes                uint64
		Observations                  struct{ Priced, Unavailable uint64 }
		ShareInStock                  *json.Number
		Prices                        []struct {
			CurrencyCode           string
			Min, Median, Max, Last *json.Number
		}
	}
	if err := json.Unmarshal(record, &s); err != nil {
		return nil, err
	}
	var cells []cell
	switch c.By {
	case "product":
		cells = append(cells, cell{"product", product(textOf(s.ItemID))})
	case "site":
		cells = append(cells, cell{"site", textOf(s.Site)})
	case "merchant":
		cells = append(cells, cell{"merchant", textOf(s.Merchant)})
	case "brand":
		cells = append(cells, cell{"brand", textOf(s.Brand)})
	}
	if c.Bucket != "whole" {
		cells = append(cells, cell{"from", s.From})
	}
	var lowest, median, highest, last []string
	for _, p := range s.Prices {
		lowest, median = append(lowest, money(p.Min, p.CurrencyCode)), append(median, money(p.Median, p.CurrencyCode))
		highest, last = append(highest, money(p.Max, p.CurrencyCode)), append(last, money(p.Last, p.CurrencyCode))
	}
	cells = append(cells,
		cell{"lowest", strings.Join(lowest, ", ")}, cell{"median", strings.Join(median, ", ")}, cell{"highest", strings.Join(highest, ", ")}, cell{"last", strings.Join(last, ", ")},
		cell{"changes", thousands(s.Changes)}, cell{"in stock", percent(s.ShareInStock, false)}, cell{"prices", thousands(s.Observations.Priced)},
		cell{"unavailable", thousands(s.Observations.Unavailable)}, cell{"pairs", thousands(s.Pairs)})
	if c.By == "product" {
		cells = append(cells, cell{"itemId", textOf(s.ItemID)})
	}
	return cells, nil
}
