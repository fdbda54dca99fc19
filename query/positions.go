package query

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/query/alert"
)

// Bounds of positions.
const (
	maxPositionPairs = 100_000
	positionPair     = 400 // approximate bytes for the offers of a pair
)

// PositionsRequest requests where the caller stands with every product under
// its selectors: with its own reference prices, or as a merchant, or as a site.
// The window of ResultsRequest is ignored: it is always that of current offers.
type PositionsRequest struct {
	ResultsRequest
	OwnMerchant string            `json:"ownMerchant,omitempty"`
	OwnSite     contracts.SiteKey `json:"ownSite,omitempty"`
	Amount      string            `json:"amount,omitempty"` // price or totalPrice
	Offers      string            `json:"offers,omitempty"` // featured or all
}

// PositionsPage is one page of positions, those furthest above the cheapest
// other offer first.
type PositionsPage = Records[OwnPosition, PositionsEcho]

// PositionsEcho counts what the answer covers, over all pages.
type PositionsEcho struct {
	CapturedFrom string `json:"capturedFrom"`
	CapturedTo   string `json:"capturedTo"`
	Timezone     string `json:"timezone"`
	Beside       string `json:"beside"` // reference, merchant or site
	Amount       string `json:"amount"`
	Offers       string `json:"offers"`
	Pairs        uint64 `json:"pairs"`
	PositionCounts
	WithoutTotal int `json:"withoutTotal"` // offers left out because their shipping was not observed

	Undercutters int           `json:"undercutters"` // sellers that are cheaper at any position
	UndercutBy   []Undercutter `json:"undercutBy"`   // the first of them, those at most positions first
}

// PositionCounts counts positions.
type PositionCounts struct {
	Positions    int `json:"positions"`
	Above        int `json:"above"` // the own price is above the cheapest other one
	Equal        int `json:"equal"`
	Below        int `json:"below"`
	WithoutOwn   int `json:"withoutOwn"`   // products and markets with offers and no own price
	WithoutOther int `json:"withoutOther"` // with an own price and no other offer
}

// OwnPosition is where the caller stands with a product in the market of one
// country and currency.
type OwnPosition struct {
	ItemID            contracts.ItemID   `json:"itemId"`
	Country           *string            `json:"country"`
	CurrencyCode      contracts.Currency `json:"currencyCode"`
	OwnPrice          json.Number        `json:"ownPrice"`
	OwnSite           *contracts.SiteKey `json:"ownSite"`
	Rank              int                `json:"rank"` // 1 plus the number of cheaper offers
	Offers            int                `json:"offers"`
	Cheapest          BestOffer          `json:"cheapest"`
	Difference        json.Number        `json:"difference"` // own minus cheapest
	DifferencePercent *json.Number       `json:"differencePercent"`
	OldestCapturedAt  string             `json:"oldestCapturedAt" column:"instant"`
	NewestCapturedAt  string             `json:"newestCapturedAt" column:"instant"`

	ratio ratio // of the difference to the cheapest price
}

// Positions places the caller's price of each product among the standing offers
// of the current ones, or among all current ones. Current offers are those of
// MarketPosition, by its rules.
func (s *Service) Positions(ctx context.Context, p Principal, r PositionsRequest) (page *PositionsPage, err error) {
	limit, err := s.understandPositions(p, &r)
	if err != nil {
		return nil, err
	}
	now := s.now().UTC().Truncate(contracts.Resolution)
	meaning := r
	meaning.ResultsRequest = r.ResultsRequest.meaning()
	bound := binding{Account: p.Account, Route: "positions", Query: r, Meaning: meaning}
	position := rankedPosition{Until: now.UnixMilli()}
	if r.Cursor != "" {
		if err := s.seal.openCursor(bound, r.Cursor, &position); err != nil {
			return nil, err
		}
	}
	plan, err := s.plan(p, r.current(fromMs(position.Until)))
	if err != nil {
		return nil, err
	}
	plan.mostPairs, plan.bounds = maxPositionPairs, fixedBounds
	plan.query.FromNow, plan.query.ToNow = true, true
	noting(ctx).open = true
	ctx, end := s.bounded(ctx, fixedBounds, &err)
	defer end()
	in, err := s.accept(ctx, p, plan)
	if err != nil {
		return nil, err
	}
	if r.Cursor == "" {
		position.Watermark, position.Floor = in.query.Watermark, in.vis.Floor
	} else if err := in.vis.checkCursor(in.query.Watermark, position.Floor, position.Watermark); err != nil {
		return nil, err
	}
	in.query.Watermark = position.Watermark
	page = &PositionsPage{Data: []OwnPosition{}, Paging: Paging{Limit: limit}, Query: PositionsEcho{
		CapturedFrom: *in.echo.CapturedFrom, CapturedTo: *in.echo.CapturedTo, Timezone: in.echo.Timezone, Amount: r.Amount, Offers: r.Offers, Pairs: in.size.Pairs, Beside: r.comparedWith(), UndercutBy: []Undercutter{},
	}}
	if in.empty {
		return page, nil
	}
	charged := pageBlocks + int64(in.size.Pairs)*positionPair
	room, giveBack, err := s.charge(ctx, charged)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	noting(ctx).given = limit
	all, err := s.positions(ctx, in, r, &offerRoom{room, charged}, &page.Query)
	if err != nil {
		return nil, err
	}
	page.Data, page.Paging, err = rankedPage(s, all, bound, position, limit)
	return page, err
}

// understandPositions fills in the defaults, and returns what needs no data, or
// everything that is wrong with the request.
func (s *Service) understandPositions(p Principal, r *PositionsRequest) (limit int, err error) {
	limit, err = pageLimit(r.Limit, MaxResultsLimit)
	wrong := faults{err}
	r.Amount = cmp.Or(r.Amount, "price")
	wrong.check(r.Amount == "price" || r.Amount == "totalPrice", "amount: %q is neither price nor totalPrice.", r.Amount)
	r.Offers = cmp.Or(r.Offers, "featured")
	wrong.check(r.Offers == "featured" || r.Offers == "all", "offers: %q is neither featured nor all.", r.Offers)
	wrong.check(r.OwnMerchant == "" || r.OwnSite == "", "ownMerchant and ownSite exclude each other.")
	_, err = s.understand(p, r.selected())
	wrong.add(err)
	return limit, wrong.err
}

// selected is a read of what the positions cover, at any time.
func (r *PositionsRequest) selected() ResultsRequest {
	rows := r.ResultsRequest
	rows.Cursor, rows.Limit, rows.LatestObservationPerPair = "", nil, true
	return rows
}

// current is a read of what the positions cover, of offers current at a time.
func (r *PositionsRequest) current(until time.Time) ResultsRequest {
	rows := r.selected()
	rows.GlobalScope = rows.Everything()
	rows.CapturedFrom, rows.CapturedTo = until.Add(-CurrentOffers).Format(time.RFC3339Nano), until.Format(time.RFC3339Nano)
	return rows
}

func (r *PositionsRequest) comparedWith() string {
	switch {
	case r.OwnMerchant != "":
		return "merchant"
	case r.OwnSite != "":
		return "site"
	}
	return "reference"
}

// owns reports whether an offer is the caller's.
func (r *PositionsRequest) owns(o offer) bool {
	return r.OwnMerchant != "" && o.Merchant == r.OwnMerchant || r.OwnSite != "" && o.Site == r.OwnSite
}

// positions returns all positions, worst first.
func (s *Service) positions(ctx context.Context, in *read, r PositionsRequest, held *offerRoom, echo *PositionsEcho) ([]OwnPosition, error) {
	var reduce func([]offer) []offer
	if r.Offers == "featured" {
		reduce = func(capture []offer) []offer { return standingOf(capture, r.owns) }
	}
	offers, facts, err := s.offers(ctx, in, held, nil, reduce)
	if err != nil || len(offers) == 0 {
		return nil, err
	}
	offered := markets{}
	for _, o := range offers {
		if r.Amount == "totalPrice" {
			var known bool
			if o, known = o.total(); !known {
				echo.WithoutTotal++
				continue
			}
		}
		offered.addItem(o, marketKey{facts[o.Site].CountryCode, o.Currency})
	}
	if r.comparedWith() == "reference" {
		if err := s.addReferences(ctx, in.vis, offered); err != nil {
			return nil, err
		}
	}
	zone := newZoneFormat(in.zone)
	all, under := []OwnPosition{}, undercutters{}
	for _, m := range offered {
		own, others := m.own(r)
		switch {
		case own == nil:
			echo.WithoutOwn++
			continue
		case len(others) == 0:
			echo.WithoutOther++
			continue
		}
		under.add(own.Price, others)
		at := m.ownPosition(*own, others, zone)
		switch {
		case at.ratio.by > 0:
			echo.Above++
		case at.ratio.by == 0:
			echo.Equal++
		default:
			echo.Below++
		}
		all = append(all, at)
	}
	echo.Positions, echo.Undercutters, echo.UndercutBy = len(all), len(under), under.most()
	sortByRank(all)
	return all, nil
}

// rankKey ranks positions by how far the own price is above the cheapest other
// one, relative to it.
func (p OwnPosition) rankKey() rankKey {
	// A blank sorts before the letters of a country.
	return rankKey{p.ratio, p.ItemID, orEmpty(p.Country) + " " + string(p.CurrencyCode)}
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// own returns the caller's price, and the offers that it is compared with.
func (m *market) own(r PositionsRequest) (own *offer, others []offer) {
	if r.comparedWith() == "reference" {
		if m.customer != nil {
			own = &offer{Offer: alert.Offer{Price: *m.customer}}
		}
		return own, m.offers
	}
	for _, o := range m.offers {
		switch {
		case !r.owns(o):
			others = append(others, o)
		case own == nil || o.Price < own.Price || o.Price == own.Price && o.Site < own.Site:
			own = &o
		}
	}
	return own, others
}

// ownPosition computes everything from amounts in minor units.
func (m *market) ownPosition(own offer, others []offer, zone *zoneFormat) OwnPosition {
	slices.SortFunc(others, compareOffers)
	best := others[0]
	oldest, newest := best.capturedMs, best.capturedMs
	for _, o := range others {
		oldest, newest = min(oldest, o.capturedMs), max(newest, o.capturedMs)
	}
	return OwnPosition{
		ItemID: best.Item, Country: orNull(m.country), CurrencyCode: m.currency, OwnPrice: decimal(own.Price, m.currency), OwnSite: orNull(own.Site),
		Rank: rank(own.Price, others), Offers: len(others), Cheapest: best.best(),
		Difference: decimal(own.Price-best.Price, m.currency), DifferencePercent: percent(own.Price-best.Price, best.Price),
		OldestCapturedAt: string(zone.append(nil, oldest)), NewestCapturedAt: string(zone.append(nil, newest)),
		ratio: ratio{own.Price - best.Price, best.Price},
	}
}
