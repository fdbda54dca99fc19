package main

import (
	"context"
	"net/url"
	"slices"

	"preismon/query"
)

type evidenceCmd struct {
	recordFlags
	ItemID     string `name:"item-id" help:"The item, by its id." env:"-" placeholder:"ID" required:""`
	Site       string `help:"The site, by its key." env:"-" placeholder:"KEY" required:""`
	CapturedAt string `help:"When the row was captured, as the row says." env:"-" placeholder:"TIME" required:""`
	Merchant   string `help:"Only the offers of this merchant." env:"-" placeholder:"TEXT"`
	Timezone   string `help:"IANA zone of the times in the answer." env:"-" placeholder:"ZONE"`
}

var evidenceFields = []string{
	"itemId", "site", "capturedAt", "coverageState", "price", "currencyCode", "merchant", "rowId", "eventId", "nextDueAt", "visibleAt", "productUrl", "again",
}

func (c *evidenceCmd) Run(ctx context.Context, std streams) error {
	return c.list(ctx, std, "/ext/v1/evidence", parametersOf(*c), evidenceFields, query.RecordColumns[query.Evidence]())
}

type overviewCmd struct {
	recordFlags
	Since       string `help:"Start of the comparison: RFC 3339, a date, or like now-24h or now-7d, from the next quarter of an hour on. Default: now-24h." env:"-" placeholder:"TIME"`
	Site        string `help:"Only this site, by its key." env:"-" placeholder:"KEY"`
	OwnMerchant string `help:"Your name as a merchant." env:"-" placeholder:"TEXT"`
	Timezone    string `help:"IANA zone of the times in the answer." env:"-" placeholder:"ZONE"`
}

var overviewFields = []string{"list", "count", "read", "problem.code", "problem.detail"}

func (c *overviewCmd) Run(ctx context.Context, std streams) error {
	return c.list(ctx, std, "/ext/v1/overview", parametersOf(*c), overviewFields, query.RecordColumns[query.OverviewList]())
}

type itemSummaryCmd struct {
	recordFlags
	ItemID         string  `arg:"" help:"Id of the product."`
	Site           string  `help:"Only this site, by its key." env:"-" placeholder:"KEY"`
	CapturedFrom   instant `name:"from" help:"First instant or day of the window, or like now-7d, with --to. Default: the last 30 days." env:"-" placeholder:"TIME"`
	CapturedTo     instant `name:"to" help:"Last instant or day of the window." env:"-" placeholder:"TIME"`
	OwnMerchant    string  `help:"Your name as a merchant." env:"-" placeholder:"TEXT"`
	CandidatePrice string  `help:"Rank this price among the offers, instead of yours." env:"-" placeholder:"AMOUNT"`
	CurrencyCode   string  `name:"currency" help:"Currency of the candidate price. Default: that of each market." env:"-" placeholder:"CODE"`
	Timezone       string  `help:"IANA zone of days and of the times in the answer." env:"-" placeholder:"ZONE"`
}

var itemSummaryFields = []string{
	"country", "currencyCode", "cheapest.site", "cheapest.merchant", "cheapest.totalPrice", "offers", "ownPrice", "rank", "rankWithShipping", "position.candidate.differencePercent", "low.price", "high.price", "lastCapturedAt",
}

func (c *itemSummaryCmd) Run(ctx context.Context, std streams, r *remote) error {
	p := parametersOf(*c)
	p.Del("itemId") // it is in the path
	return c.listForPeople(ctx, std, r, "/ext/v1/items/"+url.PathEscape(c.ItemID)+"/summary", p, itemSummaryFields, query.RecordColumns[query.ItemMarket](), itemSummaryCells, func() {})
}

// itemSummaryCells returns what people see of a market of one product.
func itemSummaryCells(m record, _ func(string) string) []cell {
	return []cell{
		{"country", m.text("country")},
		{"currencyCode", m.text("currencyCode")},
		{"cheapest", m.money("cheapest.totalPrice")},
		{"at", m.offer("cheapest")},
		{"offers", m.text("offers")},
		{"yours", m.money("ownPrice")},
		{"rank", m.text("rank")},
		{"with shipping", m.text("rankWithShipping")},
		{"lowest", m.money("low.price")},
		{"highest", m.money("high.price")},
		{"capturedAt", m.text("lastCapturedAt")},
	}
}

type siteStatusCmd struct {
	recordFlags
	OrderID  string `name:"order-id" help:"Only the pairs of this order." env:"-" placeholder:"ID"`
	Site     string `help:"Only this site, by its key." env:"-" placeholder:"KEY"`
	Timezone string `help:"IANA zone of the times in the answer." env:"-" placeholder:"ZONE"`
}

var siteStatusFields = []string{
	"site", "lastCapturedAt", "oldestCapturedAt", "intervalSeconds", "nextDueAt", "late", "lateSince", "pairs", "neverCaptured",
	"reasons.priceObserved", "reasons.productUnavailable", "reasons.productNotFound", "reasons.accessTemporarilyRestricted",
	"reasons.siteTemporarilyUnavailable", "reasons.pending", "reasons.overdue", "reasons.unknown",
}

func (c *siteStatusCmd) Run(ctx context.Context, std streams) error {
	return c.list(ctx, std, "/ext/v1/sites/status", parametersOf(*c), siteStatusFields, query.RecordColumns[query.SiteStatus]())
}

type orderStatusCmd struct {
	recordFlags
	OrderID  string `name:"order-id" help:"Only this order." env:"-" placeholder:"ID"`
	Files    int    `help:"Add this many of the newest exports and imports of each order: 0 to 100." env:"-" default:"0" placeholder:"N"`
	Timezone string `help:"IANA zone of the times in the answer." env:"-" placeholder:"ZONE"`
}

var orderStatusFields = slices.Concat(orderFields, coverageFields, monitoringFields, []string{
	"qualitySummary.priceObserved", "qualitySummary.productUnavailable", "qualitySummary.productNotFound", "qualitySummary.accessTemporarilyRestricted",
	"qualitySummary.siteTemporarilyUnavailable", "qualitySummary.pending", "qualitySummary.overdue", "qualitySummary.unknown", "qualitySummary.sourceCountsConsistent",
	"fileCount", "filesProblem.detail",
})

func (c *orderStatusCmd) Run(ctx context.Context, std streams) error {
	return c.list(ctx, std, "/ext/v1/orders/status", parametersOf(*c), orderStatusFields, query.RecordColumns[query.OrderStatus]())
}
