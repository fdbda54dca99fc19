package wire

import (
	"context"

	"preismon/query"
)

// Overview lists what changed and what needs attention.
func Overview(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	req := query.OverviewRequest{Since: in.text("since"), Site: in.site(), OwnMerchant: in.text("ownMerchant"), Timezone: in.text("timezone")}
	if err := in.Err(); err != nil {
		return nil, err
	}
	o, err := s.Overview(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return recordsOf(o.Data, query.Paging{}, o.Query)
}
