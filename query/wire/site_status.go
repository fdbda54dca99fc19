package wire

import (
	"context"

	"preismon/contracts"
	"preismon/query"
)

// SiteStatus shows how fresh sites are.
func SiteStatus(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	req := query.SiteStatusRequest{OrderID: id[contracts.OrderID](in, "orderId"), Site: in.site(), Timezone: in.text("timezone")}
	if err := in.Err(); err != nil {
		return nil, err
	}
	page, err := s.SiteStatus(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return recordsOf(page.Data, query.Paging{}, page.Query)
}
