package main

import (
	"context"
	"net/url"

	"preismon/query"
)

type itemSummaryCmd struct {
	Remote remoteFlags `embed:""`
	recordFlags
	ItemID      string `arg:"" help:"Id of the product."`
	Site        string `help:"Only this site, by its key." env:"-" placeholder:"KEY"`
	From        string `help:"First instant or day of the window, with --to. Default: the last 30 days." env:"-" placeholder:"TIME"`
	To          string `help:"Last instant or day of the window." env:"-" placeholder:"TIME"`
	OwnMerchant string `help:"You are this merchant." env:"-" placeholder:"TEXT"`
	Timezone    string `help:"IANA zone of days and of the times in the answer." env:"-" placeholder:"ZONE"`
}

var itemSummaryFields = []string{
	"country", "currencyCode", "cheapest.site", "cheapest.merchant", "cheapest.totalPrice", "offers", "ownPrice", "rank", "rankWithShipping", "low.price", "high.price", "lastCapturedAt",
}

// Help implements kong.HelpProvider.
func (itemSummaryCmd) Help() string {
	return `For each market: the cheapest current offer with shipping, where your price ranks, and the lowest and highest price of the window; with
--format ndjson also captures by outcome, who held the buy box, and for each site how fresh it is and what each day was.

Examples:

  preismon item-summary 4711
  preismon item-summary 4711 --from 2026-02-01 --to 2026-02-28 --format ndjson`
}

func (c *itemSummaryCmd) Run(ctx context.Context, std streams) error {
	p := (&scopeFlags{Site: c.Site, Timezone: c.Timezone}).params(map[string]string{"capturedFrom": c.From, "capturedTo": c.To, "ownMerchant": c.OwnMerchant})
	return c.list(ctx, std, c.Remote, "/ext/v1/items/"+url.PathEscape(c.ItemID)+"/summary", p, itemSummaryFields, query.RecordColumns[query.ItemMarket]())
}
