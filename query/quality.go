package query

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"preismon/contracts"
)

// Reason is the latest known state of a pair of an order: the public
// enumeration OrderObservationReasonCode.
type Reason uint8

const (
	ReasonPriceObserved Reason = iota
	ReasonProductUnavailable
	ReasonProductNotFound // a regular answer of the market, not a failure (QUAL-05)
	ReasonAccessRestricted
	ReasonSiteUnavailable
	ReasonPending // not yet due
	ReasonOverdue // due, not processed
	ReasonUnknown
	reasonEnd
)

var reasonNames = [reasonEnd]string{
	"PRICE_OBSERVED", "PRODUCT_UNAVAILABLE", "PRODUCT_NOT_FOUND", "ACCESS_TEMPORARILY_RESTRICTED", "SITE_TEMPORARILY_UNAVAILABLE",
	"PENDING", "OVERDUE", "UNKNOWN",
}

func (r Reason) String() string { return reasonNames[r] }

// parseReason parses a reason's name.
func parseReason(name string) (Reason, bool) {
	i := slices.Index(reasonNames[:], name)
	return Reason(max(i, 0)), i >= 0
}

// outcomeReasons maps the outcome of a current capture to the reason of its
// pair.
var outcomeReasons = map[contracts.Outcome]Reason{
	contracts.OutcomeUnknown:   ReasonUnknown,
	contracts.PriceObserved:    ReasonPriceObserved,
	contracts.Unavailable:      ReasonProductUnavailable,
	contracts.ProductNotFound:  ReasonProductNotFound,
	contracts.AccessRestricted: ReasonAccessRestricted,
	contracts.SiteUnavailable:  ReasonSiteUnavailable,
}

// OrderPair is a visible pair with its newest capture and those of the
// requested orders that contain it. CapturedAt is zero for a pair that was
// never captured.
type OrderPair struct {
	contracts.Pair
	Orders     []contracts.OrderID
	CapturedAt time.Time
	Outcome    contracts.Outcome
}

// OrderPairsQuery is a query to the store: pairs of orders after a pair.
type OrderPairsQuery struct {
	Orders []contracts.OrderID
	Site   contracts.SiteKey // "": any
	After  contracts.Pair
	Limit  int
}

// Quality is the state of one pair of an order now.
type Quality struct {
	contracts.Pair
	Reason                 Reason
	ConfiguredObservations int
	ExpectedProcessedByNow int
	SourceCountsConsistent bool
	LastCapturedAt         time.Time // zero: never
	NextDueAt              time.Time // of the capture after that, possibly in the past; zero: not known
}

// QualitySummary counts the pairs of an order by reason.
type QualitySummary struct {
	Pairs                  [reasonEnd]int
	SourceCountsConsistent bool
}

// Health describes whether an order's pairs are observed as they should be.
type Health string

const (
	HealthOK       Health = "OK"
	HealthDegraded Health = "DEGRADED"
	HealthUnknown  Health = "UNKNOWN"
)

// Configured is the number of the order's pairs.
func (q *QualitySummary) Configured() (n int) {
	for _, c := range q.Pairs {
		n += c
	}
	return n
}

// Observed is the number of pairs for which the market gave an answer: a price,
// or that there is none.
func (q *QualitySummary) Observed() int {
	return q.Pairs[ReasonPriceObserved] + q.Pairs[ReasonProductUnavailable] + q.Pairs[ReasonProductNotFound]
}

// OrderCoverage is how many of an order's pairs were observed.
type OrderCoverage struct {
	ConfiguredPairs int          `json:"configuredPairs"`
	ObservedPairs   int          `json:"observedPairs"`
	Ratio           *json.Number `json:"ratio"` // null where nothing is configured
}

// Coverage is that of the order.
func (q *QualitySummary) Coverage() OrderCoverage {
	c := OrderCoverage{ConfiguredPairs: q.Configured(), ObservedPairs: q.Observed()}
	if c.ConfiguredPairs > 0 {
		ratio := math.Round(float64(c.ObservedPairs)/float64(c.ConfiguredPairs)*1e4) / 1e4
		c.Ratio = new(json.Number(strconv.FormatFloat(ratio, 'f', -1, 64)))
	}
	return c
}

// QualityCounts counts pairs by reason code, the codes in camel case.
type QualityCounts struct {
	SiteReasons
	SourceCountsConsistent bool `json:"sourceCountsConsistent"`
}

// Counts are those of the summary.
func (q *QualitySummary) Counts() QualityCounts {
	return QualityCounts{reasonsOf(q.Pairs), q.SourceCountsConsistent}
}

// Health is degraded when more than one of ten pairs that are due fail, or when
// the source contradicts itself; unknown when no pair can be judged.
func (q *QualitySummary) Health() Health {
	failed := q.Pairs[ReasonAccessRestricted] + q.Pairs[ReasonSiteUnavailable] + q.Pairs[ReasonOverdue]
	judged := q.Observed() + failed
	switch {
	case judged == 0:
		return HealthUnknown
	case failed*10 > judged || !q.SourceCountsConsistent:
		return HealthDegraded
	}
	return HealthOK
}

// summarize counts the pairs of each order.
func (s *Service) summarize(ctx context.Context, v Visibility, orders []Order, pairs []OrderPair) error {
	judges, err := s.judges(ctx, v, orders, pairs)
	if err != nil {
		return err
	}
	beginSummaries(orders)
	for _, p := range pairs {
		countPair(orders, judges, p)
	}
	return nil
}

// beginSummaries sets an empty summary for each order.
func beginSummaries(orders []Order) {
	for i := range orders {
		orders[i].Quality = &QualitySummary{SourceCountsConsistent: true}
	}
}

// countPair counts a pair in the summary of each of its orders. Orders are
// sorted by id.
func countPair(orders []Order, judges []*judge, p OrderPair) {
	for _, id := range p.Orders {
		i, ok := slices.BinarySearchFunc(orders, id, func(o Order, id contracts.OrderID) int { return cmp.Compare(o.OrderID, id) })
		if !ok {
			continue
		}
		q, sum := judges[i].judge(p), orders[i].Quality
		sum.Pairs[q.Reason]++
		sum.SourceCountsConsistent = sum.SourceCountsConsistent && q.SourceCountsConsistent
	}
}

// judge decides the state of the pairs of one order.
type judge struct {
	now       time.Time
	createdAt time.Time
	every     time.Duration          // between two runs; 0: no schedule
	planned   contracts.SiteCounters // by the schedule, where the source does not count
	today     bool                   // the record is of the current day
	counters  map[contracts.SiteKey]siteCounts
	legacy    bool
	members   map[contracts.ItemID]contracts.Membership
}

type siteCounts struct {
	contracts.SiteCounters
	consistent bool
}

const day = 24 * time.Hour

func newJudge(o *contracts.Order, now time.Time) *judge {
	j := &judge{now: now, createdAt: o.CreatedAt, today: true, counters: map[contracts.SiteKey]siteCounts{}, legacy: o.Legacy}
	if o.Schedule != nil {
		const most = 10 * 366 * day // far below the limit of a Duration
		j.every = time.Duration(min(o.Schedule.IntervalMinutes, int(most/time.Minute))) * time.Minute
		j.planned = j.plan()
		j.today = o.Schedule.LastRunAt == nil || !o.Schedule.LastRunAt.Before(now.Truncate(day))
	}
	for _, c := range o.Counters {
		first, twice := j.counters[c.Site]
		if twice { // the source counts one site in two ways
			first.consistent = first.consistent && first.SiteCounters == c
			j.counters[c.Site] = first
			continue
		}
		j.counters[c.Site] = siteCounts{c, c.Consistent()}
	}
	return j
}

// plan derives counts from the schedule alone: the runs of a day, at least one,
// and those that were due since the day began (UTC), or since the order did. If
// runs are a day or more apart, one is due after an interval has passed.
func (j *judge) plan() (c contracts.SiteCounters) {
	if j.every <= 0 {
		return c
	}
	since := j.now.Sub(j.now.Truncate(day))
	if j.every >= day {
		since = j.every
	}
	c.ConfiguredObservations = max(1, int(day/j.every))
	c.ExpectedProcessedByNow = max(0, min(c.ConfiguredObservations, int(min(since, j.now.Sub(j.createdAt))/j.every)))
	return c
}

// judge returns the state of a pair. The counts are the source's own, or those
// of the schedule where the source does not count: captures do not change them,
// so neither do retries of a crawler (QUAL-02c).
func (j *judge) judge(p OrderPair) Quality {
	c, counted := j.counters[p.Site]
	if !counted {
		c.SiteCounters = j.planned
	}
	q := Quality{
		Pair: p.Pair, Reason: j.reason(p, c, counted),
		ConfiguredObservations: c.ConfiguredObservations, ExpectedProcessedByNow: c.ExpectedProcessedByNow,
		SourceCountsConsistent: c.consistent || !counted, LastCapturedAt: p.CapturedAt,
	}
	if every := j.dueAfter(p); every > 0 && !p.CapturedAt.IsZero() {
		q.NextDueAt = p.CapturedAt.Add(every)
	}
	return q
}

func (j *judge) reason(p OrderPair, c siteCounts, counted bool) Reason {
	if j.legacy && !j.members[p.Item].Holds(p.Site) {
		return ReasonUnknown // QUAL-04
	}
	since := j.since(c, counted)
	switch {
	case !p.CapturedAt.IsZero() && !p.CapturedAt.Before(since):
		return outcomeReasons[p.Outcome]
	case c.ExpectedProcessedByNow > 0: // choices 65
		return ReasonOverdue
	case counted || j.every > 0:
		return ReasonPending
	}
	return ReasonUnknown // nothing shows when the pair would be due
}

// since is the earliest capture time that shows the current state; zero: any
// capture does. If the source reports that something was due today (UTC), it is
// the start of today. Otherwise a capture may be one day old, because sites
// have quiet hours, plus one interval: that of the counters, or of the schedule
// where the source does not count.
func (j *judge) since(c siteCounts, counted bool) time.Time {
	every := j.spacing(c, counted)
	switch {
	case counted && c.ExpectedProcessedByNow > 0 && j.today:
		return j.now.Truncate(day)
	case every > 0:
		return j.now.Add(-day - every)
	}
	return time.Time{}
}

// spacing is the time between two captures: by the counters, or by the schedule
// where the source does not count; 0: not known.
func (j *judge) spacing(c siteCounts, counted bool) time.Duration {
	if counted && c.ConfiguredObservations > 0 {
		return day / time.Duration(c.ConfiguredObservations)
	}
	return j.every
}

// interval is the spacing of a pair.
func (j *judge) interval(p contracts.Pair) time.Duration {
	if j.legacy && !j.members[p.Item].Holds(p.Site) {
		return 0 // QUAL-04
	}
	c, counted := j.counters[p.Site]
	return j.spacing(c, counted)
}

// dueAfter is how long after its newest capture the next one of a pair is due;
// 0: not known.
func (j *judge) dueAfter(p OrderPair) time.Duration {
	return dueAfter(j.interval(p.Pair), p.Outcome == contracts.ProductNotFound)
}

// dueAfter is how long after a capture the next one of the pair is due: its
// interval, but at least a day after one that did not find the product, because
// sources look for missing products once a day.
func dueAfter(interval time.Duration, notFound bool) time.Duration {
	if interval > 0 && notFound {
		return max(interval, day)
	}
	return interval
}

// judges returns the judge of each order. Memberships are read only for the
// items of the pairs, and only for legacy orders.
func (s *Service) judges(ctx context.Context, v Visibility, orders []Order, pairs []OrderPair) ([]*judge, error) {
	judges := make([]*judge, len(orders))
	var legacy []contracts.OrderID
	now := s.now().UTC()
	for i := range orders {
		judges[i] = newJudge(&orders[i].Order, now)
		if orders[i].Legacy {
			legacy = append(legacy, orders[i].OrderID)
		}
	}
	if len(legacy) == 0 || len(pairs) == 0 {
		return judges, nil
	}
	var items []contracts.ItemID
	for i, p := range pairs {
		if i == 0 || pairs[i-1].Item != p.Item {
			items = append(items, p.Item)
		}
	}
	members, err := s.store.Memberships(ctx, v, legacy, items)
	if err != nil {
		return nil, err
	}
	for i := range orders {
		judges[i].members = members[orders[i].OrderID]
	}
	return judges, nil
}
