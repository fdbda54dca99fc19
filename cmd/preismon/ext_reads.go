package main

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

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
	p := (&scopeFlags{ItemID: c.ItemID, Site: c.Site, Timezone: c.Timezone}).params(map[string]string{"capturedAt": c.CapturedAt, "merchant": c.Merchant})
	return c.list(ctx, std, "/ext/v1/evidence", p, evidenceFields, query.RecordColumns[query.Evidence]())
}

type overviewCmd struct {
	recordFlags
	Since       string `help:"Start of the comparison: RFC 3339, a date, or like now-24h or now-7d. Default: now-24h." env:"-" placeholder:"TIME"`
	Site        string `help:"Only this site, by its key." env:"-" placeholder:"KEY"`
	OwnMerchant string `help:"Your name as a merchant." env:"-" placeholder:"TEXT"`
	Timezone    string `help:"IANA zone of the times in the answer." env:"-" placeholder:"ZONE"`
}

var overviewFields = []string{"list", "count", "read", "problem.code", "problem.detail"}

func (c *overviewCmd) Run(ctx context.Context, std streams) error {
	p := (&scopeFlags{Site: c.Site, Timezone: c.Timezone}).params(map[string]string{"since": c.Since, "ownMerchant": c.OwnMerchant})
	return c.list(ctx, std, "/ext/v1/overview", p, overviewFields, query.RecordColumns[query.OverviewList]())
}

type itemSummaryCmd struct {
	recordFlags
	ItemID         string  `arg:"" help:"Id of the product."`
	Site           string  `help:"Only this site, by its key." env:"-" placeholder:"KEY"`
	From           instant `help:"First instant or day of the window, or like now-7d, with --to. Default: the last 30 days." env:"-" placeholder:"TIME"`
	To             instant `help:"Last instant or day of the window." env:"-" placeholder:"TIME"`
	OwnMerchant    string  `help:"Your name as a merchant." env:"-" placeholder:"TEXT"`
	CandidatePrice string  `help:"Rank this price among the offers, instead of yours." env:"-" placeholder:"AMOUNT"`
	Currency       string  `help:"Currency of the candidate price. Default: that of each market." env:"-" placeholder:"CODE"`
	Timezone       string  `help:"IANA zone of days and of the times in the answer." env:"-" placeholder:"ZONE"`
}

var itemSummaryFields = []string{
	"country", "currencyCode", "cheapest.site", "cheapest.merchant", "cheapest.totalPrice", "offers", "ownPrice", "rank", "rankWithShipping", "position.candidate.differencePercent", "low.price", "high.price", "lastCapturedAt",
}

func (c *itemSummaryCmd) Run(ctx context.Context, std streams) error {
	p := (&scopeFlags{Site: c.Site, Timezone: c.Timezone}).params(map[string]string{"capturedFrom": string(c.From), "capturedTo": string(c.To), "ownMerchant": c.OwnMerchant, "candidatePrice": c.CandidatePrice, "currencyCode": c.Currency})
	return c.listForPeople(ctx, std, "/ext/v1/items/"+url.PathEscape(c.ItemID)+"/summary", p, itemSummaryFields, query.RecordColumns[query.ItemMarket](), itemSummaryCells, nil)
}

// itemSummaryCells returns what people see of a market of one product.
func itemSummaryCells(record json.RawMessage, _ func(string) string) ([]cell, error) {
	type extreme struct{ Price *json.Number }
	var m struct {
		Country, LastCapturedAt                  *string
		CurrencyCode                             string
		Offers, OwnPrice, Rank, RankWithShipping *json.Number
		Low, High                                extreme // null: without a price
		Cheapest                                 struct {
			Site       string
			Merchant   *string
			TotalPrice *json.Number
		}
	}
	if err := json.Unmarshal(record, &m); err != nil {
		return nil, err
	}
	at := m.Cheapest.Site
	if merchant := textOf(m.Cheapest.Merchant); merchant != "" {
		at += ", " + merchant
	}
	return []cell{
		{"country", textOf(m.Country)},
		{"currencyCode", m.CurrencyCode},
		{"cheapest", money(m.Cheapest.TotalPrice, m.CurrencyCode)},
		{"at", at},
		{"offers", money(m.Offers, "")},
		{"yours", money(m.OwnPrice, m.CurrencyCode)},
		{"rank", money(m.Rank, "")},
		{"with shipping", money(m.RankWithShipping, "")},
		{"lowest", money(m.Low.Price, m.CurrencyCode)},
		{"highest", money(m.High.Price, m.CurrencyCode)},
		{"capturedAt", textOf(m.LastCapturedAt)},
	}, nil
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
	p := (&scopeFlags{OrderID: c.OrderID, Site: c.Site, Timezone: c.Timezone}).params(nil)
	return c.list(ctx, std, "/ext/v1/sites/status", p, siteStatusFields, query.RecordColumns[query.SiteStatus]())
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
	p := (&scopeFlags{OrderID: c.OrderID, Timezone: c.Timezone}).params(nil)
	if c.Files != 0 {
		p.Set("files", strconv.Itoa(c.Files))
	}
	return c.list(ctx, std, "/ext/v1/orders/status", p, orderStatusFields, query.RecordColumns[query.OrderStatus]())
}
