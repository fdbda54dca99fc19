package query

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/query/alert"
)

// TestMoved compares captures of a pair: how it moved, and by how much
// (TOOL-01b).
func TestMoved(t *testing.T) {
	of := func(state contracts.Outcome, price int64, currency contracts.Currency, merchant string, box contracts.Flag) *featured {
		return &featured{state: state, Offer: alert.Offer{Price: price, Shipping: -1, Currency: currency, Merchant: merchant, BuyBox: box}}
	}
	euros := func(price int64) *featured {
		return of(contracts.PriceObserved, price, "EUR", "A", contracts.FlagUnknown)
	}
	held := func(by string) *featured { return of(contracts.PriceObserved, 1000, "EUR", by, contracts.FlagTrue) }
	without := func(state contracts.Outcome) *featured { return of(state, -1, "", "", contracts.FlagUnknown) }
	free := of(contracts.PriceObserved, 1000, "EUR", "A", contracts.FlagFalse)
	out, absent, down := without(contracts.Unavailable), without(contracts.ProductNotFound), without(contracts.SiteUnavailable)
	for name, c := range map[string]struct {
		before, after *featured
		own           string
		want          string // kinds, difference, percent
	}{
		"nothing":               {euros(1000), euros(1000), "", `[] "0.00" "0.00"`},
		"first":                 {nil, euros(1000), "", `[NEW_OFFER] null null`},
		"first, out of stock":   {nil, out, "", `[] null null`},
		"first, unknown":        {nil, down, "", `[] null null`},
		"cheaper":               {euros(1000), euros(925), "", `[PRICE_DOWN] "-0.75" "-7.50"`},
		"dearer, thirds":        {euros(300), euros(500), "", `[PRICE_UP] "2.00" "66.67"`},
		"hardly":                {euros(100_000), euros(99_999), "", `[PRICE_DOWN] "-0.01" "0.00"`},
		"half a hundredth down": {euros(20_000), euros(19_999), "", `[PRICE_DOWN] "-0.01" "-0.01"`},
		"from nothing":          {euros(0), euros(1000), "", `[PRICE_UP] "10.00" null`},
		"largest":               {euros(1), euros(contracts.MaxAmountMinor), "", `[PRICE_UP] "90071992547409.90" "900719925474099000.00"`},
		"no minor digits":       {of(contracts.PriceObserved, 500, "JPY", "", 0), of(contracts.PriceObserved, 450, "JPY", "", 0), "", `[PRICE_DOWN] "-50" "-10.00"`},
		"merchant, no buy box":  {euros(1000), of(contracts.PriceObserved, 1000, "EUR", "B", 0), "", `[] "0.00" "0.00"`},
		"currency":              {euros(1000), of(contracts.PriceObserved, 900, "USD", "A", 0), "", `[] null null`},
		"sold out at a price":   {euros(1000), of(contracts.Unavailable, 900, "EUR", "A", 0), "", `[OUT_OF_STOCK] null null`},
		"gone":                  {euros(1000), absent, "", `[GONE] null null`},
		"gone, sold out":        {out, absent, "", `[GONE] null null`},
		"listed, sold out":      {absent, out, "", `[] null null`},
		"back":                  {out, euros(1000), "", `[BACK_IN_STOCK] null null`},
		"found":                 {absent, euros(1000), "", `[NEW_OFFER] null null`},
		"lost sight":            {euros(1000), down, "", `[NO_RESULT] null null`},
		"in sight again":        {down, euros(1000), "", `[] null null`},
		"another holder":        {held("A"), held("B"), "", `[BUYBOX_WON] "0.00" "0.00"`},
		"a holder":              {free, held("A"), "", `[BUYBOX_WON] "0.00" "0.00"`},
		"no holder":             {held("A"), free, "", `[BUYBOX_LOST] "0.00" "0.00"`},
		"holder not told":       {held("A"), euros(1000), "", `[] "0.00" "0.00"`},
		"ours won":              {held("A"), held("B"), "B", `[BUYBOX_WON] "0.00" "0.00"`},
		"ours lost":             {held("A"), held("B"), "A", `[BUYBOX_LOST] "0.00" "0.00"`},
		"not ours":              {held("A"), held("B"), "C", `[] "0.00" "0.00"`},
		"price and buy box":     {held("A"), of(contracts.PriceObserved, 900, "EUR", "B", contracts.FlagTrue), "", `[PRICE_DOWN BUYBOX_WON] "-1.00" "-10.00"`},
	} {
		m := mover(contracts.Pair{Item: 1, Site: "a"}, moved(c.before, c.after, c.own), c.before, c.after, newZoneFormat(time.UTC))
		equals.Checkf(t, c.want, fmt.Sprint(m.Kinds, " ", shown(t, m.PriceDifference), " ", shown(t, m.PriceDifferencePercent)), "%s", name)
	}
}

func shown(t *testing.T, n *json.Number) string {
	t.Helper()
	if n == nil {
		return "null"
	}
	return fmt.Sprintf("%q", n.String())
}
