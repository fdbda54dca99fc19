package query

import (
	"encoding/json"
	"math/big"

	"preismon/contracts"
)

// Money is an amount as rows of results show it (choices 1).
type Money struct {
	Value        json.Number        `json:"value"` // in the main unit, with all minor digits
	AmountMinor  int64              `json:"amountMinor"`
	CurrencyCode contracts.Currency `json:"currencyCode"`
}

// orNull returns a text as records show it: nil if there is none.
func orNull[T ~string](text T) *T {
	if text == "" {
		return nil
	}
	return &text
}

// decimal is an amount in the main unit, as prices are shown: exact, with all
// minor digits of its currency.
func decimal(amount int64, currency contracts.Currency) json.Number {
	return json.Number(contracts.AppendMinor(nil, amount, currency.Digits()))
}

// percent returns a part of a base in percent with two digits, halves rounded
// away from zero; nil without a base. It is exact for amounts and for counts: a
// hundred times the largest amount still fits into an int64.
func percent(part, base int64) *json.Number {
	if base == 0 {
		return nil
	}
	text := big.NewRat(100*part, base).FloatString(2)
	if text == "-0.00" {
		text = "0.00"
	}
	return new(json.Number(text))
}
