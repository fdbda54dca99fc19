package main

import (
	"context"
	"slices"

	"preismon/query"
)

type siteStatusCmd struct {
	Remote remoteFlags `embed:""`
	recordFlags
	OrderID  string `name:"order-id" help:"Only the pairs of this order." env:"-" placeholder:"ID"`
	Site     string `help:"Only this site, by its key." env:"-" placeholder:"KEY"`
	Timezone string `help:"IANA zone of the times in the answer." env:"-" placeholder:"ZONE"`
}

var siteStatusFields = slices.Concat(
	[]string{"site", "lastCapturedAt", "oldestCapturedAt", "intervalSeconds", "nextDueAt", "late", "lateSince", "pairs", "neverCaptured"},
	[]string{
		"reasons.priceObserved", "reasons.productUnavailable", "reasons.productNotFound", "reasons.accessTemporarilyRestricted",
		"reasons.siteTemporarilyUnavailable", "reasons.pending", "reasons.overdue", "reasons.unknown",
	},
)

func (c *siteStatusCmd) Run(ctx context.Context, std streams) error {
	p := (&scopeFlags{OrderID: c.OrderID, Site: c.Site, Timezone: c.Timezone}).params(nil)
	return c.list(ctx, std, c.Remote, "/ext/v1/sites/status", p, siteStatusFields, query.RecordColumns[query.SiteStatus]())
}
