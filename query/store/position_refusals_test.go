package store_test

import (
	"testing"

	"preismon/contracts"
	"preismon/query"
)

// positionRefusals: invalid requests are refused.
func (w *world) positionRefusals(t *testing.T) {
	w.exec("INSERT INTO accounts VALUES (15, 1, 'u15', 'h', false, false, ['sites','items','orders','files'], true, [], true, [], 1)")
	for name, c := range map[string]struct {
		account contracts.AccountID
		r       query.PositionRequest
		code    string
	}{
		"fine":                   {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "12.99"}, ""},
		"asin":                   {accountWhole, query.PositionRequest{ASIN: "B000000001", ASINLocale: "de", CandidatePrice: "12.99"}, ""},
		"thousandths of a dinar": {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "12.999", CurrencyCode: "KWD"}, ""},
		"of some currency":       {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "12.9999"}, ""},
		"no product":             {accountWhole, query.PositionRequest{CandidatePrice: "12.99"}, query.CodeValidation},
		"two products":           {accountWhole, query.PositionRequest{ItemID: 3, PZN: "00000001", CandidatePrice: "12.99"}, query.CodeValidation},
		"asin without locale":    {accountWhole, query.PositionRequest{ASIN: "B000000001", CandidatePrice: "12.99"}, query.CodeValidation},
		"locale without asin":    {accountWhole, query.PositionRequest{ASINLocale: "de", CandidatePrice: "12.99"}, query.CodeValidation},
		"no price":               {accountWhole, query.PositionRequest{ItemID: 3}, query.CodeValidation},
		"nothing":                {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "0.00"}, query.CodeValidation},
		"nothing of a currency":  {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "0.00", CurrencyCode: "EUR"}, query.CodeValidation},
		"negative":               {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "-1"}, query.CodeValidation},
		"an exponent":            {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "1e3"}, query.CodeValidation},
		"a comma":                {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "12,99"}, query.CodeValidation},
		"thousandths of a euro":  {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "12.999", CurrencyCode: "EUR"}, query.CodeValidation},
		"digits of no currency":  {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "12.99999"}, query.CodeValidation},
		"more than any amount":   {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "99999999999999999999"}, query.CodeValidation},
		"no currency":            {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "1", CurrencyCode: "eur"}, query.CodeValidation},
		"no country":             {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "1", Country: "Germany"}, query.CodeValidation},
		"no right to results":    {15, query.PositionRequest{ItemID: 3, CandidatePrice: "1"}, query.CodeForbidden},
		"no such account":        {999, query.PositionRequest{ItemID: 3, CandidatePrice: "1"}, query.CodeTokenInvalid},
	} {
		_, err := w.position(c.account, c.r)
		if code := refusal(err).Code; code != c.code || (err == nil) != (c.code == "") {
			t.Errorf("%s: %v, want code %q", name, err, c.code)
		}
	}
	// As a latestObservationPerPair read over 168 hours (RES-09a).
	for hours, code := range map[int]string{167: query.CodeScopeTooBroad, 168: ""} {
		guarded := w.over(w.store, func(c *query.Config) { c.ScanGuardMaxHours = hours })
		_, err := guarded.MarketPosition(t.Context(), query.Principal{Account: accountWhole}, query.PositionRequest{ItemID: 3, CandidatePrice: "1"})
		if (err == nil) != (code == "") || refusal(err).Code != code {
			t.Errorf("a guard of %d hours: %v", hours, err)
		}
	}
}
