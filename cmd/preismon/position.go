package main

import (
	"context"

	"preismon/query"
)

type positionCmd struct {
	Remote remoteFlags `embed:""`
	recordFlags
	scopeFlags
	OwnMerchant string `help:"You are this merchant, instead of your reference prices." env:"-" placeholder:"TEXT"`
	OwnSite     string `help:"You are this site, instead of your reference prices." env:"-" placeholder:"KEY"`
	Amount      string `help:"What offers are compared by: ${enum}." enum:"price,totalPrice" default:"price" env:"-"`
}

var positionFields = []string{
	"itemId", "country", "currencyCode", "ownPrice", "ownSite", "rank", "offers", "cheapest.site", "cheapest.merchant", "cheapest.price",
	"difference", "differencePercent", "oldestCapturedAt", "newestCapturedAt",
}

// Help implements kong.HelpProvider.
func (positionCmd) Help() string {
	return `Without selectors: of all products that you see.

Examples:

  preismon position
  preismon position --order-id 17 --own-merchant "Shop One" --amount totalPrice --format csv > undercut.csv`
}

func (c *positionCmd) Run(ctx context.Context, std streams) error {
	p := c.params(map[string]string{"ownMerchant": c.OwnMerchant, "ownSite": c.OwnSite, "amount": c.Amount, "limit": "10000"})
	return c.list(ctx, std, c.Remote, "/ext/v1/position", p, positionFields, query.RecordColumns[query.OwnPosition]())
}
