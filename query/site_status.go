package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Bounds of the status of sites.
const (
	maxStatusPairs  = 100_000
	maxStatusOrders = 1_000
	statusBatch     = 10_000 // pairs that are judged at a time
	statusBatchSize = statusBatch * 200
)

// SiteStatusRequest requests how fresh the sites that the caller sees are.
type SiteStatusRequest struct {
	OrderID  contracts.OrderID // only the pairs of this one
	ItemID   contracts.ItemID  // only the pairs of this one
	Site     contracts.SiteKey // only this one
	Timezone string
}

// SiteStatusPage has all sites with pairs, by key.
type SiteStatusPage = Records[SiteStatus, SiteStatusEcho]

// SiteStatusEcho describes the moment of the answer, and what it covers.
type SiteStatusEcho struct {
	AsOf     string `json:"asOf"`
	Timezone string `json:"timezone"`
	Pairs    int    `json:"pairs"`
	Sites    int    `json:"sites"`
	// Reasons are those of all pairs.
	Reasons SiteReasons `json:"reasons"`
}

// SiteStatus is the current state of the pairs of a site; null: not known.
type SiteStatus struct {
	Site  contracts.SiteKey `json:"site"`
	Pairs int               `json:"pairs"`
	// NeverCaptured are those of Pairs without any capture.
	NeverCaptured int         `json:"neverCaptured"`
	Reasons       SiteReasons `json:"reasons"`
	// LastCapturedAt is the newest capture of any pair, OldestCapturedAt that of
	// the pair whose newest capture is the oldest.
	LastCapturedAt   *string `json:"lastCapturedAt" column:"instant"`
	OldestCapturedAt *string `json:"oldestCapturedAt" column:"instant"`
	// IntervalSeconds is the shortest interval of the pairs.
	IntervalSeconds *int64 `json:"intervalSeconds"`
	// NextDueAt is when the next capture of any pair is due. Late pairs are
	// those whose capture was due and did not arrive, the first of them since
	// LateSince.
	NextDueAt *string `json:"nextDueAt" column:"instant"`
	Late      int     `json:"late"`
	LateSince *string `json:"lateSince" column:"instant"`
}

// SiteReasons counts pairs by OrderObservationReasonCode.
type SiteReasons struct {
	PriceObserved               int `json:"priceObserved"`
	ProductUnavailable          int `json:"productUnavailable"`
	ProductNotFound             int `json:"productNotFound"`
	AccessTemporarilyRestricted int `json:"accessTemporarilyRestricted"`
	SiteTemporarilyUnavailable  int `json:"siteTemporarilyUnavailable"`
	Pending                     int `json:"pending"`
	Overdue                     int `json:"overdue"`
	Unknown                     int `json:"unknown"`
}

func reasonsOf(n [reasonEnd]int) SiteReasons {
	return SiteReasons{
		PriceObserved: n[ReasonPriceObserved], ProductUnavailable: n[ReasonProductUnavailable], ProductNotFound: n[ReasonProductNotFound],
		AccessTemporarilyRestricted: n[ReasonAccessRestricted], SiteTemporarilyUnavailable: n[ReasonSiteUnavailable],
		Pending: n[ReasonPending], Overdue: n[ReasonOverdue], Unknown: n[ReasonUnknown],
	}
}

// ByCode returns the counts by reason code, without those that are 0.
func (r SiteReasons) ByCode() map[string]int {
	all := map[string]int{}
	for _, of := range []struct {
		reason Reason
		n      int
	}{
		{ReasonPriceObserved, r.PriceObserved},
		{ReasonProductUnavailable, r.ProductUnavailable},
		{ReasonProductNotFound, r.ProductNotFound},
		{ReasonAccessRestricted, r.AccessTemporarilyRestricted},
		{ReasonSiteUnavailable, r.SiteTemporarilyUnavailable},
		{ReasonPending, r.Pending},
		{ReasonOverdue, r.Overdue},
		{ReasonUnknown, r.Unknown},
	} {
		if of.n > 0 {
			all[of.reason.String()] = of.n
		}
	}
	return all
}

// freshness accumulates the state of a site while its pairs are judged.
type freshness struct {
	pairs, never, late            int
	reasons                       [reasonEnd]int
	last, oldest, next, firstLate time.Time
	every                         time.Duration
}

// SiteStatus returns for each site how fresh it is and why pairs have no price.
// A pair of several orders is judged by the one with the shortest interval; if
// several have it, by the one with the lowest id. At most 100,000 pairs and
// 1,000 orders, otherwise an Invalid fault.
func (s *Service) SiteStatus(ctx context.Context, p Principal, r SiteStatusRequest) (page *SiteStatusPage, err error) {
	zone, err := contracts.LoadZone(cmp.Or(r.Timezone, "UTC"))
	if err != nil {
		return nil, invalid("timezone: %s.", err)
	}
	giveBack, err := s.Charge(ctx, pageBlocks+statusBatchSize)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	ctx, end := s.bounded(ctx, capturedBounds, &err)
	defer end()
	a, err := s.access(ctx, p, contracts.ReadOrders)
	if err != nil {
		return nil, err
	}
	now := s.now().UTC()
	page = &SiteStatusPage{Data: []SiteStatus{}, Query: SiteStatusEcho{AsOf: formatInstant(now.Truncate(contracts.Resolution), zone), Timezone: zone.String()}}
	if a.Visibility.Nothing() {
		return page, nil
	}
	orders, err := s.statusOrders(ctx, a.Visibility, r.OrderID)
	if err != nil {
		return nil, err
	}
	orders = slices.DeleteFunc(orders, func(o Order) bool { return !o.Active }) // they have no pairs
	if len(orders) == 0 {
		return page, nil
	}
	if err := s.statusPairs(ctx, a.Visibility, Selectors{Order: r.OrderID, Item: r.ItemID, Site: r.Site}, "orderId or site"); err != nil {
		return nil, err
	}
	sites, err := s.tallySites(ctx, a.Visibility, orders, r, now)
	if err != nil {
		return nil, err
	}
	page.Data = statusOf(sites, zone)
	var reasons [reasonEnd]int
	for _, site := range sites.sorted() {
		page.Query.Pairs += site.pairs
		for reason, n := range site.reasons {
			reasons[reason] += n
		}
	}
	page.Query.Sites, page.Query.Reasons = len(page.Data), reasonsOf(reasons)
	return page, nil
}

// statusOf returns the state of all sites, by key.
func statusOf(sites *bySite[freshness], zone *time.Location) []SiteStatus {
	all := []SiteStatus{}
	for site, of := range sites.sorted() {
		all = append(all, of.status(site, zone))
	}
	return all
}

// statusPairs refuses more pairs than a status may cover.
func (s *Service) statusPairs(ctx context.Context, v Visibility, of Selectors, restrict string) error {
	size, err := s.store.CountPairs(ctx, v, of)
	if err == nil && size.Pairs > maxStatusPairs {
		err = fault.New(fault.Invalid, CodeOrderCoverageTooBroad, "The orders span %d item-site pairs, more than %d. Narrow with %s.", size.Pairs, maxStatusPairs, restrict)
	}
	return err
}

// statusOrders reads the orders that the caller sees, or one of them, by id.
func (s *Service) statusOrders(ctx context.Context, v Visibility, only contracts.OrderID) ([]Order, error) {
	found, err := s.store.Orders(ctx, v, OrdersQuery{OrderID: only, Limit: maxStatusOrders + 1})
	if err != nil {
		return nil, err
	}
	if len(found) > maxStatusOrders {
		return nil, fault.New(fault.Invalid, CodeOrderCoverageTooBroad, "There are more than %d orders. Narrow with orderId.", maxStatusOrders)
	}
	orders := make([]Order, len(found))
	for i, o := range found {
		orders[i].Order = o
	}
	return orders, nil
}

// eachPair judges pairs of orders, batch by batch. The judges are in the order
// of the orders.
func (s *Service) eachPair(ctx context.Context, v Visibility, orders []Order, q itemPairs, each func(*OrderPair, []*judge)) error {
	for {
		pairs, more, err := q.next(ctx, s.store, v)
		if err != nil {
			return err
		}
		judges, err := s.judges(ctx, v, orders, pairs)
		if err != nil {
			return err
		}
		for i := range pairs {
			each(&pairs[i], judges)
		}
		if !more {
			return nil
		}
	}
}

// tallySites judges all pairs of the orders.
func (s *Service) tallySites(ctx context.Context, v Visibility, orders []Order, r SiteStatusRequest, now time.Time) (*bySite[freshness], error) {
	sites, at := &bySite[freshness]{}, map[contracts.OrderID]int{}
	q := itemPairs{OrderPairsQuery{Site: r.Site, Limit: statusBatch}, r.ItemID}
	for i, o := range orders {
		q.Orders = append(q.Orders, o.OrderID)
		at[o.OrderID] = i
	}
	var mine []*judge // of one pair
	err := s.eachPair(ctx, v, orders, q, func(p *OrderPair, judges []*judge) {
		mine = mine[:0]
		for _, id := range p.Orders {
			mine = append(mine, judges[at[id]])
		}
		of := ruling(p.Pair, mine)
		site, _ := sites.of(p.Site)
		state := of.judge(p)
		site.add(&state, now)
	})
	return sites, err
}

// ruling returns the judge of the order that a pair is judged by: of its orders
// the one with the shortest interval, and of several with it the one with the
// lowest id; nil: it has none. The judges are those of its orders, by id.
func ruling(p contracts.Pair, judges []*judge) (of *judge) {
	var every time.Duration
	for _, j := range judges {
		if one := j.interval(p); of == nil || one > 0 && (every == 0 || one < every) {
			of, every = j, one
		}
	}
	return of
}

// add counts a pair.
func (t *freshness) add(q *Quality, now time.Time) {
	t.pairs++
	t.reasons[q.Reason]++
	if every := q.dueAfter; every > 0 && (t.every == 0 || every < t.every) {
		t.every = every
	}
	if q.LastCapturedAt.IsZero() {
		t.never++
		return
	}
	if q.LastCapturedAt.After(t.last) {
		t.last = q.LastCapturedAt
	}
	t.oldest = earlier(t.oldest, q.LastCapturedAt)
	switch due := q.NextDueAt; {
	case due.IsZero():
	case due.After(now):
		t.next = earlier(t.next, due)
	default:
		t.late++
		t.firstLate = earlier(t.firstLate, due)
	}
}

// earlier returns the earlier of two instants; a may be zero: none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

func (t *freshness) status(site contracts.SiteKey, zone *time.Location) SiteStatus {
	status := SiteStatus{
		Site: site, Pairs: t.pairs, NeverCaptured: t.never, Late: t.late,
		LastCapturedAt: formatBound(t.last, zone), OldestCapturedAt: formatBound(t.oldest, zone),
		NextDueAt: formatBound(t.next, zone), LateSince: formatBound(t.firstLate, zone),
		Reasons: reasonsOf(t.reasons),
	}
	if t.every > 0 {
		status.IntervalSeconds = new(int64(t.every / time.Second))
	}
	return status
}
