package wire

import (
	"context"

	"preismon/query"
)

// Windows shows which parts of a period have which rows.
func Windows(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	req := query.WindowsRequest{Rows: results(in, func(p query.Parameter) bool { return p.Fed && p.Kind != query.IncludeParameter }), Bucket: in.text("bucket")}
	req.Since, _ = in.raw("since", maxCursorBytes)
	if err := in.Err(); err != nil {
		return nil, err
	}
	page, err := s.Windows(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return recordsOf(page.Data, query.Paging{}, page.Query)
}
