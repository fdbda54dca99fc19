package query

import (
	"context"
	"slices"
	"strings"
	"time"

	"preismon/contracts"
)

// QualityRequest requests the state of the pairs of one order.
type QualityRequest struct {
	Limit      *int              `json:"-"`
	Cursor     string            `json:"-"`
	OrderID    contracts.OrderID `json:"orderId"`
	ItemID     contracts.ItemID  `json:"itemId,omitempty"`
	Site       contracts.SiteKey `json:"site,omitempty"`
	ReasonCode string            `json:"reasonCode,omitempty"`
}

// pairs returns the query for the request's pairs after a position.
func (r QualityRequest) pairs(after contracts.Pair) itemPairs {
	return itemPairs{OrderPairsQuery{Orders: []contracts.OrderID{r.OrderID}, Site: r.Site, After: after}, r.ItemID}
}

// itemPairs reads pairs of orders, only of one item if item is not 0.
type itemPairs struct {
	OrderPairsQuery
	item contracts.ItemID
}

// next reads the pairs after After, and moves After behind them; more: there
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

// A search for pairs of one reason examines so many at a time.
const qualityBatch = 10_000

// ObservationQuality lists the visible pairs that an order configures now, by
// item and site, each with its state at the time of the read. An order that the
// caller does not see is a NotFound fault.
func (s *Service) ObservationQuality(ctx context.Context, p Principal, r QualityRequest) (*Page[Quality], error) {
	return s.quality(ctx, p, r, nil)
}

// QualityBySite lists them too, and on the first page also returns the state of
// each site, by key, over all pairs of the order whatever their reason, from
// the same reads. Sites are nil on later pages, and if the pairs are more than
// 100,000, or too many for the soft deadline.
func (s *Service) QualityBySite(ctx context.Context, p Principal, r QualityRequest) (page *Page[Quality], sites []SiteStatus, err error) {
	if r.Cursor != "" {
		page, err = s.quality(ctx, p, r, nil)
		return page, nil, err
	}
	var all qualityCount
	if page, err = s.quality(ctx, p, r, &all); err != nil || !all.whole {
		return page, nil, err
	}
	return page, statusOf(&all.sites, time.UTC), nil
}

// qualityCount counts the pairs that a page is read from.
type qualityCount struct {
	sites bySite[freshness]
	whole bool // it covers all pairs
}

func (c *qualityCount) add(q *Quality, now time.Time) {
	of, _ := c.sites.of(q.Site)
	of.add(q, now)
}

// wrong returns what is wrong with the request apart from its limit; nil:
// nothing.
func (r QualityRequest) wrong() error {
	if _, known := parseReason(r.ReasonCode); r.ReasonCode != "" && !known {
		return invalid("reasonCode: %q is none of %s.", r.ReasonCode, strings.Join(reasonNames[:], ", "))
	}
	return nil
}

// quality reads a page; count, if not nil, counts all pairs.
func (s *Service) quality(ctx context.Context, p Principal, r QualityRequest, count *qualityCount) (*Page[Quality], error) {
	reason, _ := parseReason(r.ReasonCode)
	wanted := func(of Reason) bool { return r.ReasonCode == "" || of == reason }
	var order contracts.Order
	var room int64
	if count != nil {
		room = statusBatchSize
	}
	return list(ctx, s, p, listing[Quality, contracts.Pair]{
		route: "observation-quality", area: contracts.ReadOrders, limit: r.Limit, cursor: r.Cursor, query: r, wrong: r.wrong(), room: room,
		key: func(q Quality) contracts.Pair { return q.Pair },
		of: func(ctx context.Context, v Visibility) (err error) {
			order, err = s.readOrder(ctx, v, r.OrderID)
			return err
		},
		read: func(ctx context.Context, v Visibility, after contracts.Pair, limit int) ([]Quality, *contracts.Pair, error) {
			return s.qualityPage(ctx, v, order, r.pairs(after), limit, wanted, count)
		},
	})
}

// qualityPage judges pairs until it has found the page and one more entry, or
// all pairs if they are counted. After the soft deadline it ends with what it
// has, and the next page continues there.
func (s *Service) qualityPage(ctx context.Context, v Visibility, order contracts.Order, q itemPairs, limit int, wanted func(Reason) bool, count *qualityCount) ([]Quality, *contracts.Pair, error) {
	now := s.now().UTC()
	soft := now.Add(s.cfg.SoftDeadline)
	found := make([]Quality, 0, min(limit, DefaultLimit))
	full := false // and there is one more entry
	q.Limit = limit + 1
	if count != nil {
		q.Limit = qualityBatch
	}
	for ; ; q.Limit = qualityBatch {
		pairs, more, err := q.next(ctx, s.store, v)
		if err != nil {
			return nil, nil, err
		}
		judges, err := s.judges(ctx, v, []Order{{Order: order}}, pairs)
		if err != nil {
			return nil, nil, err
		}
		for i := range pairs {
			state := judges[0].judge(&pairs[i])
			if count != nil {
				count.add(&state, now)
			}
			switch {
			case full || !wanted(state.Reason):
			case len(found) < limit:
				found = append(found, state)
			case count == nil:
				return found, &found[limit-1].Pair, nil
			default:
				full = true
			}
		}
		if !more {
			if count != nil {
				count.whole = true
			}
			return found, nextOf(found, full, nil), nil
		}
		if count != nil {
			if countable, err := s.countable(ctx, v, q); err != nil {
				return nil, nil, err
			} else if !countable {
				count = nil
			}
		}
		if full && count == nil || !s.now().Before(soft) {
			return found, nextOf(found, full, &q.After), nil
		}
	}
}

// nextOf returns the pair after which the next page continues: the last entry
// of a full page, otherwise the position that the read reached.
func nextOf(found []Quality, full bool, at *contracts.Pair) *contracts.Pair {
	if full {
		return &found[len(found)-1].Pair
	}
	return at
}

// countable reports whether the pairs of a read are few enough to be counted.
func (s *Service) countable(ctx context.Context, v Visibility, q itemPairs) (bool, error) {
	size, err := s.store.CountPairs(ctx, v, Selectors{Order: q.Orders[0], Item: q.item, Site: q.Site})
	return size.Pairs <= maxStatusPairs, err
}
