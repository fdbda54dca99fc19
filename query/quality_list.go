package query

import (
	"context"
	"slices"
	"strings"

	"preismon/contracts"
)

// QualityRequest asks for the state of the pairs of one order.
type QualityRequest struct {
	Limit      *int              `json:"-"`
	Cursor     string            `json:"-"`
	OrderID    contracts.OrderID `json:"orderId"`
	ItemID     contracts.ItemID  `json:"itemId,omitempty"`
	Site       contracts.SiteKey `json:"site,omitempty"`
	ReasonCode string            `json:"reasonCode,omitempty"`
}

// pairs are those of the request after a place.
func (r QualityRequest) pairs(after contracts.Pair) itemPairs {
	return itemPairs{OrderPairsQuery{Orders: []contracts.OrderID{r.OrderID}, Site: r.Site, After: after}, r.ItemID}
}

// itemPairs reads pairs of orders, of one item where that is not 0.
type itemPairs struct {
	OrderPairsQuery
	item contracts.ItemID
}

// next reads the pairs after After, and moves that behind them; more: there
// may be others.
func (q *itemPairs) next(ctx context.Context, from Store, v Visibility) (pairs []OrderPair, more bool, err error) {
	if q.item != 0 && q.After == (contracts.Pair{}) {
		q.After.Item = q.item // before each of its sites
	}
	pairs, err = from.OrderPairs(ctx, v, q.OrderPairsQuery)
	if err != nil {
		return nil, false, err
	}
	more = len(pairs) == q.Limit
	if end := slices.IndexFunc(pairs, func(p OrderPair) bool { return q.item != 0 && p.Item != q.item }); end >= 0 {
		pairs, more = pairs[:end], false
	}
	if len(pairs) > 0 {
		q.After = pairs[len(pairs)-1].Pair
	}
	return pairs, more, nil
}

// A search for pairs of one reason looks at so many at once.
const qualityBatch = 10_000

// ObservationQuality lists the visible pairs of an order that it configures
// now, by item and site, each with its state at the time of the read. An
// order that the caller does not see is a NotFound fault.
func (s *Service) ObservationQuality(ctx context.Context, p Principal, r QualityRequest) (*Page[Quality], error) {
	reason, known := parseReason(r.ReasonCode)
	var wrong error
	if r.ReasonCode != "" && !known {
		wrong = invalid("reasonCode: %q is none of %s.", r.ReasonCode, strings.Join(reasonNames[:], ", "))
	}
	wanted := func(q Quality) bool { return r.ReasonCode == "" || q.Reason == reason }
	var order contracts.Order
	return list(ctx, s, p, listing[Quality, contracts.Pair]{
		route: "observation-quality", area: contracts.ReadOrders, limit: r.Limit, cursor: r.Cursor, query: r, wrong: wrong,
		of: func(ctx context.Context, v Visibility) (err error) {
			order, err = s.readOrder(ctx, v, r.OrderID)
			return err
		},
		read: func(ctx context.Context, v Visibility, after contracts.Pair, limit int) ([]Quality, *contracts.Pair, error) {
			return s.qualityPage(ctx, v, order, r.pairs(after), limit, wanted)
		},
	})
}

// qualityPage judges pairs until the page and one entry more are found. After
// the soft deadline it ends with what it has and goes on with the next page.
func (s *Service) qualityPage(ctx context.Context, v Visibility, order contracts.Order, q itemPairs, limit int, wanted func(Quality) bool) ([]Quality, *contracts.Pair, error) {
	soft := s.now().Add(s.cfg.SoftDeadline)
	var found []Quality
	for q.Limit = limit + 1; ; q.Limit = qualityBatch {
		pairs, more, err := q.next(ctx, s.store, v)
		if err != nil {
			return nil, nil, err
		}
		judges, err := s.judges(ctx, v, []Order{{Order: order}}, pairs)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range pairs {
			state := judges[0].judge(p)
			if !wanted(state) {
				continue
			}
			if len(found) == limit {
				return found, &found[limit-1].Pair, nil
			}
			found = append(found, state)
		}
		if !more {
			return found, nil, nil
		}
		if !s.now().Before(soft) {
			return found, &q.After, nil
		}
	}
}
