package main

import (
	"context"
	"slices"
	"strconv"

	"preismon/query"
)

type orderStatusCmd struct {
	Remote remoteFlags `embed:""`
	recordFlags
	OrderID  string `name:"order-id" help:"Only this order." env:"-" placeholder:"ID"`
	Files    int    `help:"Add this many of the newest exports and imports of each order: 0 to 100." env:"-" default:"0" placeholder:"N"`
	Timezone string `help:"IANA zone of the times in the answer." env:"-" placeholder:"ZONE"`
}

var orderStatusFields = slices.Concat(
	orderFields, coverageFields, monitoringFields,
	[]string{
		"qualitySummary.priceObserved", "qualitySummary.productUnavailable", "qualitySummary.productNotFound", "qualitySummary.accessTemporarilyRestricted",
		"qualitySummary.siteTemporarilyUnavailable", "qualitySummary.pending", "qualitySummary.overdue", "qualitySummary.unknown", "qualitySummary.sourceCountsConsistent",
	},
	[]string{"fileCount", "filesProblem.detail"},
)

func (c *orderStatusCmd) Run(ctx context.Context, std streams) error {
	p := (&scopeFlags{OrderID: c.OrderID, Timezone: c.Timezone}).params(nil)
	if c.Files != 0 {
		p.Set("files", strconv.Itoa(c.Files))
	}
	return c.list(ctx, std, c.Remote, "/ext/v1/orders/status", p, orderStatusFields, query.RecordColumns[query.OrderStatus]())
}
