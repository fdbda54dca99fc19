package mcp_test

import (
	"fmt"
	"time"

	"preismon/contracts"
)

// reasonOf are the reasons of a fresh capture.
var reasonOf = map[contracts.Outcome]string{
	contracts.PriceObserved: "PRICE_OBSERVED", contracts.Unavailable: "PRODUCT_UNAVAILABLE", contracts.ProductNotFound: "PRODUCT_NOT_FOUND",
	contracts.AccessRestricted: "ACCESS_TEMPORARILY_RESTRICTED", contracts.SiteUnavailable: "SITE_TEMPORARILY_UNAVAILABLE",
	contracts.OutcomeUnknown: "UNKNOWN",
}

// questionsOfQuality are about missing results.
func questionsOfQuality() []question {
	return []question{
		{
			name: "reasons_by_site", asks: "At each site of the core order: how many products have a price, and how many have none for which reason?",
			holds: cost{2, 1_160},
			ask: func(a *analyst) any {
				answer, _ := a.call("list_order_observation_quality", object{"orderId": a.order(askedOrder), "limit": 1})
				n := map[string]map[string]string{}
				for _, s := range list(answer, "summary", "sites") {
					site := fmt.Sprint(at(s, "site"))
					n[site] = map[string]string{}
					for code, count := range at(s, "reasons").(object) {
						n[site][code] = fmt.Sprint(count)
					}
				}
				return n
			},
			truth: func(d *demo) any {
				n, count := map[string]map[string]string{}, map[string]int{}
				for _, p := range d.pairsIn(askedOrder, "") {
					o, ok := d.newest(p, time.Time{}, d.now)
					if !ok {
						continue
					}
					site, code := string(p.Site), reasonOf[o.Outcome]
					if n[site] == nil {
						n[site] = map[string]string{}
					}
					count[site+code]++
					n[site][code] = fmt.Sprint(count[site+code])
				}
				return n
			},
		},
		{
			name: "why_no_price", asks: "How did the newest look for this EAN go at each site of the core order, and when is, or was, the next one due?",
			holds: cost{4, 1_373},
			ask: func(a *analyst) any {
				order := a.order(askedOrder)
				var all []object
				for _, item := range a.records("list_items", object{"ean": askedEAN}) { // two items have it
					all = append(all, a.records("list_order_observation_quality", object{"orderId": order, "itemId": item["itemId"]})...)
				}
				return lines(all, func(r object) string {
					return fmt.Sprint(r["site"], " ", r["reasonCode"], " ", r["nextDueAt"])
				})
			},
			truth: func(d *demo) any {
				var pairs []contracts.Pair
				for _, p := range d.pairsIn(askedOrder, "") {
					if d.items[p.Item].EAN == askedEAN {
						pairs = append(pairs, p)
					}
				}
				return d.said(pairs, func(p contracts.Pair, o contracts.Observation, _ *contracts.Offer) string {
					every := d.every(p.Site)
					if o.Outcome == contracts.ProductNotFound {
						every = max(every, 24*time.Hour)
					}
					due := o.CapturedAt.Add(every).UTC()
					return fmt.Sprint(p.Site, " ", reasonOf[o.Outcome], " ", due.Format("2006-01-02T15:04:05.000Z07:00"))
				})
			},
		},
	}
}

// every returns the time between two captures of the core order at a site: by
// the source's counters, otherwise by the schedule.
func (d *demo) every(site contracts.SiteKey) time.Duration {
	o := d.order(askedOrder)
	for _, c := range o.Counters {
		if c.Site == site && c.ConfiguredObservations > 0 {
			return 24 * time.Hour / time.Duration(c.ConfiguredObservations)
		}
	}
	return time.Duration(o.Schedule.IntervalMinutes) * time.Minute
}
