package wire

import (
	"context"

	"preismon/contracts"
	"preismon/query"
)

// Evidence shows where the rows of a capture come from.
func Evidence(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	req := query.EvidenceRequest{
		ItemID: id[contracts.ItemID](in, "itemId"), Site: in.site(), CapturedAt: in.text("capturedAt"), Merchant: in.text("merchant"), Timezone: in.text("timezone"),
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	page, err := s.Evidence(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return recordsOf(page.Data, query.Paging{}, page.Query)
}
