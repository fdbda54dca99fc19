package query

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"preismon/contracts"
)

// keysOf returns the sites that are in either map.
func keysOf(pairs map[contracts.SiteKey]uint64, newest map[contracts.SiteKey]newestCapture) iter.Seq[contracts.SiteKey] {
	all := map[contracts.SiteKey]bool{}
	for site := range pairs {
		all[site] = true
	}
	for site := range newest {
		all[site] = true
	}
	return maps.Keys(all)
}

func (n StatisticOutcomes) plus(st Statistic) StatisticOutcomes {
	return StatisticOutcomes{n.Priced + st.Priced, n.Unavailable + st.Unavailable, n.NotFound + st.NotFound, n.Unknown + st.Unknown}
}

// count adds the captures of a site on a day; boxed: the site has buy boxes.
func (m *ItemMarket) count(st Statistic, boxed bool) {
	m.Observations = m.Observations.plus(st)
	if !boxed {
		return
	}
	m.boxCaptures += st.Priced + st.Unavailable + st.NotFound + st.Unknown
	for _, w := range st.Wins {
		m.wins[w.Merchant] += w.Wins
		m.boxes += w.Wins
	}
}

// extend widens the price range by the prices of a site on a day.
func (m *ItemMarket) extend(p PriceStatistic, site contracts.SiteKey, date string) {
	earlier := func(e *ItemExtreme) bool { return date < e.On }
	if m.Low == nil || p.Min < m.lowMinor || p.Min == m.lowMinor && earlier(m.Low) {
		m.lowMinor, m.Low = p.Min, &ItemExtreme{decimal(p.Min, p.Currency), site, date}
	}
	if m.High == nil || p.Max > m.highMinor || p.Max == m.highMinor && earlier(m.High) {
		m.highMinor, m.High = p.Max, &ItemExtreme{decimal(p.Max, p.Currency), site, date}
	}
}

// place adds the current offers, and where the own price ranks among them.
func (m *ItemMarket) place(now *market, r ItemSummaryRequest, zone *zoneFormat) {
	amount := func(minor int64) json.Number { return decimal(minor, m.CurrencyCode) }
	m.Offers = len(now.offers)
	slices.SortFunc(now.offers, compareOffers)
	var best *offer
	for i := range now.offers {
		o := &now.offers[i]
		total, known := o.total()
		if !known {
			m.WithoutShipping++
		} else if best == nil || total.price < best.price+best.shipping {
			best = o
		}
	}
	if best != nil {
		m.Cheapest = &ItemOffer{
			Site: best.Site, Price: amount(best.price), ShippingCost: amount(best.shipping), TotalPrice: amount(best.price + best.shipping),
			CapturedAt: string(zone.append(nil, best.capturedMs)),
		}
		if best.merchant != "" {
			m.Cheapest.Merchant = &best.merchant
		}
	}
	own, others := now.ownOr(r)
	if len(others) > 0 {
		var price *int64
		if own != nil {
			price = &own.price
		}
		m.Position = new((&market{marketKey: now.marketKey, offers: others}).standing(price, zone))
	}
	if own == nil {
		return
	}
	m.OwnPrice, m.Rank = new(amount(own.price)), new(rank(own.price, others))
	if own, known := own.total(); known {
		if whole := totals(others); len(whole) > 0 {
			m.RankWithShipping = new(rank(own.price, whole))
		}
	}
}

// ownOr returns the own offer and the offers that it is compared with. The own
// offer is a request's candidate price, unless that is in another currency than
// the market, or, without a candidate price, the caller's own.
func (m *market) ownOr(r ItemSummaryRequest) (own *offer, others []offer) {
	if r.CandidatePrice == "" {
		return m.own(PositionsRequest{OwnMerchant: r.OwnMerchant})
	}
	if r.CurrencyCode != "" && r.CurrencyCode != m.currency {
		return nil, m.offers
	}
	if price := m.amount(r.CandidatePrice); price != nil {
		own = &offer{price: *price}
	}
	return own, m.offers
}

// totals returns the offers whose shipping was observed, with it in their
// prices.
func totals(of []offer) (all []offer) {
	for _, o := range of {
		if total, known := o.total(); known {
			all = append(all, total)
		}
	}
	return all
}

// shareBoxes lists who held the buy box, most often first, then how often no
// one did. The shares are of all captures, rounded so that they sum up to 100:
// the rest goes to those that lost most by rounding down.
func (m *ItemMarket) shareBoxes() {
	if m.boxCaptures == 0 {
		return
	}
	for merchant, n := range m.wins {
		holder := ItemBoxHolder{Captures: n}
		if merchant != "" {
			holder.Merchant = &merchant
		}
		m.BuyBox = append(m.BuyBox, holder)
	}
	slices.SortFunc(m.BuyBox, func(a, b ItemBoxHolder) int {
		return cmp.Or(cmp.Compare(b.Captures, a.Captures), cmp.Compare(orNothing(a.Merchant), orNothing(b.Merchant)))
	})
	if none := m.boxCaptures - m.boxes; none > 0 {
		m.BuyBox = append(m.BuyBox, ItemBoxHolder{Nobody: true, Captures: none})
	}
	const whole = 100_00 // hundredths of a percent
	shares, lost, left := make([]uint64, len(m.BuyBox)), make([]int, len(m.BuyBox)), uint64(whole)
	for i, h := range m.BuyBox {
		shares[i], lost[i] = h.Captures*whole/m.boxCaptures, i
		left -= shares[i]
	}
	slices.SortStableFunc(lost, func(a, b int) int {
		return cmp.Compare(m.BuyBox[b].Captures*whole%m.boxCaptures, m.BuyBox[a].Captures*whole%m.boxCaptures)
	})
	for _, i := range lost[:left] {
		shares[i]++
	}
	for i := range m.BuyBox {
		m.BuyBox[i].Share = json.Number(contracts.AppendMinor(nil, int64(shares[i]), 2))
	}
}
