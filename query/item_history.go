package query

import (
	"context"
	"errors"

	"preismon/contracts"
)

// ItemHistoryRequest requests the summary of a product, and the rows of its
// window.
type ItemHistoryRequest struct {
	ItemSummaryRequest
	// OrderID and Merchant narrow only the rows.
	OrderID  contracts.OrderID
	Merchant string
	// ChangesToken is as in ResultsRequest.
	ChangesToken *string
}

// ItemHistory is the summary of a product, and the request for its rows.
type ItemHistory struct {
	*ItemSummary // nil where the read is explained
	rows         ResultsRequest
	seen         *sight
}

// ItemHistory reads the summary of a product. Stream reads its rows, in the
// same window and as of the same moment. Both are refused by the same rules as
// each of them alone.
func (s *Service) ItemHistory(ctx context.Context, p Principal, r ItemHistoryRequest) (*ItemHistory, error) {
	now := s.now().UTC().Truncate(contracts.Resolution)
	h := &ItemHistory{rows: r.rows(now), seen: &sight{service: s, caller: p}}
	h.rows.OrderID, h.rows.Merchant, h.rows.ChangesToken = r.OrderID, r.Merchant, r.ChangesToken
	h.rows.Sort, h.rows.Include = "asc", Include{ExportFields: true}
	if r.ChangesToken != nil && r.CapturedTo == "" {
		h.rows.CapturedTo = "" // the feed goes on
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	if _, err := s.plan(p, h.rows); err != nil {
		return nil, err
	}
	var err error // the rows are what is explained
	if h.ItemSummary, err = s.itemSummary(withoutExplanation(ctx), h.seen, r.ItemSummaryRequest, now); errors.Is(err, ErrExplained) {
		err = nil
	}
	noting(ctx).first = uint64(s.cfg.MaxResponseBytes) // the summary
	return h, err
}

// Stream reads the rows as StreamResults does, the oldest captures first, with
// the fields of exports.
func (h *ItemHistory) Stream(ctx context.Context, w ResultsStream) error {
	return h.seen.service.stream(ctx, h.seen, h.rows, w)
}
