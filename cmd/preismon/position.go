package main

import (
	"context"
	"fmt"
	"time"

	"preismon/query"
)

type positionCmd struct {
	recordFlags
	scopeFlags
	OwnMerchant string `help:"Compare the offers of this merchant, instead of your reference prices." env:"-" placeholder:"TEXT"`
	OwnSite     string `help:"Compare the offers of this site, instead of your reference prices." env:"-" placeholder:"KEY"`
	Amount      string `help:"Which amount is compared: ${enum}." enum:"price,totalPrice" default:"price" env:"-"`
	Offers      string `help:"Which offers of others are compared: ${enum}." enum:"featured,all" default:"featured" env:"-"`
}

var positionFields = []string{
	"itemId", "country", "currencyCode", "ownPrice", "ownSite", "rank", "offers", "cheapest.site", "cheapest.merchant", "cheapest.price",
	"difference", "differencePercent", "oldestCapturedAt", "newestCapturedAt",
}

func (c *positionCmd) Run(ctx context.Context, std streams, r *remote) error {
	p := parametersOf(*c)
	p.Set("limit", "10000")
	return c.listForPeople(ctx, std, r, "/ext/v1/position", p, positionFields, query.RecordColumns[query.OwnPosition](), positionCells, func() { c.explainNone(ctx, std, r) })
}

// explainNone tells a user who got no positions what was compared, and the likely
// reason.
func (c *positionCmd) explainNone(ctx context.Context, std streams, r *remote) {
	own, likely := "Your reference prices", "none of the products has a reference price: `preismon ingest` publishes them; --own-site and --own-merchant compare offers instead"
	switch {
	case c.OwnMerchant != "":
		own = "The offers of " + c.OwnMerchant
	case c.OwnSite != "":
		own = "The offers at " + c.OwnSite
	}
	if c.OwnMerchant != "" || c.OwnSite != "" {
		likely = "none of them is current, or nobody else has a current offer"
	}
	fmt.Fprintf(std.err, "%s were compared with offers captured in the last %d hours.\n", own, query.CurrentOffers/time.Hour)
	_, newest, err := r.newest(ctx, parametersOf(c.scopeFlags))
	at, timeErr := time.Parse(time.RFC3339, newest)
	switch {
	case err != nil:
	case newest == "":
		fmt.Fprintln(std.err, "Nothing was captured at any time, as far as you can see.")
	case timeErr == nil && time.Since(at) > query.CurrentOffers:
		fmt.Fprintf(std.err, "The newest capture is of %s, which is older.\n", newest)
	default:
		fmt.Fprintf(std.err, "Probably %s.\n", likely)
	}
}

// positionCells returns what people see of a position: their own price and the
// cheapest. The rank is among the offers of others and their own.
func positionCells(p record, product func(string) string) []cell {
	return []cell{
		{"product", product(p.text("itemId"))},
		{"yours", p.money("ownPrice")},
		{"cheapest", p.money("cheapest.price")},
		{"difference", p.money("difference")},
		{"percent", p.change("differencePercent")},
		{"rank", fmt.Sprintf("%d of %d", p.count("rank"), p.count("offers")+1)},
		{"at", p.offer("cheapest")},
		{"country", p.text("country")},
		{"your site", p.text("ownSite")},
		{"itemId", p.text("itemId")},
	}
}
