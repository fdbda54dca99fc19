package wire

import (
	"cmp"
	"context"

	"preismon/contracts"
	"preismon/query"
)

// DecodePosition reads the parameters of a market position.
func DecodePosition(in *Params) (query.PositionRequest, error) {
	req := query.PositionRequest{
		ItemID: id[contracts.ItemID](in, "itemId"), PZN: in.text("pzn"), EAN: in.text("ean"), ASINLocale: in.text("asinLocale"),
		ASIN:           in.text("asin"),
		CandidatePrice: in.text("candidatePrice"), CurrencyCode: contracts.Currency(in.text("currencyCode")), Country: in.text("country"),
		IncludeCustomerReference: in.flag("includeCustomerReference"),
	}
	err := in.Err()
	if err == nil {
		return req, nil
	}
	if in.faulty("candidatePrice") || in.unknown() {
		req.CandidatePrice = cmp.Or(req.CandidatePrice, "1")
	}
	if in.unknown() && req.ItemID == 0 && req.PZN+req.EAN+req.ASINLocale+req.ASIN == "" {
		req.ItemID = 1 // an unknown parameter may be meant to name one
	}
	return req, in.named(req.Faults(err))
}

// MarketPosition shows where a price stands among the current offers of a
// product. It returns a *query.MarketPosition.
func MarketPosition(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
	req, err := DecodePosition(in)
	if err != nil {
		return nil, err
	}
	return s.MarketPosition(ctx, p, req)
}
