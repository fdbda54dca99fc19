package wire

import (
	"context"

	"preismon/query"
)

// Statistics summarizes observations.
func Statistics(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	rows := Selected(in)
	rows.GlobalScope, rows.Brand = in.flag("globalScope"), in.text("brand")
	rows.CapturedFrom, rows.CapturedTo, rows.Timezone = in.text("capturedFrom"), in.text("capturedTo"), in.text("timezone")
	req := query.StatisticsRequest{
		ResultsRequest: rows, By: query.Grouping(in.text("by")), Bucket: in.text("bucket"),
		Trend: in.flag("includeTrend"), Standing: in.flag("includeStanding"),
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	page, err := s.Statistics(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return recordsOf(page.Data, page.Paging, page.Query)
}
