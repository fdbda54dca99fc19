package main

import (
	"context"
	"net/url"

	"preismon/query"
)

type itemSummaryCmd struct {
	Remote remoteFlags `embed:""`
	recordFlags
	ItemID         string `arg:"" help:"Id of the product."`
	Site           string `help:"Only this site, by its key." env:"-" placeholder:"KEY"`
	From           string `help:"First instant or day of the window, with --to. Default: the last 30 days." env:"-" placeholder:"TIME"`
	To             string `help:"Last instant or day of the window." env:"-" placeholder:"TIME"`
	OwnMerchant    string `help:"Your name as a merchant." env:"-" placeholder:"TEXT"`
	CandidatePrice string `help:"Rank this price among the offers, instead of yours." env:"-" placeholder:"AMOUNT"`
	Currency       string `help:"Currency of the candidate price. Default: that of each market." env:"-" placeholder:"CODE"`
	Timezone       string `help:"IANA zone of days and of the times in the answer." env:"-" placeholder:"ZONE"`
}

var itemSummaryFields = []string{
	"country", "currencyCode", "cheapest.site", "cheapest.merchant", "cheapest.totalPrice", "offers", "ownPrice", "rank", "rankWithShipping", "position.candidate.differencePercent", "low.price", "high.price", "lastCapturedAt",
}

func (c *itemSummaryCmd) Run(ctx context.Context, std streams) error {
	p := (&scopeFlags{Site: c.Site, Timezone: c.Timezone}).params(map[string]string{"capturedFrom": c.From, "capturedTo": c.To, "ownMerchant": c.OwnMerchant, "candidatePrice": c.CandidatePrice, "currencyCode": c.Currency})
	return c.list(ctx, std, c.Remote, "/ext/v1/items/"+url.PathEscape(c.ItemID)+"/summary", p, itemSummaryFields, query.RecordColumns[query.ItemMarket]())
}
