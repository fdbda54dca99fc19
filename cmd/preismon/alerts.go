package main

import (
	"context"

	"preismon/cmd/preismon/client"
)

type alertsCmd struct {
	Remote remoteFlags `embed:""`
	scopeFlags
	followFlags
	Rule         string `help:"The rule: PRICE_BELOW, PRICE_DROP, OUT_OF_STOCK, BACK_IN_STOCK, BUYBOX_LOST or UNDERCUT." env:"-" placeholder:"RULE"`
	Price        string `help:"For PRICE_BELOW: the price, like 12.34." env:"-" placeholder:"AMOUNT"`
	CurrencyCode string `help:"Currency of --price, like EUR." env:"-" placeholder:"CODE"`
	Percent      string `help:"For PRICE_DROP: by how many percent, 1 to 99." env:"-" placeholder:"NUMBER"`
	OwnMerchant  string `help:"Your name as a merchant, for BUYBOX_LOST and UNDERCUT." env:"-" placeholder:"TEXT"`
	Confirm      string `help:"How many captures in a row must agree, 1 to 5. Default: 1." env:"-" placeholder:"NUMBER"`
	RearmPercent string `help:"By how many percent a price must be above the compared one before PRICE_BELOW or UNDERCUT can fire again, 1 to 50." env:"-" placeholder:"NUMBER"`
}

func (c *alertsCmd) Run(ctx context.Context, std streams) error {
	p := c.params(map[string]string{
		"rule": c.Rule, "price": c.Price, "currencyCode": c.CurrencyCode, "percent": c.Percent, "ownMerchant": c.OwnMerchant, "confirm": c.Confirm, "rearmPercent": c.RearmPercent,
	})
	return c.run(ctx, std, c.Remote, "alerts", p, (*client.Client).Alerts)
}
