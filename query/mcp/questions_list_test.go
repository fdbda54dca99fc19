package mcp_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"preismon/contracts"
)

// What the analyst asks about.
const (
	askedEAN   = "2900000000001"
	askedOrder = "Elektronik Kernsortiment"
	askedSite  = "Demo Markt Deutschland"
	askedShop  = "Demo Elektro Nord"
)

// questions are those of an analyst's week.
func questions() []question {
	return []question{
		{
			name: "buy_box_holder", asks: "Who holds the buy box for this EAN at Demo Markt Deutschland now, at which price?",
			holds: cost{2, 1013},
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
			holds: cost{1, 639},
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
			holds: cost{1, 309},
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
			holds: cost{1, 490},
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
			holds: cost{2, 507},
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
			holds: cost{2, 1067},
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
			holds: cost{3, 2_088},
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
		{
			name: "changes_of_a_product", asks: "At which sites did the price of this EAN change since this morning, 6 o'clock UTC, and by how much?",
			holds: cost{1, 540},
			ask: func(a *analyst) any {
				return lines(a.records("list_result_changes", object{"ean": askedEAN, "since": "2026-03-04T06:00:00Z"}), func(r object) string {
					if difference := fmt.Sprint(r["priceDifference"]); difference != "<nil>" && strings.Trim(difference, "0.") != "" {
						return fmt.Sprint(r["itemId"], " ", r["site"], " ", difference)
					}
					return ""
				})
			},
			truth: func(d *demo) any { return d.moved(d.pairsOf(askedEAN, ""), utc(4, 6)) },
		},
		{
			name: "changes_this_morning", asks: "What changed its price this morning in the core order, over all its sites: how many up, how many down?",
			before: cost{12, 58_000}, holds: cost{2, 1_108},
			ask: func(a *analyst) any {
				answer, _ := a.call("list_result_changes", object{"orderId": a.order(askedOrder), "since": "2026-03-04T06:00:00Z", "limit": 1})
				return fmt.Sprint(at(answer, "query", "kinds", "PRICE_UP"), " ", at(answer, "query", "kinds", "PRICE_DOWN"))
			},
			truth: func(d *demo) any {
				up, down := 0, 0
				for _, l := range d.moved(d.pairsIn(askedOrder, ""), utc(4, 6)) {
					if strings.Contains(l, " -") {
						down++
					} else {
						up++
					}
				}
				return fmt.Sprint(up, " ", down)
			},
		},
		{
			name: "greatest_drops", asks: "Which three prices dropped most since yesterday at Demo Markt Deutschland, from which to which?",
			holds: cost{2, 1477},
			ask: func(a *analyst) any {
				answer, _ := a.call("list_result_changes", object{"site": a.site(askedSite), "since": "2026-03-03T14:30:00Z", "kind": "PRICE_DOWN", "limit": 3})
				all := []string{}
				for _, r := range list(answer, "data") {
					all = append(all, fmt.Sprint(at(r, "itemId"), " ", at(r, "before", "price"), " ", at(r, "after", "price")))
				}
				return all
			},
			truth: func(d *demo) any { return d.drops(d.pairsIn("", d.siteNamed(askedSite)), d.now.Add(-24*time.Hour), 3) },
		},
		{
			name: "buy_boxes_lost", asks: "Which buy boxes did the merchant who holds this EAN's lose since yesterday, and at how many pairs did he win one?",
			holds: cost{3, 1990},
			ask: func(a *analyst) any {
				site := a.site(askedSite)
				rows := a.records("list_results", object{"ean": askedEAN, "site": site, "latestPerPair": true})
				answer, _ := a.call("list_result_changes", object{"site": site, "since": "2026-03-03T14:30:00Z", "ownMerchant": rows[0]["merchant"], "kind": "BUYBOX_LOST"})
				lost := []string{}
				for _, r := range list(answer, "data") {
					lost = append(lost, fmt.Sprint(at(r, "itemId")))
				}
				slices.Sort(lost)
				return object{"lost": lost, "won": number(at(answer, "query", "kinds", "BUYBOX_WON"))}
			},
			truth: func(d *demo) any { return d.buyBoxes(d.siteNamed(askedSite), d.now.Add(-24*time.Hour)) },
		},
		{
			name: "sold_out_since", asks: "At each of its sites, how much of the core order went out of stock since yesterday, and how much came back?",
			holds: cost{2, 1138},
			ask: func(a *analyst) any {
				answer, _ := a.call("list_result_changes", object{"orderId": a.order(askedOrder), "since": "2026-03-03T14:30:00Z", "limit": 1})
				n := map[string][2]int64{}
				for _, s := range list(answer, "query", "sites") {
					if sum := [2]int64{number(at(s, "kinds", "OUT_OF_STOCK")), number(at(s, "kinds", "BACK_IN_STOCK"))}; sum != [2]int64{} {
						n[fmt.Sprint(at(s, "site"))] = sum
					}
				}
				return n
			},
			truth: func(d *demo) any { return d.stock(d.pairsIn(askedOrder, ""), d.now.Add(-24*time.Hour)) },
		},
		{
			name: "too_dear", asks: "In the core order: of how many products do we ask more than the cheapest, by our reference prices?", before: cost{35, 216_000},
			ask: func(a *analyst) any {
				rows := a.records("list_results", object{"orderId": a.order(askedOrder), "latestPerPair": true, "includeExportFields": true})
				return fmt.Sprint(len(rows)) // references stand in rows, in a currency each
			},
			truth: func(d *demo) any { return d.tooDear(askedOrder) },
		},
		{
			name: "find_by_name", asks: "Which EAN has our Vantor Smartwatch Trekking GPS, königsblau?", before: cost{7, 38_600}, holds: cost{1, 158},
			ask: func(a *analyst) any {
				return lines(a.records("list_items", object{"name": "Vantor Smartwatch Trekking GPS königsblau"}), func(r object) string {
					if strings.HasPrefix(fmt.Sprint(r["name"]), "Vantor Smartwatch Trekking GPS, königsblau") {
						return fmt.Sprint(r["ean"])
					}
					return ""
				})
			},
			truth: func(d *demo) any {
				all := []string{}
				for id := range d.visibleItems() {
					if i := d.items[id]; strings.HasPrefix(i.Name, "Vantor Smartwatch Trekking GPS, königsblau") {
						all = append(all, i.EAN)
					}
				}
				slices.Sort(all)
				return all
			},
		},
		{
			name: "why_no_result", asks: "Which products of the core order have no price at Demo Markt Deutschland since the site refused access or did not answer?",
			before: cost{9, 45_700}, holds: cost{4, 1_300},
			ask: func(a *analyst) any {
				order, site := a.order(askedOrder), a.site(askedSite)
				var rows []object
				for _, reason := range []string{"ACCESS_TEMPORARILY_RESTRICTED", "SITE_TEMPORARILY_UNAVAILABLE"} {
					rows = append(rows, a.records("list_order_observation_quality", object{"orderId": order, "site": site, "reasonCode": reason})...)
				}
				return lines(rows, func(r object) string { return fmt.Sprint(r["itemId"]) })
			},
			truth: func(d *demo) any {
				return d.said(d.pairsIn(askedOrder, d.siteNamed(askedSite)), func(p contracts.Pair, o contracts.Observation, _ *contracts.Offer) string {
					if o.Outcome != contracts.AccessRestricted && o.Outcome != contracts.SiteUnavailable {
						return ""
					}
					return p.Item.String()
				})
			},
		},
		{
			name: "seen_today", asks: "What did we see today, at each site: how many rows with a price, unavailable, or telling nothing?", before: cost{300, 2_000_000},
			ask: func(a *analyst) any {
				n := map[string][3]int64{}
				for _, s := range a.records("list_sites", object{}) {
					answer, _ := a.call("list_results", object{"site": s["site"], "capturedFrom": "2026-03-04", "capturedTo": "2026-03-04", "limit": 1})
					if at(answer, "summary", "covers") != "query" {
						a.t.Errorf("the summary of %v is not of the day", s["site"])
					}
					for _, of := range list(answer, "summary", "sites") {
						if at(of, "priced") == nil { // it had no row
							n[fmt.Sprint(at(of, "site"))] = [3]int64{}
							continue
						}
						n[fmt.Sprint(at(of, "site"))] = [3]int64{number(at(of, "priced")), number(at(of, "unavailable")), number(at(of, "unknown"))}
					}
				}
				return n
			},
			truth: func(d *demo) any { return d.rowsSince(utc(4, 0)) },
		},
		{
			name: "categories", asks: "Which of our own categories are there?",
			holds: cost{1, 400},
			ask: func(a *analyst) any {
				answer, _ := a.call("list_items", object{"discoverCategories": true, "limit": 1})
				return at(answer, "search", "availableCategories")
			},
			truth: func(d *demo) any {
				all := map[string]bool{}
				for id := range d.visibleItems() {
					if c := d.categories[id]; c != "" {
						all[c] = true
					}
				}
				return slices.Sorted(maps.Keys(all))
			},
		},
		{
			name: "newest_export", asks: "When was the newest export file of the core order made, and how large is it?",
			holds: cost{2, 660},
			ask: func(a *analyst) any {
				answer, _ := a.call("list_order_export_history", object{"orderId": a.order(askedOrder), "limit": 1})
				return fmt.Sprint(at(answer, "data", 0, "filename"), " ", at(answer, "data", 0, "sizeBytes"))
			},
			truth: func(d *demo) any {
				newest := slices.MaxFunc(d.exports, func(a, b contracts.FileArchive) int { return a.ArchivedAt.Compare(b.ArchivedAt) })
				return fmt.Sprint(newest.Files[0].Filename, " ", newest.Files[0].SizeBytes)
			},
		},
		{
			name: "sites_by_currency", asks: "Which of our sites show prices in other currencies than EUR?",
			holds: cost{1, 373},
			ask: func(a *analyst) any {
				return lines(a.records("list_sites", object{}), func(r object) string {
					if r["currencyCode"] == "EUR" {
						return ""
					}
					return fmt.Sprint(r["name"])
				})
			},
			truth: func(d *demo) any {
				all := []string{}
				for _, key := range d.visibleSites() {
					if d.sites[key].CurrencyCode != "EUR" {
						all = append(all, d.sites[key].Name)
					}
				}
				slices.Sort(all)
				return all
			},
		},
	}
}
