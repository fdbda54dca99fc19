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
var outcomeReasons = [...]Reason{
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

	dueAfter time.Duration // its newest capture; 0: not known
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
	for i := range pairs {
		countPair(orders, judges, &pairs[i])
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
func countPair(orders []Order, judges []*judge, p *OrderPair) {
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
	rules     bySite[siteRule]
	legacy    bool
	members   map[contracts.ItemID]contracts.Membership
}

type siteCounts struct {
	contracts.SiteCounters
	consistent bool
}

// siteRule is what a judge knows of a site.
type siteRule struct {
	siteCounts               // the source's own, or those of the schedule
	counted    bool          // the source counts
	since      time.Time     // an earlier capture shows nothing; zero: any shows the current state
	every      time.Duration // between two captures; 0: not known
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

// rule returns what is known of a site.
func (j *judge) rule(site contracts.SiteKey) *siteRule {
	r, made := j.rules.of(site)
	if !made {
		return r
	}
	if r.siteCounts, r.counted = j.counters[site]; !r.counted {
		r.siteCounts = siteCounts{j.planned, true}
	}
	r.every = j.every
	if r.counted && r.ConfiguredObservations > 0 {
		r.every = day / time.Duration(r.ConfiguredObservations)
	}
	r.since = j.since(r)
	return r
}

// since is the earliest capture time that shows the current state; zero: any
// capture does. If the source reports that something was due today (UTC), it is
// the start of today. Otherwise a capture may be one day old, because sites
// have quiet hours, plus one interval: that of the counters, or of the schedule
// where the source does not count.
func (j *judge) since(r *siteRule) time.Time {
	switch {
	case r.counted && r.ExpectedProcessedByNow > 0 && j.today:
		return j.now.Truncate(day)
	case r.every > 0:
		return j.now.Add(-day - r.every)
	}
	return time.Time{}
}

// judge returns the state of a pair. The counts are the source's own, or those
// of the schedule where the source does not count: captures do not change them,
// so neither do retries of a crawler (QUAL-02c).
func (j *judge) judge(p *OrderPair) Quality {
	r := j.rule(p.Site)
	q := Quality{
		Pair: p.Pair, Reason: ReasonUnknown,
		ConfiguredObservations: r.ConfiguredObservations, ExpectedProcessedByNow: r.ExpectedProcessedByNow,
		SourceCountsConsistent: r.consistent, LastCapturedAt: p.CapturedAt,
	}
	if !j.holds(p.Pair) {
		return q // QUAL-04
	}
	q.Reason = j.reason(p, r)
	q.dueAfter = dueAfter(r.every, p.Outcome == contracts.ProductNotFound)
	if q.dueAfter > 0 && !p.CapturedAt.IsZero() {
		q.NextDueAt = p.CapturedAt.Add(q.dueAfter)
	}
	return q
}

// holds reports whether an order of the old kind names the pair; any other
// holds its pairs.
func (j *judge) holds(p contracts.Pair) bool {
	return !j.legacy || j.members[p.Item].Holds(p.Site)
}

func (j *judge) reason(p *OrderPair, r *siteRule) Reason {
	switch {
	case !p.CapturedAt.IsZero() && !p.CapturedAt.Before(r.since):
		return outcomeReasons[p.Outcome]
	case r.ExpectedProcessedByNow > 0: // choices 65
		return ReasonOverdue
	case r.counted || j.every > 0:
		return ReasonPending
	}
	return ReasonUnknown // nothing shows when the pair would be due
}

// interval is the time between two captures of a pair: by the counters, or by
// the schedule where the source does not count; 0: not known.
func (j *judge) interval(p contracts.Pair) time.Duration {
	if !j.holds(p) {
		return 0 // QUAL-04
	}
	return j.rule(p.Site).every
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
