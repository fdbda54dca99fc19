package main

import (
	"context"
	"encoding/json"
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

func (c *positionCmd) Run(ctx context.Context, std streams) error {
	p := c.params(map[string]string{"ownMerchant": c.OwnMerchant, "ownSite": c.OwnSite, "amount": c.Amount, "offers": c.Offers, "limit": "10000"})
	return c.listForPeople(ctx, std, "/ext/v1/position", p, positionFields, query.RecordColumns[query.OwnPosition](), positionCells, func(r *remote) { c.explainNone(ctx, std, r) })
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
	_, newest, err := r.newest(ctx, c.params(nil))
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
func positionCells(record json.RawMessage, product func(string) string) ([]cell, error) {
	var p struct {
		ItemID, CurrencyCode                    string
		Country, OwnSite                        *string
		OwnPrice, Difference, DifferencePercent *json.Number
		Rank, Offers                            int
		Cheapest                                struct {
			Site     string
			Merchant *string
			Price    *json.Number
		}
	}
	if err := json.Unmarshal(record, &p); err != nil {
		return nil, err
	}
	at := p.Cheapest.Site
	if m := textOf(p.Cheapest.Merchant); m != "" {
		at += ", " + m
	}
	return []cell{
		{"product", product(p.ItemID)},
		{"yours", money(p.OwnPrice, p.CurrencyCode)},
		{"cheapest", money(p.Cheapest.Price, p.CurrencyCode)},
		{"difference", money(p.Difference, p.CurrencyCode)},
		{"percent", percent(p.DifferencePercent, true)},
		{"rank", fmt.Sprintf("%d of %d", p.Rank, p.Offers+1)},
		{"at", at},
		{"country", textOf(p.Country)},
		{"your site", textOf(p.OwnSite)},
		{"itemId", p.ItemID},
	}, nil
}
