package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"preismon/contracts"
)

// PositionRequest requests where a candidate price would stand among the
// current offers of a product. Exactly one kind of identifier is given: itemId,
// ean, pzn, or asin with asinLocale. If it names several items that the caller
// sees, as an EAN may, their offers count together.
type PositionRequest struct {
	ItemID     contracts.ItemID `json:"itemId,omitempty"`
	PZN        string           `json:"pzn,omitempty"`
	EAN        string           `json:"ean,omitempty"`
	ASINLocale string           `json:"asinLocale,omitempty"`
	ASIN       string           `json:"asin,omitempty"`

	// CandidatePrice is a decimal text like 12.99, more than 0. It has no
	// currency: each position treats it as an amount in its own.
	CandidatePrice string             `json:"candidatePrice"`
	CurrencyCode   contracts.Currency `json:"currencyCode,omitempty"` // only positions in this currency
	Country        string             `json:"country,omitempty"`      // only this country; ISO 3166-1 alpha-2

	IncludeCustomerReference bool `json:"includeCustomerReference,omitempty"`
}

// MarketPosition is one standing for each country and currency in which the
// product is offered now, by country and currency (TOOL-04a).
type MarketPosition struct {
	Positions []Standing   `json:"positions"`
	Note      string       `json:"note"` // how to read it
	Query     PositionEcho `json:"query"`
}

// PositionEcho is the request and the window of the captures that count.
type PositionEcho struct {
	PositionRequest
	CapturedFrom string `json:"capturedFrom"`
	CapturedTo   string `json:"capturedTo"`
}

// CurrentOffers is how old the newest capture of a pair may be for its offers
// to be current.
const CurrentOffers = 168 * time.Hour

const (
	noteStandings = "Each position is one country and one currency. The candidate price is taken as an amount of the position's own currency; nothing is converted."
	// VIS-03.
	noteNothing = "No current offer is visible to this account: at the sites where it sees the product, no offer with a price was captured in the last 168 hours that matches the filters. That does not tell that the product does not exist, or that nobody sells it."
)

// MarketPosition places a candidate price among the current offers of a
// product: the offers with a price of the newest capture of each visible pair,
// if that capture found the product available and is at most 168 hours old. It
// is accepted or refused like a latestObservationPerPair read of the product in
// that window, with the same codes.
func (s *Service) MarketPosition(ctx context.Context, p Principal, r PositionRequest) (answer *MarketPosition, err error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	room, giveBack, err := s.charge(ctx, latestBytes)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	ctx, end := s.bounded(ctx, fixedBounds, &err)
	defer end()
	now := s.now().UTC().Truncate(contracts.Resolution)
	rows := ResultsRequest{
		ItemID: r.ItemID, PZN: r.PZN, EAN: r.EAN, ASINLocale: r.ASINLocale, ASIN: r.ASIN,
		LatestObservationPerPair: true,
		CapturedFrom:             now.Add(-CurrentOffers).Format(time.RFC3339Nano), CapturedTo: now.Format(time.RFC3339Nano),
	}
	plan, err := s.plan(p, rows)
	if err != nil {
		return nil, err
	}
	plan.bounds, plan.query.FromNow, plan.query.ToNow = fixedBounds, true, true
	in, err := s.accept(ctx, p, plan)
	if err != nil {
		return nil, err
	}
	answer = &MarketPosition{
		Positions: []Standing{}, Note: noteNothing,
		Query: PositionEcho{PositionRequest: r, CapturedFrom: *in.echo.CapturedFrom, CapturedTo: *in.echo.CapturedTo},
	}
	if in.empty {
		return answer, nil
	}
	markets, err := s.markets(ctx, in, r, &offerRoom{room: room, bytes: latestBytes})
	if err != nil {
		return nil, err
	}
	for _, m := range markets {
		answer.Positions = append(answer.Positions, m.standing(m.amount(r.CandidatePrice), newZoneFormat(in.zone)))
		answer.Note = noteStandings
	}
	return answer, nil
}

// Check returns, all at once, the faults that can be found without data.
func (r PositionRequest) Check() error {
	kinds := 0
	for _, given := range []bool{r.ItemID != 0, r.EAN != "", r.PZN != "", r.ASIN != "" || r.ASINLocale != ""} {
		if given {
			kinds++
		}
	}
	var wrong faults
	wrong.check(kinds == 1, "Name the product by exactly one of itemId, ean, pzn, or asin with asinLocale.")
	wrong.check((r.ASIN == "") == (r.ASINLocale == ""), "asin and asinLocale must be given together.")
	wrong.check(r.CurrencyCode == "" || r.CurrencyCode.Valid(), "currencyCode: %q is not an ISO 4217 code like EUR.", r.CurrencyCode)
	wrong.check(r.Country == "" || contracts.ValidCountry(r.Country), "country: %q is not two capital letters like DE.", r.Country)
	wrong.check(r.CandidatePrice != "", "candidatePrice: missing. It is a decimal text like 12.99.")
	if r.CandidatePrice != "" {
		wrong.add(checkCandidate(r.CandidatePrice, r.CurrencyCode))
	}
	return wrong.err
}

// checkCandidate refuses a candidate price that is not an amount in its
// currency, or, without a valid currency, in none at all.
func checkCandidate(price string, currency contracts.Currency) error {
	if !currency.Valid() {
		currency = ""
	}
	_, err := candidate(price, cmp.Or(currency, "EUR"))
	if err == nil {
		return nil
	}
	if currency == "" {
		for any := range contracts.Currencies() {
			if _, err := candidate(price, any); err == nil {
				return nil
			}
		}
	}
	return invalid("candidatePrice: %s.", err)
}

// markets returns the current offers, by country and currency.
func (s *Service) markets(ctx context.Context, in *read, r PositionRequest, held *offerRoom) ([]*market, error) {
	wanted := func(o offer, facts siteFacts) bool {
		return (r.CurrencyCode == "" || o.Currency == r.CurrencyCode) && (r.Country == "" || facts[o.Site].CountryCode == r.Country)
	}
	offers, facts, err := s.offers(ctx, in, held, wanted, nil)
	if err != nil {
		return nil, err
	}
	offered := markets{}
	for _, o := range offers {
		offered.add(o, marketKey{facts[o.Site].CountryCode, o.Currency})
	}
	if r.IncludeCustomerReference {
		err = s.addReferences(ctx, in.vis, offered)
	}
	return slices.SortedFunc(maps.Values(offered), func(a, b *market) int {
		return cmp.Or(cmp.Compare(a.country, b.country), cmp.Compare(a.currency, b.currency))
	}), err
}

// addReferences reads the customer's own prices of the items that are offered.
func (s *Service) addReferences(ctx context.Context, v Visibility, offered markets) error {
	if len(offered) == 0 {
		return nil
	}
	var items []contracts.ItemID
	for _, m := range offered {
		for _, o := range m.offers {
			items = append(items, o.Item)
		}
	}
	of, err := s.referencesOf(ctx, v, items)
	if err != nil {
		return err
	}
	for _, m := range offered {
		m.customer = m.customerReference(of)
	}
	return nil
}

// ownPrices are the reference prices of the customer by item.
type ownPrices map[contracts.ItemID][]contracts.ReferencePrice

func (s *Service) referencesOf(ctx context.Context, v Visibility, items []contracts.ItemID) (ownPrices, error) {
	slices.Sort(items)
	records, err := s.store.ReferencePrices(ctx, v, slices.Compact(items))
	if err != nil {
		return nil, err
	}
	of := ownPrices{}
	for _, r := range records {
		of[r.ItemID] = r.Prices
	}
	return of, nil
}

// at returns the one price that applies to a pair in a currency; not ok: there
// is none, or there are several.
func (all ownPrices) at(p contracts.Pair, c contracts.Currency) (price int64, ok bool) {
	found := referencesAt(all[p.Item], p.Site, c)
	if len(found) != 1 {
		return 0, false
	}
	return found[0].AmountMinor, true
}
