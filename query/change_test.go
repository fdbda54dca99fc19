package query

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
)

// TestChangeOf compares states of a pair: which kind a change has where
// several things changed, and what differences it gives (TOOL-01b).
func TestChangeOf(t *testing.T) {
	state := func(coverage string, minor int64, currency contracts.Currency, merchant string) *ObservedState {
		s := &ObservedState{CoverageState: coverage, Availability: "UNKNOWN"}
		switch coverage {
		case "PRICE_OBSERVED":
			s.Availability = "AVAILABLE"
		case "UNAVAILABLE", "PRODUCT_NOT_FOUND":
			s.Availability = "UNAVAILABLE"
		}
		if currency != "" {
			s.CurrencyCode = &currency
		}
		if minor >= 0 {
			s.PriceMoney = &Money{decimal(minor, currency), minor, currency}
		}
		if merchant != "" {
			s.Merchant = &merchant
		}
		return s
	}
	const none = -1
	priced := state("PRICE_OBSERVED", 1000, "EUR", "A")
	for name, c := range map[string]struct {
		before, after *ObservedState
		want          string // kind, difference, percent
	}{
		"nothing":               {priced, state("PRICE_OBSERVED", 1000, "EUR", "A"), ` 0.00 0.00`},
		"first":                 {nil, priced, `FIRST_OBSERVED null null`},
		"first, unknown":        {nil, state("UNKNOWN", none, "", ""), `FIRST_OBSERVED null null`},
		"cheaper":               {priced, state("PRICE_OBSERVED", 925, "EUR", "A"), `PRICE_CHANGED -0.75 -7.50`},
		"dearer, thirds":        {state("PRICE_OBSERVED", 300, "EUR", "A"), state("PRICE_OBSERVED", 500, "EUR", "A"), `PRICE_CHANGED 2.00 66.67`},
		"hardly":                {state("PRICE_OBSERVED", 100_000, "EUR", "A"), state("PRICE_OBSERVED", 99_999, "EUR", "A"), `PRICE_CHANGED -0.01 0.00`},
		"half a hundredth down": {state("PRICE_OBSERVED", 20_000, "EUR", "A"), state("PRICE_OBSERVED", 19_999, "EUR", "A"), `PRICE_CHANGED -0.01 -0.01`},
		"from nothing":          {state("PRICE_OBSERVED", 0, "EUR", "A"), priced, `PRICE_CHANGED 10.00 null`},
		"largest":               {state("PRICE_OBSERVED", 1, "EUR", "A"), state("PRICE_OBSERVED", contracts.MaxAmountMinor, "EUR", "A"), `PRICE_CHANGED 90071992547409.90 900719925474099000.00`},
		"no minor digits":       {state("PRICE_OBSERVED", 500, "JPY", "A"), state("PRICE_OBSERVED", 450, "JPY", "A"), `PRICE_CHANGED -50 -10.00`},
		"price and merchant":    {priced, state("PRICE_OBSERVED", 1001, "EUR", "B"), `PRICE_CHANGED 0.01 0.10`},
		"merchant":              {priced, state("PRICE_OBSERVED", 1000, "EUR", "B"), `MERCHANT_CHANGED 0.00 0.00`},
		"no merchant":           {priced, state("PRICE_OBSERVED", 1000, "EUR", ""), `MERCHANT_CHANGED 0.00 0.00`},
		"currency":              {priced, state("PRICE_OBSERVED", 1000, "USD", "A"), `CURRENCY_CHANGED null null`},
		"currency and merchant": {priced, state("PRICE_OBSERVED", 900, "USD", "B"), `CURRENCY_CHANGED null null`},
		"currency, no prices":   {state("PRICE_OBSERVED", none, "", "A"), state("PRICE_OBSERVED", none, "USD", "A"), `CURRENCY_CHANGED null null`},
		"no price any more":     {priced, state("PRICE_OBSERVED", none, "", "A"), `PRICE_CHANGED null null`},
		"a price at last":       {state("PRICE_OBSERVED", none, "", "A"), priced, `PRICE_CHANGED null null`},
		"sold out":              {priced, state("UNAVAILABLE", none, "", ""), `BECAME_UNAVAILABLE null null`},
		"sold out at a price":   {priced, state("UNAVAILABLE", 900, "EUR", "B"), `BECAME_UNAVAILABLE -1.00 -10.00`},
		"gone":                  {priced, state("PRODUCT_NOT_FOUND", none, "", ""), `BECAME_UNAVAILABLE null null`},
		"back":                  {state("UNAVAILABLE", none, "", ""), priced, `BECAME_AVAILABLE null null`},
		"found":                 {state("PRODUCT_NOT_FOUND", none, "", ""), priced, `BECAME_AVAILABLE null null`},
		"lost sight":            {priced, state("UNKNOWN", none, "", ""), `STATE_CHANGED null null`},
		"in sight again":        {state("UNKNOWN", none, "", ""), priced, `STATE_CHANGED null null`},
		"unknown, then not":     {state("UNKNOWN", none, "", ""), state("UNAVAILABLE", none, "", ""), `STATE_CHANGED null null`},
		"not even listed":       {state("UNAVAILABLE", none, "", ""), state("PRODUCT_NOT_FOUND", none, "", ""), `STATE_CHANGED null null`},
		"still sold out":        {state("UNAVAILABLE", none, "", ""), state("UNAVAILABLE", none, "", ""), ` null null`},
	} {
		change, changed := changeOf(contracts.Pair{Item: 1, Site: "a"}, c.before, c.after)
		difference, err := json.Marshal(change.PriceDifference)
		if err != nil {
			t.Fatal(err)
		}
		share, err := json.Marshal(change.PriceDifferencePercent)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, string(change.Kind)+" "+string(difference)+" "+string(share)); diff != "" || changed != (change.Kind != "") {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
