package query

import (
	"context"
	"errors"
	"slices"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// maxOrderCandidates bounds each enrichment of orders: active order-item
// references, unique item-site candidates and order-site candidates, each
// counted separately (ORD-01, ORD-02a, ORD-02b, LIM-05).
const maxOrderCandidates = 10_000

// OrdersRequest requests visible orders. The filters combine as an
// intersection.
type OrdersRequest struct {
	Limit   *int              `json:"-"`
	Cursor  string            `json:"-"`
	OrderID contracts.OrderID `json:"orderId,omitempty"`
	Alias   string            `json:"alias,omitempty"`

	IncludeMonitoring bool `json:"includeMonitoring,omitempty"`
	IncludeCoverage   bool `json:"includeCoverage,omitempty"`
}

// OrdersQuery is a query to the store: orders after an id.
type OrdersQuery struct {
	OrderID contracts.OrderID
	Alias   string
	After   contracts.OrderID
	Limit   int
}

// Order is an order as its caller sees it. Items, sites and memberships of
// the record stay empty: they may be many, and not all of them visible.
type Order struct {
	contracts.Order
	Monitored []contracts.SiteKey // visible sites of its pairs; with monitoring
	Quality   *QualitySummary     // with coverage
}

// OrderScope is how much the visible pairs of some orders span.
type OrderScope struct {
	References uint64 // order-item references
	Candidates uint64 // unique item-site candidates
}

// OrderSite is a site at which an order has a visible pair.
type OrderSite struct {
	Order contracts.OrderID
	Site  contracts.SiteKey
}

// Orders lists the visible orders by id.
func (s *Service) Orders(ctx context.Context, p Principal, r OrdersRequest) (*Page[Order], error) {
	read := ahead(
		func(o contracts.Order) contracts.OrderID { return o.OrderID },
		func(ctx context.Context, v Visibility, after contracts.OrderID, limit int) ([]contracts.Order, error) {
			return s.store.Orders(ctx, v, OrdersQuery{OrderID: r.OrderID, Alias: r.Alias, After: after, Limit: limit})
		})
	record := uint64(explainedOrder)
	if r.IncludeMonitoring || r.IncludeCoverage { // which its orders may have too much of
		record = 0
	}
	return list(ctx, s, p, listing[Order, contracts.OrderID]{
		route: "orders", area: contracts.ReadOrders, limit: r.Limit, cursor: r.Cursor, query: r,
		key: func(o Order) contracts.OrderID { return o.OrderID }, record: record,
		read: func(ctx context.Context, v Visibility, after contracts.OrderID, limit int) ([]Order, *contracts.OrderID, error) {
			found, next, err := read(ctx, v, after, limit)
			if err != nil {
				return nil, nil, err
			}
			orders := make([]Order, len(found))
			for i, o := range found {
				orders[i].Order = o
			}
			return orders, next, r.refused(s.enrichOrders(ctx, v, orders, r.IncludeMonitoring, r.IncludeCoverage))
		},
	})
}

// Order reads one visible order with everything that can be included. An
// order of another mandate, one outside the account's scope and one that does
// not exist are the same NotFound fault.
func (s *Service) Order(ctx context.Context, p Principal, id contracts.OrderID) (_ *Order, err error) {
	giveBack, err := s.chargeList(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	ctx, cancel := s.within(ctx)
	defer cancel()
	defer func() { err = s.listBudget(ctx, err, 1) }()
	a, err := s.access(ctx, p, contracts.ReadOrders)
	if err != nil {
		return nil, err
	}
	order, err := s.readOrder(ctx, a.Visibility, id)
	if err != nil {
		return nil, err
	}
	one := []Order{{Order: order}}
	if err := s.enrichOrders(ctx, a.Visibility, one, true, true); err != nil {
		return nil, tooBroadAlone(id, err)
	}
	return &one[0], nil
}

// readOrder finds an order that the caller sees.
func (s *Service) readOrder(ctx context.Context, v Visibility, id contracts.OrderID) (contracts.Order, error) {
	if id != 0 && !v.Empty() {
		found, err := s.store.Orders(ctx, v, OrdersQuery{OrderID: id, Limit: 1})
		if err != nil {
			return contracts.Order{}, err
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return contracts.Order{}, orderNotFound()
}

// orderNotFound returns the same fault whatever order was requested.
func orderNotFound() error {
	return fault.New(fault.NotFound, CodeOrderNotFound, "There is no such order that you may see.")
}

// enrichOrders adds what is requested to the orders. What that spans is counted
// before it is read, and only up to the limits, so that a refusal costs less
// than an answer.
func (s *Service) enrichOrders(ctx context.Context, v Visibility, orders []Order, monitoring, coverage bool) error {
	active := withPairs(v, orders)
	var pairs []OrderPair
	if coverage && len(active) > 0 {
		size, err := s.store.OrderScope(ctx, v, active, maxOrderCandidates+1)
		if err != nil {
			return err
		}
		if size.References > maxOrderCandidates {
			return orderCoverageTooBroad("active order-item references", "includeCoverage") // ORD-02a
		}
		if size.Candidates > maxOrderCandidates {
			return orderCoverageTooBroad("item-site candidates", "includeCoverage") // ORD-02b
		}
	}
	if monitoring {
		if err := s.addMonitoring(ctx, v, orders, active, maxOrderCandidates); err != nil {
			return err
		}
	}
	if !coverage {
		return nil
	}
	if len(active) > 0 {
		var err error
		if pairs, err = s.store.OrderPairs(ctx, v, OrderPairsQuery{Orders: active, Limit: maxOrderCandidates}); err != nil {
			return err
		}
	}
	return s.summarize(ctx, v, orders, pairs)
}

// withPairs returns the orders that may have visible pairs: active ones.
func withPairs(v Visibility, orders []Order) (active []contracts.OrderID) {
	for i := range orders {
		if orders[i].Active && !v.Nothing() {
			active = append(active, orders[i].OrderID)
		}
	}
	return active
}

// addMonitoring adds the sites of the active orders, and refuses more than most
// over all orders.
func (s *Service) addMonitoring(ctx context.Context, v Visibility, orders []Order, active []contracts.OrderID, most int) error {
	var sites []OrderSite
	if len(active) > 0 {
		var err error
		if sites, err = s.store.OrderSites(ctx, v, active, most+1); err != nil {
			return err
		}
	}
	if len(sites) > most {
		return orderCoverageTooBroad("order-site candidates", "includeMonitoring") // ORD-01
	}
	of := map[contracts.OrderID][]contracts.SiteKey{}
	for _, s := range sites {
		of[s.Order] = append(of[s.Order], s.Site)
	}
	for i := range orders {
		orders[i].Monitored = append([]contracts.SiteKey{}, of[orders[i].OrderID]...)
		slices.Sort(orders[i].Monitored)
	}
	return nil
}

// spanned is the reason why orders cannot be enriched: what they span, with
// which enrichment.
type spanned struct{ what, with string }

func (e *spanned) Error() string { return "too many " + e.what + " with " + e.with }

func orderCoverageTooBroad(what, with string) error { return &spanned{what, with} }

// refused advises how to request less than a request that was too broad
// (ORD-03a, ORD-03b), by nothing that the request already did.
func (r OrdersRequest) refused(err error) error {
	e, ok := errors.AsType[*spanned](err)
	if !ok {
		return err
	}
	advice := "Narrow with orderId or a lower limit on GET /v1/orders, or omit " + e.with + "."
	switch one := r.Limit != nil && *r.Limit == 1; {
	case r.OrderID != 0:
		advice = "Omit " + e.with + "."
	case one:
		advice = "Narrow with orderId on GET /v1/orders, or omit " + e.with + "."
	}
	return fault.New(fault.Invalid, CodeOrderCoverageTooBroad, "The orders of this page span more than %d %s. %s", maxOrderCandidates, e.what, advice)
}

// tooBroadAlone is refused for the path of one order, which includes
// everything.
func tooBroadAlone(id contracts.OrderID, err error) error {
	e, ok := errors.AsType[*spanned](err)
	if !ok {
		return err
	}
	return fault.New(fault.Invalid, CodeOrderCoverageTooBroad, "The order spans more than %d %s. GET /v1/orders?orderId=%s returns it alone.", maxOrderCandidates, e.what, id)
}

// orderFiles decides whether the caller may read which files an order has.
func (s *Service) orderFiles(ctx context.Context, p Principal, order contracts.OrderID) (Visibility, error) {
	a, err := s.access(ctx, p, contracts.ReadFiles)
	if err != nil {
		return Visibility{}, err
	}
	return a.Visibility, s.ofOrder(order)(ctx, a.Visibility)
}

// ofOrder returns the of function of a list that belongs to an order.
func (s *Service) ofOrder(order contracts.OrderID) func(context.Context, Visibility) error {
	return func(ctx context.Context, v Visibility) error {
		_, err := s.readOrder(ctx, v, order)
		return err
	}
}

// orderContent decides whether the caller may read what is in the files of an
// order that it sees. A file is one piece and may hold every item at every site
// of its order, so only callers that see all of them may read it (VIS-01b,
// VIS-05).
func (s *Service) orderContent(ctx context.Context, v Visibility, order contracts.OrderID) error {
	whole, err := s.store.SeesWholeOrder(ctx, v, order)
	if err == nil && !whole {
		return fault.New(fault.Forbidden, CodeForbidden,
			"A file may hold every item and every site of its order, and this account sees only some of them. The lists of files can be read.")
	}
	return err
}
