package query

import (
	"cmp"
	"encoding/json"
	"slices"

	"preismon/contracts"
	"preismon/query/alert"
)

// ItemMarket is a product in the market of one country and currency.
type ItemMarket struct {
	Country      *string            `json:"country"`
	CurrencyCode contracts.Currency `json:"currencyCode"`
	// Cheapest is by its total price; nil: there is no current offer whose
	// shipping was observed.
	Cheapest         *ItemOffer   `json:"cheapest"`
	Offers           int          `json:"offers"`          // current ones
	WithoutShipping  int          `json:"withoutShipping"` // of these, those whose shipping was not observed
	OwnPrice         *json.Number `json:"ownPrice"`
	Rank             *int         `json:"rank"`             // of the own price: 1 plus the number of cheaper offers
	RankWithShipping *int         `json:"rankWithShipping"` // the same by totals; the total of a reference price or a candidate is the price itself
	// Position is what MarketPosition returns for the own price, compared with
	// the median; nil: there is no current offer, or only own ones.
	Position            *Standing         `json:"position"`
	Low                 *ItemExtreme      `json:"low"` // of the window; nil: no price was observed
	High                *ItemExtreme      `json:"high"`
	Observations        StatisticOutcomes `json:"observations"` // of the window, at the sites of the market
	BuyBox              []ItemBoxHolder   `json:"buyBox"`
	LastCapturedAt      *string           `json:"lastCapturedAt" column:"instant"`
	Sites               []ItemSite        `json:"sites"`
	lastMs              int64
	boxes, boxCaptures  uint64
	wins                map[string]uint64
	lowMinor, highMinor int64
}

// ItemOffer is a current offer.
type ItemOffer struct {
	Site         contracts.SiteKey `json:"site"`
	Merchant     *string           `json:"merchant"`
	Price        json.Number       `json:"price"`
	ShippingCost json.Number       `json:"shippingCost"`
	TotalPrice   json.Number       `json:"totalPrice"`
	CapturedAt   string            `json:"capturedAt" column:"instant"`
}

// ItemExtreme is the lowest or highest price of the standing offers.
type ItemExtreme struct {
	Price json.Number       `json:"price"`
	Site  contracts.SiteKey `json:"site"` // the first of several
	On    string            `json:"on"`   // the first day with it, as a date in the zone
}

// ItemBoxHolder is who held the buy box, and how often; the shares of a market
// sum up to 100. Merchant nil and Nobody false: a holder without a name.
type ItemBoxHolder struct {
	Merchant *string     `json:"merchant"`
	Nobody   bool        `json:"nobody"` // captures without a holder
	Captures uint64      `json:"captures"`
	Share    json.Number `json:"share"` // percent of the captures at sites that have buy boxes
}

// ItemSite is a site of a market.
type ItemSite struct {
	Site           contracts.SiteKey `json:"site"`
	LastCapturedAt *string           `json:"lastCapturedAt" column:"instant"` // nil: nothing was ever captured
	CoverageState  string            `json:"coverageState"`                   // of that capture
	// AccessRestricted reports whether that capture found the access
	// restricted, as reason codes of orders do: for callers that may not read
	// orders it is false.
	AccessRestricted bool `json:"accessRestricted"`
	// IntervalSeconds is the time between two captures by the orders as they
	// are now, and NextDueAt when the next capture is due; nil: not known, as
	// for callers that may not read orders.
	IntervalSeconds *int64  `json:"intervalSeconds"`
	NextDueAt       *string `json:"nextDueAt" column:"instant"`
	// Restricted are the captures of the window that found the access
	// restricted, none for callers that may not read orders; NotFound those
	// that did not find the product.
	Restricted   []CaptureRun      `json:"restricted"`
	NotFound     []CaptureRun      `json:"notFound"`
	Observations StatisticOutcomes `json:"observations"` // of the window
	Days         []ItemDay         `json:"days"`         // of the window; days of which nothing is known are left out
	DayCounts    ItemDayCounts     `json:"dayCounts"`
}

// CaptureRun is consecutive captures of a pair that found the same. From and To
// are when the first and the last of them were captured.
type CaptureRun struct {
	From     string `json:"from" column:"instant"`
	To       string `json:"to" column:"instant"`
	Captures int    `json:"captures"`
}

// ItemDay is the state of a day at a site.
type ItemDay struct {
	Date  string `json:"date"`
	State string `json:"state"`
}

// ItemDayCounts counts the days of the window that have begun, by their state.
type ItemDayCounts struct {
	InStock          int `json:"inStock"`
	PartlyInStock    int `json:"partlyInStock"`
	OutOfStock       int `json:"outOfStock"`
	AccessRestricted int `json:"accessRestricted"`
	Unknown          int `json:"unknown"`
	NotObserved      int `json:"notObserved"`
}

// add counts a day under its state, which counted as not observed until now.
func (c *ItemDayCounts) add(state string) {
	c.NotObserved--
	*map[string]*int{
		dayInStock: &c.InStock, dayPartly: &c.PartlyInStock, dayOutOfStock: &c.OutOfStock, dayRestricted: &c.AccessRestricted, dayUnknown: &c.Unknown,
	}[state]++
}

// The states of a day.
const (
	dayInStock    = "IN_STOCK"
	dayPartly     = "PARTLY_IN_STOCK"
	dayOutOfStock = "OUT_OF_STOCK"
	dayRestricted = "ACCESS_RESTRICTED"
	dayUnknown    = "UNKNOWN"
)

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

// addOffers adds the current offers, and where the own price ranks among them.
func (m *ItemMarket) addOffers(now *market, r ItemSummaryRequest, zone *zoneFormat) {
	amount := func(minor int64) json.Number { return decimal(minor, m.CurrencyCode) }
	m.Offers = len(now.offers)
	slices.SortFunc(now.offers, compareOffers)
	var best *offer
	for i := range now.offers {
		o := &now.offers[i]
		total, known := o.total()
		if !known {
			m.WithoutShipping++
		} else if best == nil || total.Price < best.Price+best.Shipping {
			best = o
		}
	}
	if best != nil {
		m.Cheapest = &ItemOffer{
			Site: best.Site, Merchant: orNull(best.Merchant), Price: amount(best.Price), ShippingCost: amount(best.Shipping),
			TotalPrice: amount(best.Price + best.Shipping), CapturedAt: string(zone.append(nil, best.capturedMs)),
		}
	}
	own, others := now.ownOr(r)
	if len(others) > 0 {
		var price *int64
		if own != nil {
			price = &own.Price
		}
		m.Position = new((&market{marketKey: now.marketKey, offers: others}).standing(price, zone))
	}
	if own == nil {
		return
	}
	m.OwnPrice, m.Rank = new(amount(own.Price)), new(rank(own.Price, others))
	if own, known := own.total(); known {
		if whole := totals(others); len(whole) > 0 {
			m.RankWithShipping = new(rank(own.Price, whole))
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
		own = &offer{Offer: alert.Offer{Price: *price}}
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
		m.BuyBox = append(m.BuyBox, ItemBoxHolder{Merchant: orNull(merchant), Captures: n})
	}
	slices.SortFunc(m.BuyBox, func(a, b ItemBoxHolder) int {
		return cmp.Or(cmp.Compare(b.Captures, a.Captures), cmp.Compare(orEmpty(a.Merchant), orEmpty(b.Merchant)))
	})
	if none := m.boxCaptures - m.boxes; none > 0 {
		m.BuyBox = append(m.BuyBox, ItemBoxHolder{Nobody: true, Captures: none})
	}
	const whole = 100_00 // hundredths of a percent
	shares, byRemainder, left := make([]uint64, len(m.BuyBox)), make([]int, len(m.BuyBox)), uint64(whole)
	for i, h := range m.BuyBox {
		shares[i], byRemainder[i] = h.Captures*whole/m.boxCaptures, i
		left -= shares[i]
	}
	slices.SortStableFunc(byRemainder, func(a, b int) int {
		return cmp.Compare(m.BuyBox[b].Captures*whole%m.boxCaptures, m.BuyBox[a].Captures*whole%m.boxCaptures)
	})
	for _, i := range byRemainder[:left] {
		shares[i]++
	}
	for i := range m.BuyBox {
		m.BuyBox[i].Share = json.Number(contracts.AppendMinor(nil, int64(shares[i]), 2))
	}
}
