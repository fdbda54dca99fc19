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

// Help implements kong.HelpProvider.
func (evidenceCmd) Help() string {
	return `Each offer of the capture, with the id of the event that brought it, the address of the product, when the next capture is due,
and the path of the read that gives the row again. What is not known is empty.

Examples:

  preismon evidence --item-id 4711 --site shop-one --captured-at 2026-03-01T08:30:00.250Z`
}

func (c *evidenceCmd) Run(ctx context.Context, std streams) error {
	p := (&scopeFlags{ItemID: c.ItemID, Site: c.Site, Timezone: c.Timezone}).params(map[string]string{"capturedAt": c.CapturedAt, "merchant": c.Merchant})
	return c.list(ctx, std, c.Remote, "/ext/v1/evidence", p, evidenceFields, query.RecordColumns[query.Evidence]())
}
