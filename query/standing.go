package query

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"preismon/contracts"
)

// Standing is a candidate price in the market of one country and currency.
// Prices are numbers in the main unit of that currency, exact, without
// shipping.
type Standing struct {
	Country      *string            `json:"country"` // null: the country of the sites is not known
	CurrencyCode contracts.Currency `json:"currencyCode"`
	Offers       int                `json:"offers"`
	Sites        int                `json:"sites"` // with at least one of the offers
	Min          json.Number        `json:"min"`
	// Median is the price in the middle; of an even number, the lower of the
	// two in the middle, so that it is an amount that someone offers.
	Median           json.Number `json:"median"`
	Max              json.Number `json:"max"`
	OldestCapturedAt string      `json:"oldestCapturedAt" column:"instant"`
	NewestCapturedAt string      `json:"newestCapturedAt" column:"instant"`
	// Candidate is null if the price has more decimal digits than the currency:
	// nothing is rounded.
	Candidate *CandidateStanding `json:"candidate"`
	Reference Reference          `json:"reference"`
	Best      BestOffer          `json:"best"`
}

// CandidateStanding compares the candidate with each offer, and with the
// reference.
type CandidateStanding struct {
	Price                 json.Number  `json:"price"`
	Rank                  int          `json:"rank"` // 1 plus the number of cheaper offers
	Cheaper               int          `json:"cheaper"`
	Equal                 int          `json:"equal"`
	Dearer                int          `json:"dearer"`
	Percentile            json.Number  `json:"percentile"`            // share of the offers that are cheaper, in percent, two digits
	DifferenceToReference json.Number  `json:"differenceToReference"` // candidate minus reference
	DifferencePercent     *json.Number `json:"differencePercent"`     // of the reference, two digits; null where that is 0
}

// ReferenceSource is where the reference comes from.
type ReferenceSource string

const (
	MarketMedian      ReferenceSource = "MARKET_MEDIAN"
	CustomerReference ReferenceSource = "CUSTOMER_REFERENCE"
)

// Reference is what the candidate is compared with.
type Reference struct {
	Source ReferenceSource `json:"source"`
	Price  json.Number     `json:"price"`
}

// BestOffer is the cheapest offer. Of several it is the one that would stand
// for its capture (decision 025): the one with the buy box, then with the
// lowest total price; otherwise the first by site and merchant.
type BestOffer struct {
	Site     contracts.SiteKey `json:"site"`
	Merchant *string           `json:"merchant"`
	Price    json.Number       `json:"price"`
}

type marketKey struct {
	country  string // empty: not known
	currency contracts.Currency
}

// market holds the current offers of one country and currency, at least one.
type market struct {
	marketKey
	offers   []offer
	customer *int64 // the customer's own reference price, if there is exactly one
}

// markets are the markets of some offers.
type markets map[productMarket]*market

// productMarket is a product in a market; item 0: all products together.
type productMarket struct {
	item contracts.ItemID
	marketKey
}

// add adds an offer to a market of all products, addItem to that of its own.
func (m markets) add(o offer, of marketKey)     { m.addTo(productMarket{marketKey: of}, o) }
func (m markets) addItem(o offer, of marketKey) { m.addTo(productMarket{o.Item, of}, o) }

func (m markets) addTo(key productMarket, o offer) {
	if m[key] == nil {
		m[key] = &market{marketKey: key.marketKey}
	}
	m[key].offers = append(m[key].offers, o)
}

// customerReference is the one reference price of the customer that applies to
// the offers, by the rule of the field referencePrice; nil if none does, or
// several do (TOOL-04b, TOOL-04c). An entry for one site applies to the offers
// there.
func (m *market) customerReference(of ownPrices) *int64 {
	distinct, seen := map[contracts.ReferencePrice]bool{}, map[contracts.Pair]bool{}
	var price int64
	for _, o := range m.offers {
		if seen[o.Pair] {
			continue
		}
		seen[o.Pair] = true
		for _, p := range referencesAt(of[o.Item], o.Site, m.currency) {
			distinct[*p] = true
			price = p.AmountMinor
		}
	}
	if len(distinct) != 1 {
		return nil
	}
	return &price
}

// standing computes everything from the offers in minor units; without a
// candidate, what does not depend on one.
func (m *market) standing(candidate *int64, zone *zoneFormat) Standing {
	slices.SortFunc(m.offers, compareOffers)
	show := func(amount int64) json.Number { return decimal(amount, m.currency) }
	n, best := len(m.offers), m.offers[0]
	oldest, newest := best.capturedMs, best.capturedMs
	sites := map[contracts.SiteKey]bool{}
	for _, o := range m.offers {
		oldest, newest = min(oldest, o.capturedMs), max(newest, o.capturedMs)
		sites[o.Site] = true
	}
	median := m.offers[(n-1)/2].Price
	reference, source := median, MarketMedian
	if m.customer != nil {
		reference, source = *m.customer, CustomerReference
	}
	return Standing{
		Country: orNull(m.country), CurrencyCode: m.currency, Offers: n, Sites: len(sites),
		Min: show(best.Price), Median: show(median), Max: show(m.offers[n-1].Price),
		OldestCapturedAt: string(zone.append(nil, oldest)), NewestCapturedAt: string(zone.append(nil, newest)),
		Candidate: m.candidate(candidate, reference),
		Reference: Reference{Source: source, Price: show(reference)},
		Best:      best.best(),
	}
}

// best is the offer as the cheapest one of its market.
func (o offer) best() BestOffer {
	return BestOffer{Site: o.Site, Merchant: orNull(o.Merchant), Price: decimal(o.Price, o.Currency)}
}

// rank is the place of an amount among the prices of offers: 1 plus the number
// of cheaper ones.
func rank(amount int64, of []offer) int {
	n := 1
	for _, o := range of {
		if o.Price < amount {
			n++
		}
	}
	return n
}

// compareOffers orders the cheapest first, and of equally cheap ones the best.
func compareOffers(a, b offer) int {
	return cmp.Or(cmp.Compare(a.Price, b.Price), first(a.BuyBox == contracts.FlagTrue, b.BuyBox == contracts.FlagTrue),
		cmp.Compare(uint64(a.Shipping), uint64(b.Shipping)), // what was not observed last
		cmp.Compare(a.Site, b.Site), cmp.Compare(a.Merchant, b.Merchant))
}

// first orders true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// amount parses a candidate price in the currency of the market; nil: it is not
// an amount of that currency, such as one with more decimal digits.
func (m *market) amount(text string) *int64 {
	amount, err := candidate(text, m.currency)
	if err != nil {
		return nil
	}
	return &amount
}

func (m *market) candidate(price *int64, reference int64) *CandidateStanding {
	if price == nil {
		return nil
	}
	amount := *price
	c := &CandidateStanding{
		Price: decimal(amount, m.currency), DifferenceToReference: decimal(amount-reference, m.currency),
		DifferencePercent: percent(amount-reference, reference),
	}
	for _, o := range m.offers {
		switch {
		case o.Price < amount:
			c.Cheaper++
		case o.Price == amount:
			c.Equal++
		default:
			c.Dearer++
		}
	}
	c.Rank = 1 + c.Cheaper
	c.Percentile = *percent(int64(c.Cheaper), int64(len(m.offers)))
	return c
}

// candidate parses a candidate price as an amount of a currency, in its minor
// unit.
func candidate(text string, currency contracts.Currency) (int64, error) {
	m, err := contracts.ParseMoney(text, currency)
	if err == nil && m.AmountMinor == 0 {
		err = errors.New("must be more than 0")
	}
	return m.AmountMinor, err
}
