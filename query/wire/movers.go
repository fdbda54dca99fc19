package wire

import (
	"context"

	"preismon/query"
)

// Movers tells what moved between two instants; without selectors, at all that
// the caller sees.
func Movers(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	req := movers(in)
	if err := in.Err(); err != nil {
		return nil, err
	}
	req.GlobalScope = req.Everything()
	page, err := s.Movers(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return recordsOf(page.Data, page.Paging, page.Query)
}

// DecodeChanges takes the arguments of the tool that asks for movers, which
// says so where it means all that the caller sees.
func DecodeChanges(in *Params) (query.MoversRequest, error) {
	req := movers(in)
	req.GlobalScope = in.flag("globalScope")
	return req, in.Err()
}

// Changes lists movers for that tool.
func Changes(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
	req, err := DecodeChanges(in)
	if err != nil {
		return nil, err
	}
	return s.Movers(ctx, p, req)
}

func movers(in *Params) query.MoversRequest {
	rows := Selected(in)
	rows.Brand, rows.Timezone = in.text("brand"), in.text("timezone")
	return query.MoversRequest{
		ResultsRequest: rows, Since: in.text("since"), Until: in.text("until"), Kind: query.MoverKind(in.text("kind")), OwnMerchant: in.text("ownMerchant"),
	}
}
