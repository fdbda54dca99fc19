package market

import (
	"cmp"
	"slices"
	"time"

	"preismon/contracts"
)

const (
	msHour = int64(time.Hour / time.Millisecond)
	msDay  = 24 * msHour
	msWeek = 7 * msDay
)

// At returns what a capture of the pair at t finds; ok reports whether the
// market captures the pair at all. It depends only on the market and its
// arguments. t counts in milliseconds.
func (m *Market) At(p contracts.Pair, t time.Time) (o contracts.Observation, ok bool) {
	pr, ok := m.byPair[p]
	if !ok {
		pr, ok = m.away[p]
	}
	if !ok {
		return contracts.Observation{}, false
	}
	return m.observe(pr, t.UnixMilli(), newPage(pr.site.maxOffers)), true
}

// page is the memory that the observations of one event share.
type page struct {
	offers  []contracts.Offer
	amounts []int64
}

func newPage(offers int) *page {
	return &page{make([]contracts.Offer, 0, offers), make([]int64, 0, 2*offers)}
}

func (w *page) amount(v int64) *int64 {
	w.amounts = append(w.amounts, v)
	return &w.amounts[len(w.amounts)-1]
}

// outcome returns what happens to a capture before any price is read.
func (m *Market) outcome(p *pair, at int64) contracts.Outcome {
	s := p.site
	if o, ok := p.trouble(at); ok {
		return o
	}
	switch {
	case chance(m.draw(drawDown, s.key, uint64(at/(90*msHour/60))), 25): // one and a half hours
		return contracts.SiteUnavailable
	case chance(m.draw(drawAccess, s.key, uint64((at+msHour)/(5*msHour))), 90) &&
		chance(m.draw(drawAccess, p.hash, uint64(at/msHour)), 2_500):
		return contracts.AccessRestricted
	case chance(m.draw(drawAmbiguous, p.hash, uint64(at)), 8):
		return contracts.OutcomeUnknown
	case p.away:
		return contracts.ProductNotFound
	case chance(m.draw(drawMissing, p.hash, uint64((at+int64(p.hash%uint64(msWeek)))/(9*msDay))), 130):
		return contracts.ProductNotFound
	}
	// Shops run out of stock for days, and for some hours.
	if chance(m.draw(drawStock, p.hash, uint64((at+int64(p.hash%uint64(msDay)))/(3*msDay))), 350) ||
		chance(m.draw(drawStock, ^p.hash, uint64(at/(4*msHour))), 120) {
		return contracts.Unavailable
	}
	return contracts.PriceObserved
}

// troubled is the minimum size of a group in which three pairs have trouble at
// any time, so that only few of an order's pairs do.
const troubled = 36

// trouble returns what a pair meets when its turn comes: during each run of its
// group, one pair is refused access, one gets no answer, and from one nothing
// can be read.
func (p *pair) trouble(at int64) (contracts.Outcome, bool) {
	if p.group < troubled {
		return 0, false
	}
	switch run := at / p.every; p.place {
	case run % p.group:
		return contracts.AccessRestricted, true
	case (run + p.group/3) % p.group:
		return contracts.SiteUnavailable, true
	case (run + p.group*2/3) % p.group:
		return contracts.OutcomeUnknown, true
	}
	return 0, false
}

// observe captures a pair. The page must have room for the offers of the site.
func (m *Market) observe(p *pair, at int64, w *page) contracts.Observation {
	o := contracts.Observation{ItemID: p.item.ItemID, CapturedAt: time.UnixMilli(at).UTC(), Outcome: m.outcome(p, at)}
	first := len(w.offers)
	switch o.Outcome {
	case contracts.PriceObserved:
		if p.site.maxOffers == 1 {
			m.shopOffer(p, at, w)
		} else {
			m.merchantOffers(p, at, w)
		}
	case contracts.Unavailable:
		if p.hash%3 == 0 { // some pages still show the product
			w.offers = append(w.offers, contracts.Offer{
				Merchant: p.site.merchant, Title: p.title, URL: p.url, Manufacturer: p.maker, DeliveryText: p.site.delivery[3],
			})
		}
	}
	if last := len(w.offers); last > first {
		o.Offers = w.offers[first:last:last]
	}
	return o
}

// own returns the price that a site would set on its own, in minor units and
// not yet rounded by charm: a base that changes every few days, weekly
// promotions, and weekend prices.
func (m *Market) own(p *pair, at int64) int64 {
	length := 20*msHour + int64(p.hash>>8%100)*msHour
	segment := (at + int64(p.hash%uint64(length))) / length
	bp := int64(10_000) + int64(m.draw(drawSegment, p.hash, uint64(segment))%1_201) - 600

	// Weeks begin on Thursday, as for leaflets and the Unix epoch.
	if promo := m.draw(drawPromotion, p.hash, uint64(at/msWeek)); chance(promo, 900) {
		bp -= 1_000 + int64(promo%9)*250
	}
	if p.site.weekend != 0 && p.hash%3 != 1 {
		if day := (at/msDay + 4) % 7; day == 0 || day == 6 {
			bp -= p.site.weekend
		}
	}
	return max(1, p.base*bp/10_000)
}

// matched returns a shop's price: its own, or on some days its rival's if that
// is lower.
func (m *Market) matched(p *pair, at int64) int64 {
	price := charm(m.own(p, at), p.site.CurrencyCode, p.hash)
	if p.rival != nil && chance(m.draw(drawMatch, p.hash, uint64(at/msDay)), 2_500) {
		price = min(price, charm(m.own(p.rival, at), p.site.CurrencyCode, p.rival.hash))
	}
	return price
}

// charm ends a price the way shops like to.
func charm(price int64, c contracts.Currency, style uint64) int64 {
	switch c {
	case "JPY":
		if price < 100 {
			return price
		}
		return max(price-price%100+[...]int64{80, 98, 0}[style%3], 1)
	case "KWD":
		if price < 1_000 {
			return price - price%5 + 5
		}
		return price - price%1_000 + [...]int64{900, 500, 950, 250}[style%4]
	}
	switch {
	case price < 200:
		return price - price%10 + [...]int64{5, 9, 9}[style%3]
	case style%8 == 0:
		return price // some do not
	}
	return price - price%100 + [...]int64{99, 99, 95, 49}[style%4]
}

func (m *Market) shopOffer(p *pair, at int64, w *page) {
	s := p.site
	price := m.matched(p, at)
	h := m.draw(drawOffers, p.hash, uint64(at/msDay))
	of := contracts.Offer{
		Merchant: s.merchant, Price: w.amount(price), CurrencyCode: s.CurrencyCode, Manufacturer: p.maker,
		Title: p.title, URL: p.url, DeliveryText: s.delivery[h%3],
	}
	if ship := s.shipping[p.hash%3]; ship >= 0 {
		if price >= convert(4_900, s.CurrencyCode) {
			ship = 0
		}
		of.Shipping = w.amount(ship)
	}
	if s.rated {
		of.Rating = m.rating(p, at)
	}
	w.offers = append(w.offers, of)
}

// hosts holds what is appended to the URL of a pair for each merchant's offer.
var hosts = func() []string {
	all := make([]string, len(merchants))
	for i := range all {
		all[i] = "&offer=" + string(rune('a'+i/26)) + string(rune('a'+i%26)) + "-simulated"
	}
	return all
}()

func (m *Market) merchantOffers(p *pair, at int64, w *page) {
	s := p.site
	day := m.draw(drawOffers, p.hash, uint64(at/msDay))
	n := min(2+int(p.hash>>16%uint64(s.maxOffers-1)), s.maxOffers)
	if chance(day, 2_000) && n > 1 {
		n-- // one is away today
	}
	hour := uint64(at / msHour)
	if p.hot {
		hour = uint64(at / (msHour / 4)) // merchants of fast-selling items watch each other more often
	}
	rating := contracts.Rating("")
	if s.rated {
		rating = m.rating(p, at)
	}
	// A pair keeps its merchants; a step that shares no factor with their
	// number leads to each of them once.
	steps := [...]uint64{1, 3, 7, 9, 11, 13, 17, 19}
	place, step := p.hash>>24%uint64(len(merchants)), steps[p.hash>>40%8]
	if s.flags && p.hash>>50%4 != 0 {
		place = 0 // the operator sells it, too
	}
	first := len(w.offers)
	lead := charm(m.own(p, at), s.CurrencyCode, p.hash)
	lowest := lead
	for j := range n {
		seller := (place + uint64(j)*step) % uint64(len(merchants))
		mh := m.draw(drawMerchant, p.hash+seller, hour/6)
		price := lead
		switch {
		case j == 0:
		case seller%4 == 1: // undercuts the lowest so far, by a little
			cut := 1 + int64(m.draw(drawMerchant, ^p.hash+seller, hour)%5)
			if s.CurrencyCode == "JPY" {
				cut *= 2
			}
			price = max(1, lowest-cut)
		default:
			price = max(1, charm(lead*(9_950+int64(mh%1_700))/10_000, s.CurrencyCode, mh>>32))
		}
		lowest = min(lowest, price)
		of := contracts.Offer{
			Merchant: merchants[seller], CurrencyCode: s.CurrencyCode, Rating: rating, Title: p.title,
			URL: p.url + hosts[seller], DeliveryText: s.delivery[mh>>8%3],
		}
		if j > 0 && chance(mh<<3, 40) {
			of.CurrencyCode, of.DeliveryText = "", "Preis auf Anfrage"
		} else {
			of.Price = w.amount(price)
			if ship := s.shipping[mh>>12%3]; ship >= 0 {
				of.Shipping = w.amount(ship)
			}
		}
		if seller%3 != 0 {
			of.Manufacturer = p.maker
		}
		w.offers = append(w.offers, of)
	}
	offers := w.offers[first:]
	if s.sorted {
		slices.SortStableFunc(offers, func(a, b contracts.Offer) int { return cmp.Compare(total(&a), total(&b)) })
	}
	if s.flags {
		m.setFlags(p, at, offers)
	}
}

// total returns what an offer costs with shipping; offers without a price come
// last.
func total(o *contracts.Offer) int64 {
	switch {
	case o.Price == nil:
		return contracts.MaxAmountMinor
	case o.Shipping == nil:
		return *o.Price
	}
	return *o.Price + *o.Shipping
}

// setFlags sets which offer has the buy box and which ship with prime, as far
// as the page showed it.
func (m *Market) setFlags(p *pair, at int64, offers []contracts.Offer) {
	h := m.draw(drawFlags, p.hash, uint64(at))
	if chance(h, 250) {
		return // the page did not show it
	}
	best := 0
	for i := range offers {
		if total(&offers[i]) < total(&offers[best]) {
			best = i
		}
	}
	if chance(h<<7, 400) {
		best = -1 // no featured offer
	}
	for i := range offers {
		of := &offers[i]
		of.IsBuyBox = contracts.FlagOf(i == best)
		seller := textKey(of.Merchant)
		switch own := of.Merchant == merchants[0]; {
		case !own && seller%11 == 0:
			// the source has no Boolean there
		default:
			of.IsPrime = contracts.FlagOf(own || (seller^p.hash)%5 < 2)
		}
		if chance(mix(h+uint64(i)), 150) {
			of.IsBuyBox = contracts.FlagUnknown
		}
	}
}

// Ratings as sources have them, and what some have instead.
var (
	ratings = func() (all [50][2]contracts.Rating) {
		for i := range all {
			tenths := string(rune('0'+i/10)) + "." + string(rune('0'+i%10))
			all[i] = [2]contracts.Rating{contracts.Rating(tenths), contracts.Rating(tenths + string(rune('1'+i%9)))}
		}
		return all
	}()
	oddRatings = []contracts.Rating{"4,5", "n/a", "5.7", "-1", "NaN", "87 %", "4.5 von 5", "11", "★★★★", "1e99", "0", "5", "5.0"}
)

// rating returns the rating of an item: it changes by a tenth from week to
// week, and is the same wherever it is shown, except for mistakes of a source.
func (m *Market) rating(p *pair, at int64) contracts.Rating {
	h := m.draw(drawRating, p.hash, uint64(at))
	switch {
	case p.item.EAN == "" || p.item.hash%9 == 0:
		return "" // not rated
	case chance(h, 200):
		return oddRatings[h%uint64(len(oddRatings))]
	}
	week := m.draw(drawRating, p.item.hash, uint64(at/msWeek))
	return ratings[30+p.item.hash>>13%18+week%2][p.hash%2]
}
