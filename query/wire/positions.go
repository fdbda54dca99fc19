package wire

import (
	"context"

	"preismon/contracts"
	"preismon/query"
)

// PositionFields are those of a record of positions.
var PositionFields = []string{"itemId", "country", "currencyCode", "ownPrice", "ownSite", "rank", "offers", "cheapest", "difference", "differencePercent", "oldestCapturedAt", "newestCapturedAt"}

// Positions tells where the caller stands with many products.
func Positions(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	rows := Selected(in)
	rows.Timezone = in.text("timezone")
	req := query.PositionsRequest{
		ResultsRequest: rows, OwnMerchant: in.text("ownMerchant"), Amount: in.text("amount"),
		OwnSite: contracts.SiteKey(in.form("ownSite", func(s string) bool { return contracts.SiteKey(s).Valid() }, "a site key")),
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	page, err := s.Positions(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return recordsOf(page.Data, page.Paging, page.Query, PositionFields...)
}
