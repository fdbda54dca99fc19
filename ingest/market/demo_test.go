package market_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/ingest/market"
)

// seen is what the demo shows at a time: its orders, and the newest capture of
// each pair that was published by then.
type seen struct {
	orders map[contracts.OrderID]*contracts.Order
	newest map[contracts.Pair]contracts.Observation
}

func (s *seen) capture(site contracts.SiteKey, o contracts.Observation) {
	p := contracts.Pair{Item: o.ItemID, Site: site}
	if old, ok := s.newest[p]; !ok || o.CapturedAt.After(old.CapturedAt) {
		o.Offers = nil
		s.newest[p] = o
	}
}

// reasons returns the reason for each pair of an order, as the contract defines
// it.
func (s *seen) reasons(o *contracts.Order, now time.Time) map[contracts.Pair]string {
	names := map[contracts.Outcome]string{
		contracts.PriceObserved: "PRICE_OBSERVED", contracts.Unavailable: "PRODUCT_UNAVAILABLE", contracts.ProductNotFound: "PRODUCT_NOT_FOUND",
		contracts.AccessRestricted: "ACCESS_TEMPORARILY_RESTRICTED", contracts.SiteUnavailable: "SITE_TEMPORARILY_UNAVAILABLE", contracts.OutcomeUnknown: "UNKNOWN",
	}
	members := map[contracts.ItemID]contracts.Membership{}
	for _, m := range o.Memberships {
		members[m.ItemID] = m
	}
	all := map[contracts.Pair]string{}
	for _, site := range o.Sites {
		var c *contracts.SiteCounters
		for i := range o.Counters {
			if o.Counters[i].Site == site {
				c = &o.Counters[i]
			}
		}
		for _, id := range o.Items {
			p := contracts.Pair{Item: id, Site: site}
			found, ok := s.newest[p]
			switch {
			case o.Legacy && !members[id].Holds(site):
				all[p] = "UNKNOWN"
			case c == nil:
				all[p] = "UNKNOWN"
			case ok && c.ExpectedProcessedByNow > 0 && !found.CapturedAt.Before(now.Truncate(24*time.Hour)),
				ok && c.ExpectedProcessedByNow == 0 && !found.CapturedAt.Before(now.Add(-24*time.Hour-24*time.Hour/time.Duration(c.ConfiguredObservations))):
				all[p] = names[found.Outcome]
			case c.ExpectedProcessedByNow > 0:
				all[p] = "OVERDUE"
			default:
				all[p] = "PENDING"
			}
		}
	}
	return all
}

func health(o *contracts.Order, reasons map[contracts.Pair]string) string {
	judged, failed := 0, 0
	for _, r := range reasons {
		switch r {
		case "OVERDUE", "ACCESS_TEMPORARILY_RESTRICTED", "SITE_TEMPORARILY_UNAVAILABLE":
			failed++
			judged++
		case "PENDING", "UNKNOWN":
		default:
			judged++
		}
	}
	consistent := true
	for _, c := range o.Counters {
		consistent = consistent && c.Consistent()
	}
	switch {
	case judged == 0:
		return "UNKNOWN"
	case failed*10 > judged || !consistent:
		return "DEGRADED"
	}
	return "OK"
}

// TestTenMinutesShowEverything starts the demo at various times of the day,
// also around midnight UTC, and watches it for ten minutes of its clock: every
// reason code, every outcome and every health appears, most orders are healthy,
// few pairs are not, and what must be temporary passes.
func TestTenMinutesShowEverything(t *testing.T) {
	day := time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC)
	for _, start := range []time.Duration{0, 4*time.Minute + 10*time.Second, 12*time.Hour + 9*time.Minute, 23*time.Hour + 55*time.Minute} {
		t.Run(start.String(), func(t *testing.T) {
			from := day.Add(start)
			m := newMarket(t, market.Config{Seed: 1, Now: from, Start: from.AddDate(0, 0, -2)})
			s := &seen{map[contracts.OrderID]*contracts.Order{}, map[contracts.Pair]contracts.Observation{}}
			take := func(from, to time.Time) {
				for e := range m.Observations(from, to) {
					b := e.Data.(*contracts.Observations)
					for _, o := range b.Observations {
						s.capture(b.Site, o)
					}
				}
			}
			orders := func(at time.Time) {
				for e := range m.Orders(at) {
					o := e.Data.(*contracts.Order)
					s.orders[o.OrderID] = o
				}
			}
			take(from.Add(-60*time.Hour), from)
			orders(from)
			reasons, healths, outcomes := map[string]int{}, map[string]int{}, map[contracts.Outcome]int{}
			look := func(at time.Time) (passing map[string]string) {
				passing = map[string]string{}
				for _, o := range s.orders {
					if !o.Active {
						continue
					}
					of := s.reasons(o, at)
					healths[health(o, of)]++
					for p, r := range of {
						reasons[r]++
						if f, ok := s.newest[p]; ok {
							outcomes[f.Outcome]++
						}
						switch r {
						case "OVERDUE", "PENDING", "ACCESS_TEMPORARILY_RESTRICTED", "SITE_TEMPORARILY_UNAVAILABLE":
							passing[fmt.Sprint(o.Alias, p)] = r
						}
					}
				}
				return passing
			}
			first := map[string]string{}
			for minute := range 11 {
				at := from.Add(time.Duration(minute) * time.Minute)
				if minute > 0 {
					take(at.Add(-time.Minute), at)
				}
				if tick := at.Truncate(15 * time.Minute); !tick.Before(at.Add(-time.Minute)) {
					orders(tick)
				}
				maps.Copy(first, look(at))
			}
			t.Log(reasons, healths, outcomes)
			for _, r := range []string{
				"PRICE_OBSERVED", "PRODUCT_UNAVAILABLE", "PRODUCT_NOT_FOUND", "ACCESS_TEMPORARILY_RESTRICTED", "SITE_TEMPORARILY_UNAVAILABLE", "PENDING", "OVERDUE", "UNKNOWN",
			} {
				if reasons[r] == 0 {
					t.Errorf("nothing is %s: %v", r, reasons)
				}
			}
			for _, o := range contracts.Outcomes() {
				if outcomes[o] == 0 {
					t.Errorf("no newest capture is %s: %v", o, outcomes)
				}
			}
			n := 0
			for _, k := range healths {
				n += k
			}
			if healths["OK"]*2 <= n || healths["DEGRADED"] == 0 || healths["UNKNOWN"] == 0 {
				t.Errorf("health: %v", healths)
			}
			total := 0
			for _, k := range reasons {
				total += k
			}
			if bad := reasons["OVERDUE"] + reasons["PENDING"]; bad*25 > total {
				t.Errorf("%d of %d entries are overdue or pending", bad, total)
			}
			// A day later all of this has passed.
			later := from.Add(26 * time.Hour)
			take(from.Add(10*time.Minute), later)
			orders(later)
			still := look(later)
			for p, r := range first {
				if still[p] == r {
					delete(first, p)
				}
			}
			if len(first) == 0 || len(still) == 0 {
				t.Error("nothing passed")
			}
			overdue := 0
			for _, r := range slices.Collect(maps.Values(still)) {
				if r == "OVERDUE" {
					overdue++
				}
			}
			if overdue > 120 {
				t.Errorf("%d pairs are overdue", overdue)
			}
		})
	}
}
