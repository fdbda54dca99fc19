package main

import (
	"context"

	"preismon/query"
)

type evidenceCmd struct {
	Remote remoteFlags `embed:""`
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
	return c.list(ctx, std, c.Remote, "/ext/v1/evidence", p, evidenceFields, query.RecordColumns[query.Evidence]())
}
