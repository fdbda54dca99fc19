package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"preismon/contracts"

	"pgregory.net/rapid"
)

const orderEnded = contracts.OrderID(103) // of mandate one, not active: no pairs

// orderRow is an order as its table has it.
type orderRow struct {
	mandate    contracts.MandateID
	order      contracts.OrderID
	active     bool
	created    time.Time
	interval   uint32
	last, next *time.Time
	counters   []contracts.SiteCounters
	legacy     bool
	members    map[uint64]string
}

var orderVersion atomic.Uint64

func (w *world) writeOrders(orders ...orderRow) {
	w.t.Helper()
	version := orderVersion.Add(1)
	at := func(t *time.Time) string {
		if t == nil {
			return "NULL"
		}
		return fmt.Sprintf("fromUnixTimestamp64Milli(%d)", t.UnixMilli())
	}
	var rows []string
	for _, o := range orders {
		var counters, members []string
		for _, c := range o.counters {
			counters = append(counters, fmt.Sprintf("('%s', %d, %d, %d)", c.Site, c.ConfiguredObservations, c.ExpectedProcessedByNow, c.ProcessedObservations))
		}
		for item, text := range o.members {
			members = append(members, fmt.Sprintf("(%d, '%s')", item, text))
		}
		rows = append(rows, fmt.Sprintf("(%d, %d, 'alias %d', 'Order %d', %t, %s, %d, %s, %s, [%s], %t, [%s], %d)",
			o.mandate, o.order, o.order, o.order, o.active, at(&o.created), o.interval, at(o.last), at(o.next), strings.Join(counters, ", "), o.legacy, strings.Join(members, ", "), version))
	}
	w.exec("INSERT INTO orders (mandate, order_id, alias, name, active, created_at, interval_minutes, last_run_at, next_run_at, counters, legacy, memberships, version) VALUES " + strings.Join(rows, ", "))
}

// drawOrders draws each existing order, writes it and returns it.
func (w *world) drawOrders(rt *rapid.T) map[contracts.OrderID]orderRow {
	rows := map[contracts.OrderID]orderRow{}
	var all []orderRow
	for _, id := range []contracts.OrderID{orderA, orderB, orderEnded, orderC} {
		mandate := mandateOne
		if id == orderC {
			mandate = mandateTwo
		}
		rows[id] = drawOrder(rt, w.now, mandate, id)
		all = append(all, rows[id])
	}
	w.writeOrders(all...)
	return rows
}

var reasons = []string{
	"PRICE_OBSERVED", "PRODUCT_UNAVAILABLE", "PRODUCT_NOT_FOUND", "ACCESS_TEMPORARILY_RESTRICTED", "SITE_TEMPORARILY_UNAVAILABLE", "PENDING", "OVERDUE", "UNKNOWN",
}

// entry is a quality entry as it should be shown.
type entry struct {
	Item                 contracts.ItemID
	Site                 contracts.SiteKey
	Reason               string
	Configured, Expected int
	Consistent           bool
	Last                 string
}

// confirms reports whether an order certainly has a pair: in a legacy order,
// its membership must say so.
func (o orderRow) confirms(p contracts.Pair) bool {
	text := strings.ReplaceAll(o.members[uint64(p.Item)], " ", "")
	return !o.legacy || !strings.ContainsAny(text, ";{") && !strings.HasSuffix(text, ",") && slices.Contains(strings.Split(text, ","), string(p.Site))
}

// newest returns the newest row of a pair; nil: there is none.
func (w *world) newest(p contracts.Pair) (newest *obsRow) {
	for i, r := range w.rows {
		if r.pair() == p && (newest == nil || r.ms > newest.ms || r.ms == newest.ms && (r.seq > newest.seq || r.seq == newest.seq && r.capture > newest.capture)) {
			newest = &w.rows[i]
		}
	}
	return newest
}

// qualityOracle judges one pair of an order by looking at every row.
func (w *world) qualityOracle(o orderRow, p contracts.Pair) entry {
	e := entry{Item: p.Item, Site: p.Site, Consistent: true}
	counted := false
	for _, c := range o.counters {
		if c.Site != p.Site {
			continue
		}
		if !counted {
			e.Configured, e.Expected = c.ConfiguredObservations, c.ExpectedProcessedByNow
		}
		if c.ProcessedObservations > c.ExpectedProcessedByNow || c.ExpectedProcessedByNow > c.ConfiguredObservations || counted && (c.ConfiguredObservations != e.Configured || c.ExpectedProcessedByNow != e.Expected) {
			e.Consistent = false
		}
		counted = true
	}
	newest := w.newest(p)
	var seen time.Time
	if newest != nil {
		seen = time.UnixMilli(newest.ms)
		e.Last = seen.UTC().Format(time.RFC3339Nano)
	}
	minutes := float64(o.interval)
	if e.Configured > 0 {
		minutes = 24 * 60 / float64(e.Configured)
	}
	date := w.now.UTC().Format(time.DateOnly)
	stale := false
	if !counted && o.interval > 0 { // the schedule replaces the source's count
		e.Configured = max(1, 1440/int(o.interval))
		for due := w.now.Truncate(24 * time.Hour); e.Expected < e.Configured; e.Expected++ {
			if o.interval >= 1440 {
				due = w.now.Add(-time.Duration(o.interval) * time.Minute)
			}
			if due = due.Add(time.Duration(o.interval) * time.Minute); due.After(w.now) || w.now.Sub(o.created).Minutes() < float64(o.interval)*float64(e.Expected+1) {
				break
			}
		}
	}
	if counted && e.Expected > 0 && (o.interval == 0 || o.last == nil || o.last.UTC().Format(time.DateOnly) >= date) {
		stale = seen.UTC().Format(time.DateOnly) < date
	} else if minutes > 0 {
		stale = w.now.Sub(seen).Minutes() > 24*60+minutes
	}
	switch {
	case !o.confirms(p):
		e.Reason = "UNKNOWN"
	case (stale || newest == nil) && e.Expected > 0:
		e.Reason = "OVERDUE"
	case (stale || newest == nil) && (counted || o.interval > 0):
		e.Reason = "PENDING"
	case newest == nil:
		e.Reason = "UNKNOWN"
	default:
		e.Reason = map[contracts.Outcome]string{
			contracts.PriceObserved: "PRICE_OBSERVED", contracts.Unavailable: "PRODUCT_UNAVAILABLE", contracts.ProductNotFound: "PRODUCT_NOT_FOUND",
			contracts.AccessRestricted: "ACCESS_TEMPORARILY_RESTRICTED", contracts.SiteUnavailable: "SITE_TEMPORARILY_UNAVAILABLE", contracts.OutcomeUnknown: "UNKNOWN",
		}[newest.outcome]
	}
	return e
}

// pairsOf returns the pairs of an order that an account sees, in order.
func (w *world) pairsOf(a contracts.AccountID, id contracts.OrderID) (pairs []contracts.Pair) {
	for _, scope := range w.scopes {
		for p, orders := range scope {
			if slices.Contains(orders, id) && w.sees(a, p) && slices.Contains(w.visibleOrders(a, p), id) {
				pairs = append(pairs, p)
			}
		}
	}
	slices.SortFunc(pairs, contracts.Pair.Compare)
	return pairs
}

func (w *world) ordersOf(a contracts.AccountID) []contracts.OrderID {
	switch a {
	case accountOrder:
		return []contracts.OrderID{orderB}
	case accountNone:
		return nil
	case accountOther:
		return []contracts.OrderID{orderC}
	}
	return []contracts.OrderID{orderA, orderB, orderEnded}
}

func drawOrder(t *rapid.T, now time.Time, m contracts.MandateID, id contracts.OrderID) orderRow {
	label := func(s string) string { return fmt.Sprint(s, id) }
	ago := func(what string) *time.Time {
		hours := rapid.SampledFrom([]int{-1, 0, 2, 11, 13, 40}).Draw(t, label(what))
		if hours < 0 {
			return nil
		}
		return ptr(now.Add(-time.Duration(hours) * time.Hour))
	}
	o := orderRow{mandate: m, order: id, active: id != orderEnded}
	o.created = now.Add(-time.Duration(rapid.SampledFrom([]int{1, 1, 30, 2000}).Draw(t, label("created"))) * time.Hour)
	if o.interval = rapid.SampledFrom([]uint32{0, 15, 60, 1440, 1 << 31}).Draw(t, label("interval")); o.interval > 0 {
		o.last = ago("last")
		o.next = ptr(now.Add(time.Hour))
	}
	for _, s := range worldSites {
		for range rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(t, label("counters of "+s)) {
			n := func(what string) int { return rapid.SampledFrom([]int{0, 0, 1, 3, 24}).Draw(t, label(what+s)) }
			o.counters = append(o.counters, contracts.SiteCounters{
				Site: contracts.SiteKey(s), ConfiguredObservations: n("configured"), ExpectedProcessedByNow: n("expected"), ProcessedObservations: 0,
			})
		}
	}
	if o.legacy = rapid.IntRange(0, 3).Draw(t, label("legacy")) == 0; o.legacy {
		o.members = map[uint64]string{}
		for item := range uint64(6) {
			if text := rapid.SampledFrom([]string{"-", "", "alpha.example", "alpha.example, beta.example,gamma.example,market.example", "alpha.example;beta.example", "beta.example,"}).Draw(t, label("member")); text != "-" {
				o.members[item+1] = text
			}
		}
	}
	return o
}

// insertAges captures most pairs, the last time at one of several ages, and
// some of them earlier with other outcomes.
func (w *world) insertAges(r *rand.Rand) {
	var fresh []obsRow
	for item := range uint64(6) {
		for i, site := range worldSites {
			hours := []int{-1, 0, 1, 11, 13, 24, 25, 26, 49, 200}[r.IntN(10)]
			for again := range 2 {
				if hours < 0 {
					break
				}
				w.mark++
				row := obsRow{item: item + 1, site: site, epoch: epoch, seq: w.mark, outcome: contracts.Outcome((int(item) + i*2 + again) % 6), price: -1}
				row.ms = w.now.Add(-time.Duration(hours)*time.Hour - time.Duration(r.IntN(3))*time.Minute).UnixMilli()
				if row.outcome == contracts.PriceObserved {
					row.price = 100
				}
				fresh = append(fresh, row)
				hours += r.IntN(2) * 30
			}
		}
	}
	w.rows = append(w.rows, fresh...)
	w.write(fresh)
}
