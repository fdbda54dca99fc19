package mcp_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"preismon/contracts"
)

// questionsOfChange are about what moved, where we stand, and what there is.
func questionsOfChange() []question {
	return []question{
		{
			name: "changes_of_a_product", asks: "At which sites did the price of this EAN change since this morning, 6 o'clock UTC, and by how much?",
			holds: cost{1, 596},
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
			before: cost{12, 58_000}, holds: cost{2, 1_222}, // with the rank of the last record in the cursors
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
			holds: cost{2, 1_570}, // likewise
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
			holds: cost{3, 2113},
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
			holds: cost{2, 1_250}, // likewise, and with the order and the instant in the link
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
			name: "too_dear", asks: "In the core order: of how many products do we ask more than the cheapest featured offer, by our reference prices?", before: cost{35, 216_000}, holds: cost{2, 1_130},
			ask: func(a *analyst) any {
				answer, _ := a.call("get_market_price_position", object{"orderId": a.order(askedOrder), "limit": 1})
				return fmt.Sprint(at(answer, "query", "above"))
			},
			truth: func(d *demo) any { return fmt.Sprint(len(d.tooDear(askedOrder, ""))) },
		},
		{
			name: "dearest", asks: "Of all that we see, where are our reference prices worst beside the cheapest featured offer: the first three?",
			holds: cost{1, 1_030},
			ask: func(a *analyst) any {
				answer, _ := a.call("get_market_price_position", object{"limit": 3})
				return positionsOf(answer)
			},
			truth: func(d *demo) any { return d.tooDear("", "")[:3] },
		},
		{
			name: "undercut_by", asks: "In the core order: whose featured offers are below our reference prices, of how many products, and how often is he the cheapest?",
			holds: cost{2, 1_145},
			ask: func(a *analyst) any {
				answer, _ := a.call("get_market_price_position", object{"orderId": a.order(askedOrder), "limit": 1})
				return []any{fmt.Sprint(at(answer, "query", "undercutters")), undercuttersOf(answer)}
			},
			truth: func(d *demo) any {
				all, n := d.undercutters(askedOrder)
				return []any{fmt.Sprint(n), all}
			},
		},
		{
			name: "dear_beside_a_shop", asks: "Which two products are we most too dear of beside what Demo Elektro Nord shows now?",
			holds: cost{2, 1_170},
			ask: func(a *analyst) any {
				answer, _ := a.call("get_market_price_position", object{"site": a.site(askedShop), "limit": 2})
				return positionsOf(answer)
			},
			truth: func(d *demo) any { return d.tooDear("", d.siteNamed(askedShop))[:2] },
		},
		{
			name: "buy_box_shares", asks: "How often did which merchant hold the buy box of this EAN at Demo Markt Deutschland in the last seven days?",
			holds: cost{2, 1645},
			ask: func(a *analyst) any {
				answer, _ := a.call("list_results", object{"ean": askedEAN, "site": a.site(askedSite), "limit": 1})
				var winners []object
				for _, w := range list(answer, "summary", "sites", 0, "buyBox") {
					winners = append(winners, w.(object))
				}
				return lines(winners, func(w object) string { return fmt.Sprint(w["merchant"], " ", w["wins"]) })
			},
			truth: func(d *demo) any {
				return d.boxes(d.pairsOf(askedEAN, d.siteNamed(askedSite)), d.now.Add(-168*time.Hour))
			},
		},
		{
			name: "where_offered", asks: "At which of our sites does this EAN have a price now, and at which does it not?",
			holds: cost{1, 1_287},
			ask: func(a *analyst) any {
				answer, _ := a.call("list_results", object{"ean": askedEAN, "latestPerPair": true, "limit": 1})
				n := map[string]int64{}
				for _, of := range list(answer, "summary", "sites") {
					n[fmt.Sprint(at(of, "site"))] = number(at(of, "priced")) // none at a site without a row
				}
				return n
			},
			truth: func(d *demo) any {
				n := map[string]int64{}
				for _, p := range d.pairsOf(askedEAN, "") {
					n[string(p.Site)] += 0
					if o, ok := d.newest(p, time.Time{}, d.now); ok && d.featured(p, o) != nil {
						n[string(p.Site)]++
					}
				}
				return n
			},
		},
		{
			name: "find_by_name", asks: "Which EAN has our Vantor Smartwatch Trekking GPS, königsblau?", before: cost{7, 38_600}, holds: cost{1, 197},
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
			before: cost{9, 45_700}, holds: cost{4, 1_445},
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
			name: "seen_today", asks: "What did we see today, at each site: how many rows with a price, unavailable, or telling nothing?",
			before: cost{300, 2_000_000}, holds: cost{1, 1_859}, // with the buy boxes of three markets
			ask: func(a *analyst) any {
				answer, _ := a.call("list_results", object{"globalScope": true, "capturedFrom": "2026-03-04", "capturedTo": "2026-03-04", "limit": 1})
				if at(answer, "summary", "covers") != "query" {
					a.t.Errorf("the summary is not of the day: %v", at(answer, "summary", "covers"))
				}
				n := map[string][3]int64{}
				for _, of := range list(answer, "summary", "sites") {
					n[fmt.Sprint(at(of, "site"))] = [3]int64{}
					if at(of, "priced") != nil { // it had rows
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
			holds: cost{2, 675},
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
			holds: cost{1, 387},
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

// positionsOf returns the records of an answer of get_market_price_position,
// each as a text.
func positionsOf(answer object) (all []string) {
	for _, r := range list(answer, "data") {
		all = append(all, fmt.Sprint(at(r, "itemId"), " ", at(r, "country"), " ", at(r, "ownPrice"), " ", at(r, "cheapest", "price"), " ", at(r, "currencyCode"), " ", at(r, "cheapest", "merchant")))
	}
	return all
}
