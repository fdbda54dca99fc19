package main

import (
	"context"
	"slices"

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

func (c *statsCmd) Run(ctx context.Context, std streams, r *remote) error {
	p, rows := parametersOf(*c), parametersOf(*c)
	p.Set("limit", "10000")
	rows.Del("by")
	rows.Del("bucket")
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
	return c.listForPeople(ctx, std, r, "/ext/v1/statistics", p, fields, query.RecordColumns[query.StatisticRecord](), c.cells, func() { r.explainNoRows(ctx, std, rows) })
}

// cells returns what people see of a record: what it covers, and its prices in
// each currency.
func (c *statsCmd) cells(s record, product func(string) string) []cell {
	var cells []cell
	switch c.By {
	case "product":
		cells = append(cells, cell{"product", product(s.text("itemId"))})
	case "site", "merchant", "brand":
		cells = append(cells, cell{c.By, s.text(c.By)})
	}
	if c.Bucket != "whole" {
		cells = append(cells, cell{"from", s.text("from")})
	}
	for _, c := range [][2]string{{"lowest", "min"}, {"median", "median"}, {"highest", "max"}, {"last", "last"}} {
		cells = append(cells, cell{c[0], s.list("prices", func(price any) string {
			p, _ := price.(map[string]any)
			return record(p).money(c[1])
		})})
	}
	share := s.text("shareInStock")
	if share != "" {
		share += " %"
	}
	cells = append(cells,
		cell{"changes", thousands(s.count("changes"))}, cell{"in stock", share}, cell{"prices", thousands(s.count("observations.priced"))},
		cell{"unavailable", thousands(s.count("observations.unavailable"))}, cell{"pairs", thousands(s.count("pairs"))})
	if c.By == "product" {
		cells = append(cells, cell{"itemId", s.text("itemId")})
	}
	return cells
}
