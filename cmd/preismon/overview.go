package main

import (
	"context"

	"preismon/query"
)

type overviewCmd struct {
	Remote remoteFlags `embed:""`
	recordFlags
	Since       string `help:"What is compared with: RFC 3339, a date, or like now-24h or now-7d. Default: now-24h." env:"-" placeholder:"TIME"`
	Site        string `help:"Only this site, by its key." env:"-" placeholder:"KEY"`
	OwnMerchant string `help:"You are this merchant." env:"-" placeholder:"TEXT"`
	Timezone    string `help:"IANA zone of the times in the answer." env:"-" placeholder:"ZONE"`
}

var overviewFields = []string{"list", "count", "read", "problem.code", "problem.detail"}

// Help implements kong.HelpProvider.
func (overviewCmd) Help() string {
	return `How many prices fell and rose, what is out of and back in stock, who won and lost the buy box, where you are newly undercut, where
your price is above the cheapest featured offer, and how many sites there are. Each list has its count and the read that gives all of it; with
--format ndjson also its first ten records.

Examples:

  preismon overview
  preismon overview --since now-7d --format ndjson`
}

func (c *overviewCmd) Run(ctx context.Context, std streams) error {
	p := (&scopeFlags{Site: c.Site, Timezone: c.Timezone}).params(map[string]string{"since": c.Since, "ownMerchant": c.OwnMerchant})
	return c.list(ctx, std, c.Remote, "/ext/v1/overview", p, overviewFields, query.RecordColumns[query.OverviewList]())
}
