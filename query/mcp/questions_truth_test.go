package mcp_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"preismon/contracts"
)

// utc returns an hour of a day in the demo's month.
func utc(day, hour int) time.Time { return time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC) }

func amount(o *contracts.Offer) string { return minor(*o.Price, o.CurrencyCode) }

func minor(n int64, c contracts.Currency) string {
	return string(contracts.AppendMinor(nil, n, c.Digits()))
}

// number returns a whole number of an answer; 0: there is none.
func number(v any) int64 {
	text, _ := v.(json.Number)
	n, _ := text.Int64()
	return n
}

func (d *demo) siteNamed(name string) contracts.SiteKey {
	for key, s := range d.sites {
		if strings.HasPrefix(s.Name, name) {
			return key
		}
	}
	return ""
}

// pairsOf returns the visible pairs of an EAN, at one site or all.
func (d *demo) pairsOf(ean string, site contracts.SiteKey) []contracts.Pair {
	return d.pairs(func(p contracts.Pair) bool { return d.items[p.Item].EAN == ean && (site == "" || p.Site == site) })
}

// pairsIn returns the visible pairs of an order or all, at one site or all.
func (d *demo) pairsIn(order string, site contracts.SiteKey) []contracts.Pair {
	return d.pairs(func(p contracts.Pair) bool {
		if site != "" && p.Site != site {
			return false
		}
		return order == "" || slices.Contains(d.order(order).Items, p.Item) && slices.Contains(d.order(order).Sites, p.Site)
	})
}

func (d *demo) visibleItems() map[contracts.ItemID]bool {
	all := map[contracts.ItemID]bool{}
	for p := range d.captures {
		all[p.Item] = true
	}
	return all
}

func (d *demo) visibleSites() []contracts.SiteKey {
	all := map[contracts.SiteKey]bool{}
	for p := range d.captures {
		all[p.Site] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// said returns what the newest captures of pairs show, each as a text, sorted.
func (d *demo) said(pairs []contracts.Pair, say func(contracts.Pair, contracts.Observation, *contracts.Offer) string) []string {
	all := []string{}
	for _, p := range pairs {
		o, ok := d.newest(p, time.Time{}, d.now)
		if !ok {
			continue
		}
		if l := say(p, o, d.featured(p, o)); l != "" {
			all = append(all, l)
		}
	}
	slices.Sort(all)
	return all
}

// captured returns the times and prices of captures from one instant to
// another.
func (d *demo) captured(pairs []contracts.Pair, from, to time.Time) []string {
	all := []string{}
	for _, p := range pairs {
		for _, o := range d.captures[p] {
			if o.CapturedAt.Before(from) || o.CapturedAt.After(to) {
				continue
			}
			price := "<nil>"
			if f := d.featured(p, o); f != nil {
				price = amount(f)
			}
			all = append(all, o.CapturedAt.Format("2006-01-02T15:04:05.000Z")+" "+price)
		}
	}
	slices.Sort(all)
	return all
}

// current returns the offers with a price in a pair's newest capture of the
// last 168 hours.
func (d *demo) current(pair contracts.Pair) (offers []contracts.Offer) {
	o, ok := d.newest(pair, d.now.Add(-168*time.Hour), d.now)
	if !ok || o.Outcome != contracts.PriceObserved {
		return nil
	}
	for _, f := range o.Offers {
		if f.Price != nil {
			offers = append(offers, f)
		}
	}
	return offers
}

// compared returns the offer with a price that stands for a pair's newest
// capture of the last 168 hours; nil: there is none.
func (d *demo) compared(pair contracts.Pair) *contracts.Offer {
	o, ok := d.newest(pair, d.now.Add(-168*time.Hour), d.now)
	if !ok {
		return nil
	}
	return d.featured(pair, o)
}

func (d *demo) cheapestByCountry(ean string) []string {
	type place struct {
		country  string
		currency contracts.Currency
	}
	best, n := map[place]contracts.Offer{}, map[place]int{}
	for _, pair := range d.pairsOf(ean, "") {
		for _, o := range d.current(pair) {
			at := place{d.sites[pair.Site].CountryCode, o.CurrencyCode}
			if old, ok := best[at]; !ok || *o.Price < *old.Price {
				best[at] = o
			}
			n[at]++
		}
	}
	all := []string{}
	for at, o := range best {
		all = append(all, fmt.Sprint(at.country, " ", amount(&o), " ", at.currency, " ", o.Merchant, " of ", n[at]))
	}
	slices.Sort(all)
	return all
}

// moved returns the pairs whose featured price, in the same currency, is
// different now than at an instant.
func (d *demo) moved(pairs []contracts.Pair, since time.Time) []string {
	all := []string{}
	for _, p := range pairs {
		after, isAfter := d.newest(p, since, d.now)
		before, wasBefore := d.newest(p, since.Add(-168*time.Hour), since)
		if !isAfter || !wasBefore {
			continue
		}
		a, b := d.featured(p, after), d.featured(p, before)
		if a != nil && b != nil && a.CurrencyCode == b.CurrencyCode && *a.Price != *b.Price {
			all = append(all, fmt.Sprint(p.Item, " ", p.Site, " ", minor(*a.Price-*b.Price, a.CurrencyCode)))
		}
	}
	slices.Sort(all)
	return all
}

// twice returns what a pair offered at an instant and offers now, if both are
// known.
func (d *demo) twice(p contracts.Pair, since time.Time) (before, after contracts.Observation, ok bool) {
	after, isAfter := d.newest(p, since, d.now)
	before, wasBefore := d.newest(p, since.Add(-168*time.Hour), since)
	return before, after, isAfter && wasBefore
}

// drops returns the featured prices that dropped most, in percent.
func (d *demo) drops(pairs []contracts.Pair, since time.Time, n int) []string {
	type drop struct {
		share float64
		line  string
	}
	var all []drop
	for _, p := range pairs {
		was, is, ok := d.twice(p, since)
		if !ok {
			continue
		}
		b, a := d.featured(p, was), d.featured(p, is)
		if a != nil && b != nil && a.CurrencyCode == b.CurrencyCode && *a.Price < *b.Price {
			all = append(all, drop{float64(*b.Price-*a.Price) / float64(*b.Price), fmt.Sprint(p.Item, " ", amount(b), " ", amount(a))})
		}
	}
	slices.SortStableFunc(all, func(a, b drop) int { return cmp.Compare(b.share, a.share) })
	lines := []string{}
	for _, one := range all[:min(n, len(all))] {
		lines = append(lines, one.line)
	}
	return lines
}

// buyBoxes returns those that were lost and won at a site by the merchant that
// holds the buy box of the product in question.
func (d *demo) buyBoxes(site contracts.SiteKey, since time.Time) object {
	own, won, lost := "", 0, []string{}
	for _, p := range d.pairsOf(askedEAN, site) {
		if o, ok := d.newest(p, time.Time{}, d.now); ok && d.featured(p, o) != nil {
			own = d.featured(p, o).Merchant
		}
	}
	for _, p := range d.pairsIn("", site) {
		was, is, ok := d.twice(p, since)
		if !ok {
			continue
		}
		b, a := d.featured(p, was), d.featured(p, is)
		if a == nil || b == nil || a.IsBuyBox == contracts.FlagUnknown || b.IsBuyBox == contracts.FlagUnknown {
			continue
		}
		held, holds := b.IsBuyBox == contracts.FlagTrue && b.Merchant == own, a.IsBuyBox == contracts.FlagTrue && a.Merchant == own
		if held && !holds {
			lost = append(lost, p.Item.String())
		}
		if holds && !held {
			won++
		}
	}
	slices.Sort(lost)
	return object{"lost": lost, "won": won}
}

// stock counts by site the pairs that went out of stock and came back.
func (d *demo) stock(pairs []contracts.Pair, since time.Time) map[string][2]int64 {
	n := map[string][2]int64{}
	for _, p := range pairs {
		was, is, ok := d.twice(p, since)
		if !ok {
			continue
		}
		sum := n[string(p.Site)]
		switch {
		case d.featured(p, was) != nil && is.Outcome == contracts.Unavailable:
			sum[0]++
		case was.Outcome == contracts.Unavailable && d.featured(p, is) != nil:
			sum[1]++
		default:
			continue
		}
		n[string(p.Site)] = sum
	}
	return n
}

// tooDear returns the products of an order or a site or all, in each country
// and currency, whose reference price is above the lowest featured one, the
// worst first.
func (d *demo) tooDear(order string, site contracts.SiteKey) []string {
	type place struct {
		item     contracts.ItemID
		country  string
		currency contracts.Currency
	}
	lowest := map[place]contracts.Offer{}
	for _, pair := range d.pairsIn(order, site) {
		if o := d.compared(pair); o != nil {
			at := place{pair.Item, d.sites[pair.Site].CountryCode, o.CurrencyCode}
			if old, ok := lowest[at]; !ok || *o.Price < *old.Price {
				lowest[at] = *o
			}
		}
	}
	type dear struct {
		ratio float64
		text  string
	}
	var all []dear
	for at, low := range lowest {
		var own []int64
		for _, r := range d.references[at.item] {
			if r.CurrencyCode == at.currency && !slices.Contains(own, r.AmountMinor) { // equal ones are not ambiguous
				own = append(own, r.AmountMinor)
			}
		}
		if len(own) == 1 && own[0] > *low.Price {
			all = append(all, dear{float64(own[0]) / float64(*low.Price), fmt.Sprint(at.item, " ", at.country, " ", minor(own[0], at.currency), " ", amount(&low), " ", at.currency, " ", low.Merchant)})
		}
	}
	slices.SortFunc(all, func(a, b dear) int { return cmp.Compare(b.ratio, a.ratio) })
	var texts []string
	for _, one := range all {
		texts = append(texts, one.text)
	}
	return texts
}

// rowsSince counts rows by site: with a price, unavailable, unknown.
func (d *demo) rowsSince(from time.Time) map[string][3]int64 {
	n := map[string][3]int64{}
	for p, all := range d.captures {
		sum := n[string(p.Site)]
		for _, o := range all {
			if o.CapturedAt.Before(from) {
				continue
			}
			for i := range o.Rows() {
				switch {
				case o.Outcome == contracts.PriceObserved && o.Offers[i].Price != nil:
					sum[0]++
				case o.Outcome == contracts.Unavailable || o.Outcome == contracts.ProductNotFound:
					sum[1]++
				default:
					sum[2]++
				}
			}
		}
		n[string(p.Site)] = sum
	}
	return n
}

// boxes counts by merchant the captures since an instant in which it held the
// buy box.
func (d *demo) boxes(pairs []contracts.Pair, since time.Time) []string {
	n := map[string]int{}
	for _, p := range pairs {
		for _, o := range d.captures[p] {
			for _, f := range o.Offers {
				if f.IsBuyBox == contracts.FlagTrue && !o.CapturedAt.Before(since) {
					n[f.Merchant]++
				}
			}
		}
	}
	all := []string{}
	for merchant, wins := range n {
		all = append(all, fmt.Sprint(merchant, " ", wins))
	}
	slices.Sort(all)
	return all
}
