package store

import (
	"context"
	"time"

	"preismon/contracts"
	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

func ordersStatement(v query.Visibility, q query.OrdersQuery) statement {
	p := params{}
	sc := visible(p, v, query.Selectors{})
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
			id         uint64
			interval   uint32
			last, next *time.Time
			counters   []siteCounters
			o          = contracts.Order{MandateID: v.Mandate}
		)
		err := r.Scan(&id, &o.Alias, &o.Name, &o.Active, &o.CreatedAt, &interval, &last, &next, &counters, &o.Legacy)
		o.OrderID = contracts.OrderID(id)
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
func ofOrders(p params, v query.Visibility, orders []contracts.OrderID, site contracts.SiteKey) scope {
	sc := visible(p, v, query.Selectors{Site: site})
	sc.Orders = true
	uints(p, "wanted", orders)
	return sc
}

func orderScope(v query.Visibility, orders []contracts.OrderID, atMost int) statement {
	p := params{}
	sc := ofOrders(p, v, orders, "")
	p.uint("at_most", uint64(atMost))
	return render("order_scope.sql", sc, p)
}

// OrderScope implements query.Store.
func (s *Store) OrderScope(ctx context.Context, v query.Visibility, orders []contracts.OrderID, atMost int) (size query.OrderScope, err error) {
	err = row(ctx, s, orderScope(v, orders, atMost), &size.References, &size.Candidates)
	return size, err
}

func orderSites(v query.Visibility, orders []contracts.OrderID, limit int) statement {
	p := params{}
	sc := ofOrders(p, v, orders, "")
	p.uint("limit", uint64(limit))
	return render("order_sites.sql", sc, p)
}

// OrderSites implements query.Store.
func (s *Store) OrderSites(ctx context.Context, v query.Visibility, orders []contracts.OrderID, limit int) ([]query.OrderSite, error) {
	return rows(ctx, s, orderSites(v, orders, limit), func(r driver.Rows) (o query.OrderSite, err error) {
		var id uint64
		err = r.Scan(&id, (*string)(&o.Site))
		o.Order = contracts.OrderID(id)
		return o, err
	})
}

func orderPairs(n shards, v query.Visibility, q query.OrderPairsQuery) statement {
	p := params{}
	sc := ofOrders(p, v, q.Orders, q.Site)
	sc.Shards = n
	p.uint("after_item", uint64(q.After.Item))
	p.text("after_site", string(q.After.Site))
	p.uint("limit", uint64(q.Limit))
	return render("order_pairs.sql", sc, p).of(ofRows)
}

// OrderPairs implements query.Store.
func (s *Store) OrderPairs(ctx context.Context, v query.Visibility, q query.OrderPairsQuery) ([]query.OrderPair, error) {
	return rows(ctx, s, orderPairs(s.shards, v, q), func(r driver.Rows) (query.OrderPair, error) {
		var (
			item     uint64
			orders   []uint64
			captured time.Time
			outcome  uint8
			p        query.OrderPair
		)
		err := r.Scan(&item, (*string)(&p.Site), &orders, &captured, &outcome)
		p.Item, p.Orders = contracts.ItemID(item), ids[contracts.OrderID](orders)
		if captured.UnixMilli() != 0 { // no pair has a capture of 1970; the zero time stands for none
			p.CapturedAt, p.Outcome = captured, contracts.Outcome(outcome)
		}
		return p, err
	})
}

func memberships(v query.Visibility, orders []contracts.OrderID, items []contracts.ItemID) statement {
	p := params{}
	sc := ofOrders(p, v, orders, "")
	uints(p, "items", items)
	return render("memberships.sql", sc, p)
}

// Memberships implements query.Store.
func (s *Store) Memberships(ctx context.Context, v query.Visibility, orders []contracts.OrderID, items []contracts.ItemID) (map[contracts.OrderID]map[contracts.ItemID]contracts.Membership, error) {
	all := map[contracts.OrderID]map[contracts.ItemID]contracts.Membership{}
	_, err := rows(ctx, s, memberships(v, orders, items), func(r driver.Rows) (none struct{}, err error) {
		var order, item uint64
		var m contracts.Membership
		err = r.Scan(&order, &item, &m.Sites)
		m.ItemID = contracts.ItemID(item)
		id := contracts.OrderID(order)
		if all[id] == nil {
			all[id] = map[contracts.ItemID]contracts.Membership{}
		}
		all[id][m.ItemID] = m
		return none, err
	})
	return all, err
}
