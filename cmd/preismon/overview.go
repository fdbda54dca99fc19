package main

import (
	"context"

	"preismon/query"
)

type overviewCmd struct {
	Remote remoteFlags `embed:""`
	recordFlags
	Since       string `help:"Start of the comparison: RFC 3339, a date, or like now-24h or now-7d. Default: now-24h." env:"-" placeholder:"TIME"`
	Site        string `help:"Only this site, by its key." env:"-" placeholder:"KEY"`
	OwnMerchant string `help:"Your name as a merchant." env:"-" placeholder:"TEXT"`
	Timezone    string `help:"IANA zone of the times in the answer." env:"-" placeholder:"ZONE"`
}

var overviewFields = []string{"list", "count", "read", "problem.code", "problem.detail"}

func (c *overviewCmd) Run(ctx context.Context, std streams) error {
	p := (&scopeFlags{Site: c.Site, Timezone: c.Timezone}).params(map[string]string{"since": c.Since, "ownMerchant": c.OwnMerchant})
	return c.list(ctx, std, c.Remote, "/ext/v1/overview", p, overviewFields, query.RecordColumns[query.OverviewList]())
}
