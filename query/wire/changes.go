package wire

import (
	"context"

	"preismon/contracts"
	"preismon/query"
)

// DecodeChanges takes the parameters of a read of changes.
func DecodeChanges(in *Params) (query.ChangesRequest, error) {
	req := query.ChangesRequest{
		Limit: in.limit(), Cursor: in.cursor(), Since: in.text("since"),
		OrderID: id[contracts.OrderID](in, "orderId"), ItemID: id[contracts.ItemID](in, "itemId"),
		PZN: in.pzn(), EAN: in.ean(), ASINLocale: in.asinLocale(), ASIN: in.asin(), Site: in.site(),
		GlobalScope: in.flag("globalScope"), Timezone: in.text("timezone"),
	}
	return req, in.Err()
}

// Changes lists what changed at pairs since an instant.
func Changes(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
	req, err := DecodeChanges(in)
	if err != nil {
		return nil, err
	}
	return s.Changes(ctx, p, req)
}
