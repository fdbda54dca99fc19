package wire

import (
	"cmp"
	"context"

	"preismon/query"
)

// Movers lists what moved between two instants; without selectors, in all that
// the caller sees.
func Movers(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	req := movers(in)
	req.GlobalScope = req.Everything()
	if err := allOf(in, &req); err != nil {
		return nil, err
	}
	page, err := s.Movers(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return recordsOf(page.Data, page.Paging, page.Query)
}

// DecodeChanges reads the arguments of the tool that lists movers; if the
// caller means all that it sees, it must set globalScope.
func DecodeChanges(in *Params) (query.MoversRequest, error) {
	req := movers(in)
	req.GlobalScope = in.flag("globalScope")
	err := allOf(in, &req)
	return req, err
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

// allOf returns all faults of a request for movers.
func allOf(in *Params, req *query.MoversRequest) error {
	err := in.Err()
	if err == nil {
		return nil
	}
	if in.faulty("globalScope") || in.unknown() {
		req.GlobalScope = false
		req.Site = cmp.Or(req.Site, standInSite)
	}
	if in.faulty("since") || in.unknown() {
		req.Since = cmp.Or(req.Since, "2000-01-01")
	}
	return in.named(req.Faults(err))
}
