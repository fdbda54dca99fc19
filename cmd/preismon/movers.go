package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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

func (c *moversCmd) Run(ctx context.Context, std streams) error {
	now := time.Now()
	since, until := agoOr(c.Since, now), string(c.Until)
	if since != c.Since && until == "" { // of the server's now, which is a little later, it would be more than the hours that are allowed
		until = client.Instant(now)
	}
	p := c.params(map[string]string{
		"since": since, "until": until, "kind": c.Kind, "brand": c.Brand, "ownMerchant": c.OwnMerchant, "limit": "10000",
	})
	err := c.listForPeople(ctx, std, "/ext/v1/movers", p, moverFields, query.RecordColumns[query.Mover](), moverCells, nil)
	if client.TooBroad(err) {
		return fmt.Errorf("%w\nGive --site, --item-id or --order-id, or a later --since: now-7d is the longest for everything at once", err)
	}
	return err
}

// moverCells returns what people see of a mover: the state before and after.
func moverCells(record json.RawMessage, product func(string) string) ([]cell, error) {
	type side struct {
		CapturedAt, CoverageState, CurrencyCode string
		Price                                   *json.Number
		Merchant                                *string
	}
	var m struct {
		ItemID, Site           string
		Kinds                  []string
		PriceDifferencePercent *json.Number
		Before, After          *side
	}
	if err := json.Unmarshal(record, &m); err != nil {
		return nil, err
	}
	said := func(s *side) string {
		switch {
		case s == nil:
			return ""
		case s.CoverageState == "PRICE_OBSERVED":
			return money(s.Price, s.CurrencyCode)
		}
		return s.CoverageState
	}
	var merchant, at string
	if m.After != nil {
		merchant, at = textOf(m.After.Merchant), m.After.CapturedAt
	}
	return []cell{
		{"product", product(m.ItemID)},
		{"site", m.Site},
		{"kind", strings.Join(m.Kinds, ", ")},
		{"before", said(m.Before)},
		{"after", said(m.After)},
		{"change", percent(m.PriceDifferencePercent, true)},
		{"merchant", merchant},
		{"capturedAt", at},
		{"itemId", m.ItemID},
	}, nil
}
