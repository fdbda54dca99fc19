package wire

import (
	"context"

	"preismon/contracts"
	"preismon/query"
)

// Positions shows where the caller stands with many products.
func Positions(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	page, err := positions(ctx, s, p, in, selectedPositions(in))
	if err != nil {
		return nil, err
	}
	return recordsOf(page.Data, page.Paging, page.Query)
}

func selectedPositions(in *Params) query.PositionsRequest {
	req := query.PositionsRequest{ResultsRequest: Selected(in), OwnSite: contracts.SiteKey(in.text("ownSite"))}
	req.Timezone, req.Offers = in.text("timezone"), in.text("offers")
	return req
}

// PricePositions returns the same for agents, with fewer arguments.
func PricePositions(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
	return positions(ctx, s, p, in, query.PositionsRequest{ResultsRequest: query.ResultsRequest{
		Limit: in.limit(), Cursor: in.cursor(), OrderID: id[contracts.OrderID](in, "orderId"), ItemID: id[contracts.ItemID](in, "itemId"), Site: in.site(),
	}, OwnSite: contracts.SiteKey(in.text("ownSite"))})
}

func positions(ctx context.Context, s *query.Service, p query.Principal, in *Params, req query.PositionsRequest) (*query.PositionsPage, error) {
	req.OwnMerchant, req.Amount = in.text("ownMerchant"), in.text("amount")
	if err := in.Err(); err != nil {
		return nil, in.named(req.Faults(err))
	}
	return s.Positions(ctx, p, req)
}
