package store_test

import (
	"maps"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// every returns how long after a capture of a pair the next one is due under an
// order; 0: unknown.
func (o orderRow) every(p contracts.Pair) time.Duration {
	const most = 10 * 366 * 24 * 60 // minutes, for absurd schedules
	i := slices.IndexFunc(o.counters, func(c contracts.SiteCounters) bool { return c.Site == p.Site })
	switch {
	case !o.confirms(p):
		return 0
	case i >= 0 && o.counters[i].ConfiguredObservations > 0:
		return 24 * time.Hour / time.Duration(o.counters[i].ConfiguredObservations)
	}
	return time.Duration(min(o.interval, most)) * time.Minute
}

// siteStatusOracle looks at every pair that an account sees in some orders.
func (w *world) siteStatusOracle(a contracts.AccountID, rows map[contracts.OrderID]orderRow, only contracts.OrderID, site contracts.SiteKey) (all map[contracts.SiteKey]query.SiteStatus, daily int) {
	type judged struct {
		entry
		every time.Duration
	}
	pairs := map[contracts.Pair]judged{}
	for _, id := range w.ordersOf(a) { // by id: of equals the first counts
		if !rows[id].active || only != 0 && id != only {
			continue
		}
		for _, p := range w.pairsOf(a, id) {
			every := rows[id].every(p)
			before, seen := pairs[p]
			if site != "" && p.Site != site || seen && (every == 0 || before.every > 0 && before.every <= every) {
				continue
			}
			pairs[p] = judged{w.qualityOracle(rows[id], p), every}
		}
	}
	all = map[contracts.SiteKey]query.SiteStatus{}
	earliest := func(at **string, t time.Time) {
		if text := t.UTC().Format("2006-01-02T15:04:05.000Z"); *at == nil || text < **at {
			*at = &text
		}
	}
	for p, j := range pairs {
		s := all[p.Site]
		s.Site, s.Pairs = p.Site, s.Pairs+1
		*[]*int{
			&s.Reasons.PriceObserved, &s.Reasons.ProductUnavailable, &s.Reasons.ProductNotFound, &s.Reasons.AccessTemporarilyRestricted,
			&s.Reasons.SiteTemporarilyUnavailable, &s.Reasons.Pending, &s.Reasons.Overdue, &s.Reasons.Unknown,
		}[slices.Index(reasons, j.Reason)]++
		if newest := w.newest(p); j.every > 0 && newest != nil && newest.outcome == contracts.ProductNotFound {
			j.every = max(j.every, 24*time.Hour)
			daily++
		}
		if seconds := int64(j.every / time.Second); seconds > 0 && (s.IntervalSeconds == nil || seconds < *s.IntervalSeconds) {
			s.IntervalSeconds = &seconds
		}
		if j.Last == "" {
			s.NeverCaptured++
			all[p.Site] = s
			continue
		}
		last := must.Get(time.Parse(time.RFC3339Nano, j.Last))(w.t)
		if text := last.Format("2006-01-02T15:04:05.000Z"); s.LastCapturedAt == nil || text > *s.LastCapturedAt {
			s.LastCapturedAt = &text
		}
		earliest(&s.OldestCapturedAt, last)
		switch due := last.Add(j.every); {
		case j.every == 0:
		case due.After(w.now):
			earliest(&s.NextDueAt, due)
		default:
			s.Late++
			earliest(&s.LateSince, due)
		}
		all[p.Site] = s
	}
	return all, daily
}

// checkSiteStatus compares the status of sites with a look at every row.
func (w *world) checkSiteStatus(rt *rapid.T, a contracts.AccountID, rows map[contracts.OrderID]orderRow, met map[string]int) {
	r := query.SiteStatusRequest{
		OrderID: rapid.SampledFrom([]contracts.OrderID{0, 0, 0, orderA, orderB, orderC}).Draw(rt, "order of the status"),
		Site:    contracts.SiteKey(rapid.SampledFrom([]string{"", "", "gamma.example", "none.example"}).Draw(rt, "site of the status")),
	}
	page := must.Get(w.service.SiteStatus(rt.Context(), query.Principal{Account: a}, r))(rt)
	want, daily := w.siteStatusOracle(a, rows, r.OrderID, r.Site)
	met["not found"] += daily
	got, pairs, reasons := map[contracts.SiteKey]query.SiteStatus{}, 0, map[string]int{}
	for i, s := range page.Data {
		got[s.Site] = s
		pairs += s.Pairs
		for code, n := range s.Reasons.ByCode() {
			reasons[code] += n
		}
		met["late"], met["never"] = met["late"]+s.Late, met["never"]+s.NeverCaptured
		if s.NextDueAt != nil {
			met["next"]++
		}
		if s.IntervalSeconds == nil {
			met["no interval"]++
		}
		if i > 0 && page.Data[i-1].Site >= s.Site {
			rt.Fatalf("%s comes after %s", s.Site, page.Data[i-1].Site)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || page.Query.Sites != len(want) || page.Query.Pairs != pairs || !maps.Equal(reasons, page.Query.Reasons.ByCode()) {
		rt.Fatalf("account %d, %+v of %+v, %+v (-want +got):\n%s", a, r, rows, page.Query, diff)
	}
}
