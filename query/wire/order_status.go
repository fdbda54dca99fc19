package wire

import (
	"context"

	"preismon/contracts"
	"preismon/query"
)

// OrderStatus shows how orders are doing.
func OrderStatus(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	req := query.OrderStatusRequest{OrderID: id[contracts.OrderID](in, "orderId"), Timezone: in.text("timezone")}
	if files := in.integer("files"); files != nil {
		req.Files = *files
	}
	if err := in.refused(req); err != nil {
		return nil, err
	}
	page, err := s.OrderStatus(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return recordsOf(page.Data, query.Paging{}, page.Query)
}
