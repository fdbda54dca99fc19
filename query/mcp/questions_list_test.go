package mcp_test

import (
	"fmt"
	"slices"
	"time"

	"preismon/contracts"
)

// The subjects of the analyst's questions.
const (
	askedEAN   = "2900000000001"
	askedOrder = "Elektronik Kernsortiment"
	askedSite  = "Demo Markt Deutschland"
	askedShop  = "Demo Elektro Nord"
)

// questions are those of an analyst's week.
func questions() []question {
	return slices.Concat(questionsOfNow(), questionsOfChange(), questionsOfFiles(), questionsOfQuality())
}

// questionsOfNow are about current prices, and the orders.
func questionsOfNow() []question {
	return []question{
		{
			name: "buy_box_holder", asks: "Who holds the buy box for this EAN at Demo Markt Deutschland now, at which price?",
			beforeWrong: true, holds: cost{2, 1066},
			ask: func(a *analyst) any {
				rows := a.records("list_results", object{"ean": askedEAN, "site": a.site(askedSite), "latestPerPair": true, "includeExportFields": true})
				return lines(rows, func(r object) string {
					if r["isBuyBox"] != true {
						return ""
					}
					return fmt.Sprint(r["merchant"], " ", r["price"], " ", r["currencyCode"])
				})
			},
			truth: func(d *demo) any {
				return d.said(d.pairsOf(askedEAN, d.siteNamed(askedSite)), func(_ contracts.Pair, o contracts.Observation, f *contracts.Offer) string {
					if f == nil || f.IsBuyBox != contracts.FlagTrue {
						return ""
					}
					return f.Merchant + " " + amount(f) + " " + string(f.CurrencyCode)
				})
			},
		},
		{
			name: "cheapest_by_country", asks: "What is this EAN's lowest price in each country now, and who asks it?",
			holds: cost{1, 675},
			ask: func(a *analyst) any {
				answer, _ := a.call("get_market_price_position", object{"ean": askedEAN, "candidatePrice": "1"})
				var all []object
				for _, p := range list(answer, "positions") {
					all = append(all, p.(object))
				}
				return lines(all, func(p object) string {
					return fmt.Sprint(p["country"], " ", at(p, "best", "price"), " ", p["currencyCode"], " ", at(p, "best", "merchant"), " of ", p["offers"])
				})
			},
			truth: func(d *demo) any { return d.cheapestByCountry(askedEAN) },
		},
		{
			name: "our_rank", asks: "Where would 499.99 EUR stand in Germany for this EAN: how many are cheaper?",
			holds: cost{1, 347},
			ask: func(a *analyst) any {
				answer, _ := a.call("get_market_price_position", object{"ean": askedEAN, "candidatePrice": "499.99", "country": "DE"})
				return fmt.Sprint(at(answer, "positions", 0, "candidate", "cheaper"))
			},
			truth: func(d *demo) any {
				cheaper := 0
				for _, pair := range d.pairsOf(askedEAN, "") {
					for _, o := range d.current(pair) {
						if d.sites[pair.Site].CountryCode == "DE" && *o.Price < 49_999 {
							cheaper++
						}
					}
				}
				return fmt.Sprint(cheaper)
			},
		},
		{
			name: "orders", asks: "Which of our orders are active, at how many sites, how often?",
			holds: cost{1, 504},
			ask: func(a *analyst) any {
				return lines(a.records("list_orders", object{"includeMonitoring": true}), func(r object) string {
					if r["active"] != true {
						return ""
					}
					return fmt.Sprint(r["name"], " ", len(list(r, "monitoring", "sites")), " ", at(r, "monitoring", "intervalMinutes"))
				})
			},
			truth: func(d *demo) any {
				var all []string
				for _, o := range d.orders {
					every := any(nil)
					if o.Schedule != nil {
						every = o.Schedule.IntervalMinutes
					}
					all = append(all, fmt.Sprint(o.Name, " ", len(o.Sites), " ", every))
				}
				slices.Sort(all)
				return all
			},
		},
		{
			name: "order_quality", asks: "How many products of the core order have a price, are out of stock, or were not found, over all its sites?",
			holds: cost{2, 535},
			ask: func(a *analyst) any {
				answer, _ := a.call("get_order_detail", object{"orderId": a.order(askedOrder)})
				q := at(answer, "qualitySummary")
				return fmt.Sprint(at(q, "priceObserved"), " ", at(q, "productUnavailable"), " ", at(q, "productNotFound"))
			},
			truth: func(d *demo) any {
				n := map[contracts.Outcome]int{}
				for _, pair := range d.pairsIn(askedOrder, "") {
					if o, ok := d.newest(pair, time.Time{}, d.now); ok {
						n[o.Outcome]++
					}
				}
				return fmt.Sprint(n[contracts.PriceObserved], " ", n[contracts.Unavailable], " ", n[contracts.ProductNotFound])
			},
		},
		{
			name: "price_at_an_hour", asks: "What did Demo Elektro Nord ask for this EAN yesterday between 8 and 16 o'clock UTC?",
			holds: cost{2, 1147},
			ask: func(a *analyst) any {
				rows := a.records("list_results", object{
					"ean": askedEAN, "site": a.site(askedShop), "capturedFrom": "2026-03-03T08:00:00Z", "capturedTo": "2026-03-03T16:00:00Z",
				})
				return lines(rows, func(r object) string { return fmt.Sprint(r["capturedAt"], " ", r["price"]) })
			},
			truth: func(d *demo) any {
				return d.captured(d.pairsOf(askedEAN, d.siteNamed(askedShop)), utc(3, 8), utc(3, 16))
			},
		},
		{
			name: "lowest_of_the_week", asks: "What was the lowest price of this EAN at Demo Elektro Nord in the last seven days?",
			holds: cost{2, 1_335},
			ask: func(a *analyst) any {
				answer, _ := a.call("list_results", object{"ean": askedEAN, "site": a.site(askedShop), "limit": 1})
				if at(answer, "summary", "covers") != "query" {
					return nil
				}
				return fmt.Sprint(at(answer, "summary", "sites", 0, "prices", 0, "min"))
			},
			truth: func(d *demo) any {
				var low *contracts.Offer
				for _, pair := range d.pairsOf(askedEAN, d.siteNamed(askedShop)) {
					for _, o := range d.captures[pair] {
						if o.CapturedAt.Before(d.now.Add(-168 * time.Hour)) {
							continue
						}
						for _, f := range o.Offers {
							if f.Price != nil && (low == nil || *f.Price < *low.Price) {
								low = &f
							}
						}
					}
				}
				return amount(low)
			},
		},
		{
			name: "out_of_stock_at_a_shop", asks: "What of the core order is out of stock at Demo Elektro Nord now?",
			holds: cost{3, 2_671},
			ask: func(a *analyst) any {
				order, site := a.order(askedOrder), a.site(askedShop)
				rows := a.records("list_order_observation_quality", object{"orderId": order, "site": site, "reasonCode": "PRODUCT_UNAVAILABLE"})
				return lines(rows, func(r object) string { return fmt.Sprint(r["itemId"]) })
			},
			truth: func(d *demo) any {
				return d.said(d.pairsIn(askedOrder, d.siteNamed(askedShop)), func(p contracts.Pair, o contracts.Observation, _ *contracts.Offer) string {
					if o.Outcome != contracts.Unavailable {
						return ""
					}
					return p.Item.String()
				})
			},
		},
	}
}
