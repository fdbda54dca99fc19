package main

import (
	"context"

	"preismon/query"
)

type moversCmd struct {
	Remote remoteFlags `embed:""`
	recordFlags
	scopeFlags
	Since       string `help:"What is compared with: RFC 3339, or a date." env:"-" placeholder:"TIME" required:""`
	Until       string `help:"What is compared: RFC 3339, or a date, which is included. Default: now." env:"-" placeholder:"TIME"`
	Kind        string `help:"Only movers of this kind, like PRICE_DOWN." env:"-" placeholder:"KIND"`
	Brand       string `help:"Only this brand." env:"-" placeholder:"TEXT"`
	OwnMerchant string `help:"You are this merchant, who wins and loses the buy box." env:"-" placeholder:"TEXT"`
}

var moverFields = []string{
	"itemId", "site", "kinds", "priceDifference", "priceDifferencePercent",
	"before.capturedAt", "before.coverageState", "before.price", "before.totalPrice", "before.currencyCode", "before.merchant", "before.isBuyBox",
	"after.capturedAt", "after.coverageState", "after.price", "after.totalPrice", "after.currencyCode", "after.merchant", "after.isBuyBox",
}

// Help implements kong.HelpProvider.
func (moversCmd) Help() string {
	return `The greatest moves of a price come first. The kinds are PRICE_UP, PRICE_DOWN, BUYBOX_WON, BUYBOX_LOST, OUT_OF_STOCK,
BACK_IN_STOCK, NEW_OFFER, GONE, UNDERCUT (less than your reference price) and NO_RESULT. Without selectors: of all that you see, at most 168 hours.

Examples:

  preismon movers --since 2026-03-01
  preismon movers --order-id 17 --since 2026-03-01T06:00:00Z --kind PRICE_DOWN --format csv > drops.csv`
}

func (c *moversCmd) Run(ctx context.Context, std streams) error {
	p := c.params(map[string]string{
		"since": c.Since, "until": c.Until, "kind": c.Kind, "brand": c.Brand, "ownMerchant": c.OwnMerchant, "limit": "10000",
	})
	return c.list(ctx, std, c.Remote, "/ext/v1/movers", p, moverFields, query.RecordColumns[query.Mover]())
}
