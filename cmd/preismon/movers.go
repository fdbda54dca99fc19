package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/query"
)

type moversCmd struct {
	recordFlags
	scopeFlags
	Since       string  `help:"Start of the comparison: RFC 3339, a date, or like now-24h or now-7d." env:"-" placeholder:"TIME" required:""`
	Until       instant `help:"End of the comparison: RFC 3339, a date, which is included, or like now-24h. Default: now." env:"-" placeholder:"TIME"`
	Kind        string  `help:"Only movers of this kind, like PRICE_DOWN." env:"-" placeholder:"KIND"`
	Brand       string  `help:"Only this brand." env:"-" placeholder:"TEXT"`
	OwnMerchant string  `help:"Your name as a merchant, for buy boxes won and lost." env:"-" placeholder:"TEXT"`
}

var moverFields = slices.Concat([]string{"itemId", "site", "kinds", "priceDifference", "priceDifferencePercent"}, sideFields("before"), sideFields("after"))

// sideFields returns the fields of a capture before or after a change.
func sideFields(side string) (all []string) {
	for _, name := range []string{"capturedAt", "coverageState", "price", "totalPrice", "currencyCode", "merchant", "isBuyBox"} {
		all = append(all, side+"."+name)
	}
	return all
}

func (c *moversCmd) Run(ctx context.Context, std streams, r *remote) error {
	now, p := time.Now(), parametersOf(*c)
	p.Set("limit", "10000")
	if since := agoOr(c.Since, now); since != c.Since {
		p.Set("since", since)
		if c.Until == "" { // of the server's now, which is a little later, it would be more than the hours that are allowed
			p.Set("until", client.Instant(now))
		}
	}
	err := c.listForPeople(ctx, std, r, "/ext/v1/movers", p, moverFields, query.RecordColumns[query.Mover](), moverCells, func() {})
	if client.TooBroad(err) {
		return fmt.Errorf("%w\nGive --site, --item-id or --order-id, or a later --since: now-7d is the longest for everything at once", err)
	}
	return err
}

// moverCells returns what people see of a mover: the state before and after.
func moverCells(m record, product func(string) string) []cell {
	said := func(side record) string {
		if state := side.text("coverageState"); state != "PRICE_OBSERVED" {
			return state
		}
		return side.money("price")
	}
	after := m.of("after")
	return []cell{
		{"product", product(m.text("itemId"))},
		{"site", m.text("site")},
		{"kind", m.list("kinds", func(kind any) string { return fmt.Sprint(kind) })},
		{"before", said(m.of("before"))},
		{"after", said(after)},
		{"change", m.change("priceDifferencePercent")},
		{"merchant", after.text("merchant")},
		{"capturedAt", after.text("capturedAt")},
		{"itemId", m.text("itemId")},
	}
}
