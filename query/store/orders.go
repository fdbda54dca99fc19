package store

import (
	"context"
	"time"

	"preismon/contracts"
	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

func ordersStatement(v query.Visibility, q query.OrdersQuery) statement {
	p, sc := visible(v, query.Selectors{})
	p.uint("order", uint64(q.OrderID))
	p.text("alias", q.Alias)
	p.uint("after", uint64(q.After))
	p.uint("limit", uint64(q.Limit))
	return render("orders.sql", sc, p)
}

type siteCounters struct {
	Site       string `ch:"site"`
	Configured uint32 `ch:"configured"`
	Expected   uint32 `ch:"expected"`
	Processed  uint32 `ch:"processed"`
}

// Orders implements query.Store.
func (s *Store) Orders(ctx context.Context, v query.Visibility, q query.OrdersQuery) ([]contracts.Order, error) {
	return rows(ctx, s, ordersStatement(v, q), func(r driver.Rows) (contracts.Order, error) {
		var (
			interval   uint32
			last, next *time.Time
			counters   []siteCounters
			o          = contracts.Order{MandateID: v.Mandate}
		)
		err := r.Scan((*uint64)(&o.OrderID), &o.Alias, &o.Name, &o.Active, &o.CreatedAt, &interval, &last, &next, &counters, &o.Legacy)
		if interval > 0 {
			o.Schedule = &contracts.Schedule{IntervalMinutes: int(interval), LastRunAt: last, NextRunAt: next}
		}
		for _, c := range counters {
			o.Counters = append(o.Counters, contracts.SiteCounters{
				Site: contracts.SiteKey(c.Site), ConfiguredObservations: int(c.Configured),
				ExpectedProcessedByNow: int(c.Expected), ProcessedObservations: int(c.Processed),
			})
		}
		return o, err
	})
}

// ofOrders binds a caller's visibility, narrowed to the pairs of some orders.
func ofOrders(v query.Visibility, orders []contracts.OrderID, site contracts.SiteKey) (params, scope) {
	p, sc := visible(v, query.Selectors{Site: site})
	sc.Orders = true
	uints(p, "wanted", orders)
	return p, sc
}

func orderScope(v query.Visibility, orders []contracts.OrderID, atMost int) statement {
	p, sc := ofOrders(v, orders, "")
	p.uint("at_most", uint64(atMost))
	return render("order_scope.sql", sc, p)
}

// OrderScope implements query.Store.
func (s *Store) OrderScope(ctx context.Context, v query.Visibility, orders []contracts.OrderID, atMost int) (size query.OrderScope, err error) {
	err = row(ctx, s, orderScope(v, orders, atMost), &size.References, &size.Candidates)
	return size, err
}

func orderSites(v query.Visibility, orders []contracts.OrderID, limit int) statement {
	p, sc := ofOrders(v, orders, "")
	p.uint("limit", uint64(limit))
	return render("order_sites.sql", sc, p)
}

// OrderSites implements query.Store.
func (s *Store) OrderSites(ctx context.Context, v query.Visibility, orders []contracts.OrderID, limit int) ([]query.OrderSite, error) {
	return rows(ctx, s, orderSites(v, orders, limit), into(func(o *query.OrderSite) []any {
		return []any{(*uint64)(&o.Order), (*string)(&o.Site)}
	}))
}

func orderPairs(n shards, v query.Visibility, q query.OrderPairsQuery) statement {
	p, sc := ofOrders(v, q.Orders, q.Site)
	sc.Shards = n
	p.uint("after_item", uint64(q.After.Item))
	p.text("after_site", string(q.After.Site))
	p.uint("limit", uint64(q.Limit))
	return render("order_pairs.sql", sc, p).of(ofRows)
}

// OrderPairs implements query.Store.
func (s *Store) OrderPairs(ctx context.Context, v query.Visibility, q query.OrderPairsQuery) ([]query.OrderPair, error) {
	return rows(ctx, s, orderPairs(s.shards, v, q), func(r driver.Rows) (p query.OrderPair, err error) {
		var captured time.Time
		var outcome uint8
		err = r.Scan((*uint64)(&p.Item), (*string)(&p.Site), (*ids[contracts.OrderID])(&p.Orders), &captured, &outcome)
		if captured.UnixMilli() != 0 { // no pair has a capture of 1970; the zero time stands for none
			p.CapturedAt, p.Outcome = captured, contracts.Outcome(outcome)
		}
		return p, err
	})
}

func memberships(v query.Visibility, orders []contracts.OrderID, items []contracts.ItemID) statement {
	p, sc := ofOrders(v, orders, "")
	uints(p, "items", items)
	return render("memberships.sql", sc, p)
}

// Memberships implements query.Store.
func (s *Store) Memberships(ctx context.Context, v query.Visibility, orders []contracts.OrderID, items []contracts.ItemID) (map[contracts.OrderID]map[contracts.ItemID]contracts.Membership, error) {
	all := map[contracts.OrderID]map[contracts.ItemID]contracts.Membership{}
	_, err := rows(ctx, s, memberships(v, orders, items), func(r driver.Rows) (none struct{}, err error) {
		var id contracts.OrderID
		var m contracts.Membership
		err = r.Scan((*uint64)(&id), (*uint64)(&m.ItemID), &m.Sites)
		if all[id] == nil {
			all[id] = map[contracts.ItemID]contracts.Membership{}
		}
		all[id][m.ItemID] = m
		return none, err
	})
	return all, err
}
